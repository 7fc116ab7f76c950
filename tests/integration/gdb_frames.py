# SPDX-License-Identifier: Apache-2.0
#
# Run by gdb (-x) on a core file: prints every thread's physical frames as JSON on one
# line, {"TID": [pc, ...], ...}, innermost first.

import json

import gdb

gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
gdb.execute("set backtrace limit unlimited")

# Frames that gdb adds from debug information: inlined calls, and calls that a jump has
# replaced. Neither has a place on the stack.
NOT_PHYSICAL = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)


def frames_of(thread):
    thread.switch()
    pcs = []
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() not in NOT_PHYSICAL:
            pcs.append(frame.pc())
        try:
            frame = frame.older()
        except gdb.MemoryError:
            break
    return pcs


threads = gdb.selected_inferior().threads()
print("FRAMES " + json.dumps({str(t.ptid[1]): frames_of(t) for t in threads}))
