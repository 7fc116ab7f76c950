# SPDX-License-Identifier: Apache-2.0
#
# record_stops PROGRAM: runs one of the programs here, under qemu-user where it is not
# for this machine, and records a case of ../unwind at each stop it makes: PROGRAM-N for
# the first time it makes stop N. gdb-multiarch reads the registers and the stack, and
# its backtrace is the case's truth.

import json
import os
import struct
import subprocess
import sys
import tempfile
import time

RED_ZONE = 256
FRAMES_MAX = 64
# gdb's names of our registers: by DWARF number, the program counter last.
REGISTERS = {
    "amd64": ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
              *(f"r{i}" for i in range(8, 16)), "rip"],
    "aarch64": [*(f"x{i}" for i in range(31)), "sp", "pc"],
    "s390x": [*(f"r{i}" for i in range(16)), *(f"f{i}" for i in range(16)), "pc"],
}
# Those that calls keep, and the stack pointer.
KEPT = {"amd64": [3, 6, 7, 12, 13, 14, 15], "aarch64": [*range(19, 30), 31],
        "s390x": [*range(6, 14), 15]}
# DWARF's order of s390x floating point registers (its ABI, table 1.18).
S390X_FLOATS = [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15]
MACHINES = {62: ("amd64", "x86_64"), 183: ("aarch64", "aarch64"), 22: ("s390x", "s390x")}
PT_LOAD, PT_GNU_EH_FRAME, PT_GNU_SFRAME, PF_X = 1, 0x6474E550, 0x6474E554, 1


