# SPDX-License-Identifier: Apache-2.0
#
# Run by gdb (-x) on a program that the stepper has been through: makes the same steps
# and prints a line `STOP PC| ADDRESS...` for each chosen stop. EVERY, SEED and LIMIT
# come as gdb convenience variables $every, $seed and $limit.

import gdb

TRAP = b"\xcc"
NOT_PHYSICAL = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)


def frames():
    pcs = []
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() not in NOT_PHYSICAL:
            pcs.append(frame.pc())
        try:
            frame = frame.older()
        except gdb.error:
            break
    return pcs


class Program:
    def __init__(self):
        self.signal = None
        gdb.events.stop.connect(self.on_stop)

    def on_stop(self, event):
        self.signal = (event.stop_signal if isinstance(event, gdb.SignalEvent) else None)

    def run(self):
        gdb.execute("run", to_string=True)

    # The second mark ends it. A signal stops the program before the instruction, as the
    # stepper has it.
    def step(self):
        pc = int(gdb.parse_and_eval("$pc"))
        if bytes(gdb.selected_inferior().read_memory(pc, 1)) == TRAP:
            return False
        gdb.execute("stepi", to_string=True)
        while self.signal not in (None, "SIGTRAP"):
            gdb.execute("stepi", to_string=True)
        return True


def number(name):
    return int(gdb.parse_and_eval("$" + name))


for command in ("set confirm off", "set pagination off", "set startup-with-shell on",
                "set disable-randomization on", "set exec-wrapper env -i LC_ALL=C",
                "set backtrace past-main on", "set backtrace past-entry on",
                "set backtrace limit unlimited", "handle all stop print pass",
                "handle SIGTRAP stop print nopass"):
    gdb.execute(command, to_string=True)

program = Program()
program.run()
every, seed, limit = number("every"), number("seed"), number("limit")
pc = gdb.newest_frame().pc()
name = gdb.current_progspace().filename
with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="utf-8") as file:
    mapped = [line.split()[0].split("-") for line in file if line.rstrip().endswith(name)]
start = min(int(low, 16) for low, _ in mapped)
end = max(int(high, 16) for _, high in mapped)

stop = printed = 0
while printed < limit:
    pc = int(gdb.parse_and_eval("$pc"))
    if start <= pc < end or (stop * 2654435761 + seed) % 4294967296 % every == 0:
        print(f"{stop} {pc:x}| " + " ".join(f"{one:x}" for one in frames()))
        printed += 1
    if not program.step():
        break
    stop += 1
gdb.execute("kill", to_string=True)
