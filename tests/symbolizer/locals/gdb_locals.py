# SPDX-License-Identifier: Apache-2.0
#
# Runs inside gdb: stops a program at random calls, dumps a core there, and notes what gdb
# says the variables of every frame are, those of inlined calls included. Each stop is a
# line of JSON. LOCALS_PLAN names the plan, a JSON file that check_locals.py writes.

import json
import os
import random

import gdb

with open(os.environ["LOCALS_PLAN"], encoding="utf-8") as plan_file:
    PLAN = json.load(plan_file)
CHANCE = random.Random(PLAN["seed"])
FUNCTIONS = [int(address) for address in PLAN["functions"]]
ELEMENTS_MAX = 64
STRING_MAX = 256
DEPTH_MAX = 6
POINTERS = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)

hits = 0
next_stop = 0


class Entry(gdb.Breakpoint):
    def __init__(self, address):
        super().__init__(f"*{address}", internal=True)
        self.silent = True

    def stop(self):
        global hits
        hits += 1
        return hits >= next_stop


def memory(address, size):
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except gdb.error:
        return None


def text_at(address, size=None):
    """The characters at address up to a NUL, or size of them, where a NUL is written as
    reports do; None: not readable."""
    found = b""
    at = address
    while len(found) < STRING_MAX and (size is None or at < address + size):
        byte = memory(at, 1)
        if byte is None:
            return None
        if byte == b"\0" and size is None:
            break
        found += b"\\x00" if byte == b"\0" else byte
        at += 1
    return found.decode("latin-1")


def is_char(type_):
    bare = type_.strip_typedefs().unqualified()
    return bare.name == "char"


def text_of_object(value, bare):
    """What a std::string or std::string_view holds; None: it is neither."""
    name = bare.name or ""
    if "basic_string<char" in name and "_view" not in name:
        pointer, size = value["_M_dataplus"]["_M_p"], value["_M_string_length"]
    elif "basic_string_view<char" in name:
        pointer, size = value["_M_str"], value["_M_len"]
    else:
        return None
    return {"text": text_at(int(pointer), int(size))}


def members(value, bare, depth):
    found = {}
    for field in bare.fields():
        if not hasattr(field, "bitpos") or field.is_base_class and field.bitpos is None:
            continue  # static, or a virtual base
        inner = value[field]
        if field.is_base_class or not field.name:
            shown = canonical(inner, depth)
            if isinstance(shown, dict) and "members" in shown:
                found.update(shown["members"])
            continue
        found[field.name] = canonical(inner, depth + 1)
    return {"members": found}


def canonical(value, depth=0):
    """A value as JSON that says its kind; None: gdb does not know, or it is not compared."""
    bare = value.type.strip_typedefs().unqualified()
    code = bare.code
    try:
        if value.is_optimized_out or depth > DEPTH_MAX:
            return None
        # A pointer to an object that has no place: gdb 13 fails where such are followed,
        # and its internal errors arrive as interrupts.
        if code in POINTERS and "synthetic pointer" in value.format_string(symbols=False):
            return None
        if code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            return {"reference": canonical(value.referenced_value(), depth),
                    "address": int(value.address or 0)}
        if code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL):
            return {"int": int(value), "size": bare.sizeof}
        if code == gdb.TYPE_CODE_ENUM:
            names = {f.name.split("::")[-1]: int(f.enumval) for f in bare.fields()}
            return {"int": int(value), "size": bare.sizeof, "names": names}
        if code == gdb.TYPE_CODE_PTR:
            found = {"int": int(value), "size": 8}
            if is_char(bare.target()) and int(value):
                found["text"] = text_at(int(value))
            return found
        if code == gdb.TYPE_CODE_FLT:
            return {"float": repr(float(value))}
        if code == gdb.TYPE_CODE_ARRAY:
            low, high = bare.range()
            if is_char(bare.target()):
                raw = value.bytes if hasattr(value, "bytes") else None
                raw = raw or b"".join(bytes([int(value[i]) & 255])
                                      for i in range(low, min(high + 1, STRING_MAX)))
                return {"text": raw.split(b"\0")[0][:STRING_MAX].decode("latin-1")}
            return {"elements": [canonical(value[i], depth + 1)
                                 for i in range(low, min(high + 1, ELEMENTS_MAX))]}
        if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            return text_of_object(value, bare) or members(value, bare, depth)
    except (gdb.error, OverflowError, ValueError, RuntimeError, KeyboardInterrupt):
        return None
    return None


def variables_of(frame):
    """The frame's arguments and local variables, those of the innermost block first."""
    found = []
    block = frame.block()
    while block is not None:
        for symbol in block:
            if not (symbol.is_variable or symbol.is_argument) or symbol.name is None:
                continue
            try:
                value = frame.read_var(symbol, block)
                fetched = not value.is_optimized_out
                shown = canonical(value) if fetched else None
            except (gdb.error, RuntimeError, KeyboardInterrupt):
                fetched, shown = False, None
            found.append({"name": symbol.name, "argument": symbol.is_argument,
                          "known": fetched, "value": shown})
        if block.function is not None:
            break
        block = block.superblock
    return found


def frames_now():
    found, frame = [], gdb.newest_frame()
    while frame is not None:
        if frame.type() in (gdb.NORMAL_FRAME, gdb.INLINE_FRAME):
            one = {"pc": frame.pc() & 0xFFFFFFFFFFFFFFFF, "function": frame.name(),
                   "inline": frame.type() == gdb.INLINE_FRAME, "variables": None}
            function = frame.function()
            if function is not None and \
               function.symtab.objfile.filename == PLAN["program"]:
                try:
                    one["variables"] = variables_of(frame)
                except (gdb.error, RuntimeError, KeyboardInterrupt):
                    pass
            found.append(one)
        try:
            frame = frame.older()
        except gdb.error:
            break
    return found


def is_alive():
    return gdb.selected_inferior().pid != 0


def step_on():
    """A random number of instructions further."""
    for _ in range(CHANCE.randrange(1, PLAN["steps"])):
        gdb.execute("stepi", to_string=True)
        if not is_alive():
            return


def main():
    global next_stop
    for command in ("set pagination off", "set confirm off", "set width 0",
                    "set debuginfod enabled off", "handle all nostop noprint pass",
                    "handle SIGTRAP stop", "maint set internal-error quit no",
                    "maint set internal-error corefile no"):
        gdb.execute(command, to_string=True)
    gdb.execute("starti", to_string=True)
    bias = 0
    chosen = CHANCE.sample(FUNCTIONS, min(len(FUNCTIONS), PLAN["breakpoints"]))
    entries = [Entry(address + bias) for address in chosen]
    with open(PLAN["out"], "w", encoding="utf-8") as out:
        for number in range(PLAN["stops"]):
            next_stop = hits + CHANCE.randrange(1, PLAN["apart"])
            gdb.execute("continue", to_string=True)
            if is_alive():
                step_on()
            if not is_alive():
                break
            core = os.path.join(PLAN["folder"], f"core.{number}")
            gdb.execute(f"generate-core-file {core}", to_string=True)
            out.write(json.dumps({"core": core, "frames": frames_now()}) + "\n")
    del entries
    if is_alive():
        gdb.execute("kill", to_string=True)


main()
