# SPDX-License-Identifier: Apache-2.0
#
# Run by gdb on a core file: prints the value of every variable and argument that is a
# number or a pointer, of each frame of the crashed thread, inlined ones too, as JSON on one
# line: [{"function": ..., "values": {name: value}}, ...], and, of the expressions in
# CRASHHOOK_EXPRESSIONS ([frame's pc, expression] each), what gdb makes of them.

import json
import os

import gdb


def number(value):
    try:
        return None if value.is_optimized_out else int(value)
    except gdb.error:
        return None


def values_of(frame):
    found = {}
    try:
        block = frame.block()
    except RuntimeError:
        return found
    while block is not None and not block.is_static and not block.is_global:
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and symbol.name not in found:
                try:
                    found[symbol.name] = number(frame.read_var(symbol, block))
                except gdb.error:
                    found[symbol.name] = None
        if block.function is not None:
            break
        block = block.superblock
    return found


frames = []
frame = gdb.newest_frame()
while frame is not None and len(frames) < 64:
    frames.append({"function": frame.name(), "pc": frame.pc(), "values": values_of(frame)})
    try:
        frame = frame.older()
    except gdb.error:
        break
evaluated = []
for pc, expression in json.loads(os.environ["CRASHHOOK_EXPRESSIONS"]):
    answer = None
    frame = gdb.newest_frame()
    while frame is not None and answer is None:
        if frame.pc() == pc:
            frame.select()
            try:
                answer = number(gdb.parse_and_eval(expression))
            except gdb.error:
                answer = None
        try:
            frame = frame.older()
        except gdb.error:
            break
    evaluated.append(answer)
print("VALUES " + json.dumps({"frames": frames, "evaluated": evaluated}))
