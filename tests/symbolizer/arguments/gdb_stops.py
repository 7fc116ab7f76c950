# SPDX-License-Identifier: Apache-2.0
#
# Runs inside gdb: notes what every function of a program is called with, stops at random
# and dumps a core there. Each stop is a line of JSON: the core, the calls that are open,
# innermost first, with the words they were passed, and what gdb says the arguments of
# its frames and of the calls inlined in them are now. ARGUMENTS_PLAN names the plan, a
# JSON file that check_arguments.py writes.

import json
import os
import random

import gdb

with open(os.environ["ARGUMENTS_PLAN"], encoding="utf-8") as plan_file:
    PLAN = json.load(plan_file)
CHANCE = random.Random(PLAN["seed"])
REGISTERS = ["rdi", "rsi", "rdx", "rcx", "r8", "r9"]
FUNCTIONS = {int(address): name for address, name in PLAN["functions"].items()}
STACK_WORDS = 10

open_calls = []
hits = 0
next_stop = 0


def word(value):
    return int(value) & 0xFFFFFFFFFFFFFFFF


def note_call(address):
    """A function begins here: what is passed lies in its natural places."""
    frame = gdb.newest_frame()
    sp = word(frame.read_register("rsp"))
    while open_calls and open_calls[-1]["sp"] <= sp:
        open_calls.pop()  # it has returned, or was left by a tail call
    memory = bytes(gdb.selected_inferior().read_memory(sp + 8, 8 * STACK_WORDS))
    open_calls.append({
        "name": FUNCTIONS[address], "address": address, "sp": sp,
        "registers": [word(frame.read_register(r)) for r in REGISTERS],
        "stack": [int.from_bytes(memory[i : i + 8], "little")
                  for i in range(0, len(memory), 8)]})


class Entry(gdb.Breakpoint):
    def __init__(self, address):
        super().__init__(f"*{address}", internal=True)
        self.silent = True
        self.at = address

    def stop(self):
        global hits
        hits += 1
        note_call(self.at)
        return hits >= next_stop


def scalar_type(type_):
    """How gdb's type is compared: its size, sign, and names of values."""
    bare = type_.strip_typedefs()
    kinds = {gdb.TYPE_CODE_INT: "int", gdb.TYPE_CODE_CHAR: "int",
             gdb.TYPE_CODE_BOOL: "int", gdb.TYPE_CODE_PTR: "int",
             gdb.TYPE_CODE_ENUM: "int", gdb.TYPE_CODE_FLT: "float"}
    kind = kinds.get(bare.code, "other")
    values = {}
    if bare.code == gdb.TYPE_CODE_ENUM:
        values = {f.name: int(f.enumval) for f in bare.fields()}
    signed = bare.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_ENUM)
    if signed and bare.code != gdb.TYPE_CODE_ENUM:
        signed = bool(int(gdb.Value(-1).cast(bare)) < 0)
    return {"kind": kind, "size": bare.sizeof, "signed": signed, "values": values}


def signature(address):
    block = gdb.block_for_pc(address)
    while block is not None and block.function is None:
        block = block.superblock
    if block is None:
        return None
    result = block.function.type.target().strip_typedefs()
    aggregate = result.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
    return {"name": block.function.name, "aggregate_result": aggregate,
            "arguments": [dict(scalar_type(s.type), name=s.name)
                          for s in block if s.is_argument]}


def parameters_of(frame):
    block = frame.block()
    while block.function is None:
        block = block.superblock
    return [symbol for symbol in block if symbol.is_argument]


def value_now(frame, symbol):
    """What gdb says an argument is; None: it does not say."""
    value = frame.read_var(symbol)
    if value.is_optimized_out:
        return None
    return word(value.cast(gdb.lookup_type("unsigned long")))


def now_of(frame):
    """What gdb says a frame's arguments are."""
    found = {}
    try:
        for symbol in parameters_of(frame):
            value = value_now(frame, symbol)
            if value is not None:
                found[symbol.name] = value
    except (gdb.error, RuntimeError, AttributeError):
        pass
    return found


def inlined_of(frame):
    """The same of a call that was inlined, and how its arguments are compared."""
    found = []
    try:
        for symbol in parameters_of(frame):
            found.append(dict(scalar_type(symbol.type), name=symbol.name, now=None))
            found[-1]["now"] = value_now(frame, symbol)
    except (gdb.error, RuntimeError, AttributeError):
        pass
    return {"function": frame.name(), "arguments": found}


def frames_now():
    found, inlined, frame = [], [], gdb.newest_frame()
    while frame is not None:
        if frame.type() == gdb.INLINE_FRAME:
            inlined.append(inlined_of(frame))
        if frame.type() == gdb.NORMAL_FRAME:
            found.append({"pc": word(frame.pc()), "arguments": now_of(frame),
                          "inlined": inlined})
            inlined = []
        try:
            frame = frame.older()
        except gdb.error:
            break
    return found


def is_alive():
    return gdb.selected_inferior().pid != 0


def step_on():
    """A random number of instructions further."""
    for _ in range(CHANCE.randrange(1, 71)):
        gdb.execute("stepi", to_string=True)
        if not is_alive():
            return
        pc = word(gdb.newest_frame().pc())
        if pc in FUNCTIONS and not (open_calls and open_calls[-1]["address"] == pc and
                                    open_calls[-1]["sp"] ==
                                    word(gdb.newest_frame().read_register("rsp"))):
            note_call(pc)


def drop_returned():
    """Calls whose return address the stack pointer has passed are over."""
    sp = word(gdb.newest_frame().read_register("rsp"))
    while open_calls and open_calls[-1]["sp"] < sp:
        open_calls.pop()


def main():
    global next_stop
    for command in ("set pagination off", "set confirm off", "set width 0",
                    "set debuginfod enabled off", "handle all nostop noprint pass",
                    "handle SIGTRAP stop"):
        gdb.execute(command, to_string=True)
    gdb.execute("starti", to_string=True)
    entries = [Entry(address) for address in FUNCTIONS]
    signatures, stops = {}, []
    with open(PLAN["out"], "w", encoding="utf-8") as out:
        for number in range(PLAN["stops"]):
            next_stop = hits + CHANCE.randrange(1, PLAN["apart"])
            gdb.execute("continue", to_string=True)
            if is_alive():
                step_on()
            if not is_alive():
                break
            drop_returned()
            core = os.path.join(PLAN["folder"], f"core.{number}")
            gdb.execute(f"generate-core-file {core}", to_string=True)
            for call in open_calls:
                if call["address"] not in signatures:
                    signatures[call["address"]] = signature(call["address"])
            calls = [dict(c, signature=signatures[c["address"]]) for c in open_calls[::-1]]
            stops.append(core)
            out.write(json.dumps({"core": core, "calls": calls, "frames": frames_now()}))
            out.write("\n")
    del entries
    if is_alive():
        gdb.execute("kill", to_string=True)


main()
