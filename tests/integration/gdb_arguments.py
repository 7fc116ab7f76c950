# SPDX-License-Identifier: Apache-2.0
#
# Run by gdb over a core: prints, as JSON, for each thread by its number the arguments of
# each frame, inlined ones too, that are numbers or pointers: null where gdb has no value.

import json

import gdb


def value_of(frame, symbol):
    value = frame.read_var(symbol)
    try:
        return None if value.is_optimized_out else int(value)
    except gdb.error:
        return None


def arguments_of(frame):
    try:
        block = frame.block()
    except RuntimeError:
        return {}
    while block.function is None and block.superblock is not None:
        block = block.superblock
    return {symbol.name: value_of(frame, symbol) for symbol in block if symbol.is_argument}


def frames():
    frame = gdb.newest_frame()
    while frame is not None:
        yield {"function": frame.name(), "arguments": arguments_of(frame)}
        frame = frame.older()


said = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    said[thread.ptid[1]] = list(frames())
print("ARGUMENTS " + json.dumps(said))
