# SPDX-License-Identifier: Apache-2.0
#
# What `crashhook debug` has gdb do: load the symbols of the report's images where they
# were mapped, and unwind as the report does. Without the memory of its stack the frames of
# a thread are those that the report lists; registers of callers are not known.
#
# FOLDER is written before this text. Names of the report's own stand in plan.json, and are
# never part of a command.

import json

import gdb
from gdb.unwinder import Unwinder

with open(FOLDER + "/plan.json", encoding="utf-8") as file:
    PLAN = json.load(file)
CHAINS = {thread["tid"]: thread["frames"] for thread in PLAN["threads"]}
# Where the frames of callers are said to be. Their stacks are not known: no memory may be
# taken for theirs, so that no variable is shown with the value of another place.
NOWHERE = 0x6000000000000000
APART = 16


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class ReportUnwinder(Unwinder):
    def __init__(self):
        super().__init__("crashhook")

    def __call__(self, pending):
        thread = gdb.selected_thread()
        frames = CHAINS.get(thread.ptid[1]) if thread is not None else None
        if not frames:
            return None
        pc = pending.read_register("pc")
        sp = pending.read_register("sp")
        place = int(sp) & 0xFFFFFFFFFFFFFFFF
        depth = (place - NOWHERE) // APART if place >= NOWHERE else 0
        if depth >= len(frames) or int(pc) & 0xFFFFFFFFFFFFFFFF != frames[depth]:
            return None
        info = pending.create_unwind_info(FrameId(sp, pc))
        if depth + 1 == len(frames):
            return info  # without a place to return to it is the last
        info.add_saved_register(PLAN["pc"], gdb.Value(frames[depth + 1]).cast(pc.type))
        info.add_saved_register(PLAN["sp"], gdb.Value(NOWHERE + APART * (depth + 1)).cast(sp.type))
        return info


def plain(text):
    return "".join(c if c.isprintable() else "?" for c in text)


class Shown(gdb.Command):
    """A command that shows a text of the plan."""

    def __init__(self, name, key, summary):
        self.__doc__ = summary
        self.key = key
        super().__init__(name, gdb.COMMAND_DATA)

    def invoke(self, _argument, _from_tty):
        for line in PLAN[self.key].splitlines():
            gdb.write(plain(line) + "\n")


def main():
    for command in ("set pagination off", "set confirm off", "set print entry-values no",
                    f"set debug-file-directory {FOLDER}/debug:/usr/lib/debug",
                    f"directory {FOLDER}/sources"):
        gdb.execute(command, to_string=True)
    gdb.unwinder.register_unwinder(None, ReportUnwinder())
    gdb.execute(f"core-file {FOLDER}/core", to_string=True)
    for image in PLAN["images"]:
        try:
            gdb.execute(f"add-symbol-file {FOLDER}/images/{image['number']} -o "
                        f"{image['bias']}", to_string=True)
        except gdb.error as error:
            gdb.write(f"no symbols of {plain(image['path'])}: {error}\n")
    gdb.write(plain(PLAN["summary"]) + "\n")
    Shown("crashhook-report", "report", "Show the report as `crashhook show` does.")
    gdb.write("crashhook-report shows the report, with the values that it has\n")
    if PLAN["around"]:
        Shown("crashhook-around", "around", "Show what the registers of the crash point "
              "to, and the memory there if the report has it.")
        gdb.write("crashhook-around shows what the registers point to\n")
    for line in PLAN["notes"]:
        gdb.write(plain(line) + "\n")
    gdb.execute("set pagination on")
    gdb.execute("frame 0")


main()
