# SPDX-License-Identifier: Apache-2.0
#
# Runs inside gdb, on a program that crashes: prints what gdb and the printers of libstdc++
# show of the local variables of the frame that is called fill, a line of JSON for each:
# its name and the numbers and texts in it, of each container the first eight elements.

import json

import gdb

ELEMENTS = 8
DEPTH_MAX = 8
POINTERS = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
NUMBERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_CHAR)


def text_of(shown):
    """What a printer says that an object of text holds."""
    if not hasattr(shown, "value"):
        return str(shown)
    if shown.length == 0:
        return ""
    value = shown.value()
    address = value.address if value.type.code == gdb.TYPE_CODE_ARRAY else value
    bytes_ = gdb.selected_inferior().read_memory(int(address), shown.length)
    return bytes(bytes_).decode("latin-1")


def of_printer(printer, depth):
    hint = getattr(printer, "display_hint", lambda: None)()
    if hint == "string":
        return [text_of(printer.to_string())]
    if not hasattr(printer, "children"):
        return []
    found = []
    children = 0
    for name, child in printer.children():
        children += name.startswith("[")
        if children > (2 * ELEMENTS if hint == "map" else ELEMENTS):
            break
        found += leaves(child, depth + 1)
    return found


def leaves(value, depth=0):
    """The numbers and texts in a value, in their order."""
    if depth == DEPTH_MAX or not isinstance(value, gdb.Value):
        return [value] if isinstance(value, (int, float)) else []
    printer = gdb.default_visualizer(value)
    if printer is not None:
        return of_printer(printer, depth)
    kind = value.type.strip_typedefs()
    if kind.code in POINTERS:
        return leaves(value.referenced_value(), depth + 1) if int(value) != 0 else []
    if kind.code == gdb.TYPE_CODE_BOOL:
        return [bool(value)]
    if kind.code in NUMBERS:
        return [int(value)]
    if kind.code == gdb.TYPE_CODE_FLT:
        return [float(value)]
    if kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        return [leaf for i in range(low, high + 1) for leaf in leaves(value[i], depth + 1)]
    if kind.code == gdb.TYPE_CODE_STRUCT:
        return [leaf for field in kind.fields() if hasattr(field, "bitpos")
                for leaf in leaves(value[field], depth + 1)]
    return []


gdb.execute("set print elements 8")
gdb.execute("run", to_string=True)
frame = gdb.newest_frame()
while frame is not None and not (frame.name() or "").startswith("fill"):
    frame = frame.older()
block = frame.block()
while block is not None:
    for symbol in block:
        if symbol.is_variable and not symbol.is_argument:
            print("gdb\t" + symbol.name + "\t" + json.dumps(leaves(symbol.value(frame))))
    block = None if block.function is not None else block.superblock