class Program:
    """What the unwinder must know of a static program."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.order = "little" if data[5] == 1 else "big"
        self.arch, self.qemu = MACHINES[self.number(data, 18, 2)]
        self.entry = self.number(data, 24, 8)
        at, size, count = (self.number(data, 32, 8), self.number(data, 54, 2),
                           self.number(data, 56, 2))
        self.segments = [{"type": self.number(data, i, 4), "flags": self.number(data, i + 4, 4),
                          "offset": self.number(data, i + 8, 8),
                          "address": self.number(data, i + 16, 8),
                          "file_size": self.number(data, i + 32, 8),
                          "size": self.number(data, i + 40, 8)}
                         for i in range(at, at + size * count, size)]

    def number(self, data, at, size):
        return int.from_bytes(data[at : at + size], self.order)

    def of_type(self, kind):
        found = [s for s in self.segments if s["type"] == kind]
        return found[0] if found else {"address": 0, "file_size": 0}

    def image(self):
        loads = [s for s in self.segments if s["type"] == PT_LOAD]
        sframe, header = self.of_type(PT_GNU_SFRAME), self.of_type(PT_GNU_EH_FRAME)
        return {"start": hex(loads[0]["address"]),
                "end": hex(max(s["address"] + s["size"] for s in loads)), "bias": "0x0",
                "entry": hex(self.entry), "sframe": hex(sframe["address"]),
                "sframe_size": hex(sframe["file_size"]),
                "eh_frame_hdr": hex(header["address"]),
                "eh_frame_hdr_size": hex(header["file_size"])}

    def code(self):
        return [[hex(s["address"]), hex(s["address"] + s["file_size"])]
                for s in self.segments if s["type"] == PT_LOAD and s["flags"] & PF_X]

    def memory(self, file):
        return [{"address": hex(s["address"]), "file": file, "offset": s["offset"],
                 "size": s["file_size"]}
                for s in self.segments if s["type"] == PT_LOAD and s["file_size"]]


def truth_of(gdb, arch):
    """The physical frames' addresses, to the outermost, and of the registers that calls
    keep those that differ from the frame before; None where gdb loses its way."""
    addresses, registers, last = [], [], {}
    frame = gdb.newest_frame()
    while frame is not None and len(addresses) < FRAMES_MAX:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            addresses.append(hex(frame.pc()))
            now = {str(n): hex(int(frame.read_register(REGISTERS[arch][n])) & (1 << 64) - 1)
                   for n in KEPT[arch]}
            registers.append({n: v for n, v in now.items() if last.get(n) != v})
            last = now
        if frame.unwind_stop_reason() == gdb.FRAME_UNWIND_MEMORY_ERROR:
            return None
        frame = frame.older()
    return addresses, registers


def registers_of(gdb, arch):
    names = REGISTERS[arch]
    if arch == "s390x":
        names = names[:16] + [f"f{i}" for i in S390X_FLOATS] + ["pc"]
    values = []
    for name in names:
        value = gdb.newest_frame().read_register(name)
        if name[0] == "f":
            value = int.from_bytes(struct.pack(">d", float(value)), "big")
        values.append(int(value) & (1 << 64) - 1)
    return [hex(value) for value in values]


def stop_of(gdb, program, end):
    """Where gdb's program stands: registers, where its stack begins, its bytes up to
    end, truth."""
    registers = registers_of(gdb, program.arch)
    low = int(registers[{"amd64": 7, "aarch64": 31, "s390x": 15}[program.arch]], 16)
    low -= RED_ZONE
    stack = bytes(gdb.selected_inferior().read_memory(low, end - low))
    return registers, low, stack, truth_of(gdb, program.arch)


def write_case(program, path, folder, stop):
    """A case of registers, stack and truth."""
    registers, low, stack, truth = stop
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "stack.bin"), "wb") as file:
        file.write(stack)
    case = {"arch": program.arch, "big_endian": program.order == "big",
            "registers": registers,
            "memory": program.memory(f"../../unwind-programs/{os.path.basename(path)}") +
                      [{"address": hex(low), "file": "stack.bin"}],
            "code": program.code(), "images": [program.image()]}
    if truth is not None:
        case["truth"], case["truth_registers"] = truth
    with open(os.path.join(folder, "case.json"), "w", encoding="ascii") as file:
        json.dump(case, file, indent=1)
        file.write("\n")


def start_qemu(gdb, program, path, processor):
    socket = os.path.join(tempfile.mkdtemp(), "gdb")
    subprocess.Popen([f"qemu-{program.qemu}-static", "-cpu", processor, "-g", socket, path],
                     env={})
    while not os.path.exists(socket):
        time.sleep(0.05)
    gdb.execute(f"target remote {socket}")


def run(gdb, program, path, processor):
    """The first of each stop that the program makes, by its number."""
    if program.arch == "amd64":
        gdb.execute("starti")
    else:
        start_qemu(gdb, program, path, processor)
    # What the kernel put on the stack is of no interest.
    sp = {"amd64": "rsp", "aarch64": "sp", "s390x": "r15"}[program.arch]
    end = int(gdb.newest_frame().read_register(sp)) + 64
    first = {"amd64": "rdi", "aarch64": "x0", "s390x": "r2"}[program.arch]
    stops = {}
    while True:
        gdb.execute("continue")
        if not gdb.selected_inferior().threads():
            return stops
        number = int(gdb.newest_frame().read_register(first)) & 0xff
        if number not in stops:
            stops[number] = stop_of(gdb, program, end)


def inside_gdb(gdb):
    path, folder = os.environ["PROGRAM"], os.environ["FOLDER"]
    program = Program(path)
    for command in ("set pagination off", "set osabi GNU/Linux",
                    "set backtrace past-main on", "set backtrace past-entry on",
                    "set exec-wrapper env -i", "handle SIGUSR1 nostop noprint pass"):
        gdb.execute(command)
    gdb.Breakpoint("*&stop")
    # This gdb does not know the signal frames of a processor with SVE.
    stops = run(gdb, program, path, "max,sve=off" if program.arch == "aarch64" else "max")
    if program.arch == "aarch64":
        # This gdb does not know signed return addresses of qemu's; where nothing is
        # signed, the same program has the same stack.
        plain = run(gdb, program, path, "max,sve=off,pauth=off")
        stops = {number: stop[:3] + (plain[number][3],) for number, stop in stops.items()}
    for number, stop in stops.items():
        write_case(program, path, f"{folder}-{number}", stop)
    print(f"{folder}: {len(stops)} stops")


def main():
    path = os.path.realpath(sys.argv[1])
    here = os.path.realpath(__file__)
    folder = os.path.join(os.path.dirname(here), "../unwind", os.path.basename(path))
    subprocess.run(["gdb-multiarch", "-nx", "-q", "-batch", "-x", here, path], check=True,
                   env=dict(os.environ, PROGRAM=path, FOLDER=folder))


try:
    import gdb as GDB
except ImportError:
    main()
else:
    inside_gdb(GDB)
