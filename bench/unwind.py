#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# unwind.py BUILD [RUNS]: crashhook's unwinder against others on the same stopped
# processes, in turn. Prints the table of docs/performance.md, section Unwinding:
# medians, in milliseconds from the process running to its frames found, and in
# frames a second once it is stopped. Where strace is installed, also how many system
# calls a thread, or a frame of row d, costs beyond what a process of one thread costs.

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import figures

HERE = os.path.dirname(os.path.realpath(__file__))

# name, threads, depth, what it is
ROWS = [("b", 100, 30, "100 threads, 30 deep"), ("c", 1000, 30, "1,000 threads, 30 deep"),
        ("d", 0, 100000, "100,000 deep"),
        ("m", 100, -30, "100 threads, 30 deep, eight functions"),
        ("e", 0, -100000, "100,000 deep, eight functions")]


def commands(build, sframe):
    ours = os.path.join(build, "bench", "bench_unwind")
    peer = os.path.join(build, "bench", "peer_libunwind")
    named = [("crashhook, SFrame first", [ours, "PID", "auto"])] if sframe else \
            [("crashhook, DWARF", [ours, "PID", "dwarf"]),
             ("crashhook, through libunwind", [ours, "PID", "libunwind"]),
             ("libdwfl", [os.path.join(build, "bench", "peer_libdwfl"), "PID"]),
             ("libunwind-ptrace, global cache", [peer, "PID", "global"]),
             ("libunwind-ptrace, cache per thread", [peer, "PID", "thread"]),
             ("libunwind-ptrace, no cache", [peer, "PID", "none"])]
    tools = [] if sframe else [
        ("eu-stack", ["eu-stack", "-n", "0", "-p", "PID"]),
        ("gdb", ["gdb", "-nx", "-batch", "-p", "PID", "-ex", "thread apply all bt"]),
        ("lldb", ["lldb", "-b", "-p", "PID", "-o", "bt all"])]
    return named, [tool for tool in tools if figures.installed(tool[1][0], tool[0])]


def start(program, row):
    resource.setrlimit(resource.RLIMIT_STACK, (256 << 20, resource.RLIM_INFINITY))
    process = subprocess.Popen([program, str(row[1]), str(row[2])],
                               stdout=subprocess.PIPE)
    process.stdout.read(1)
    # Its main thread still has 100,000 calls to make after that.
    time.sleep(0.3)
    return process


def once(command, process, timeout):
    command = [str(process.pid) if word == "PID" else word for word in command]
    begin = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        return None
    return done.stdout, (time.monotonic() - begin) * 1000


def measure(named, tools, process, runs):
    """Rows of (name, frames, ms, frames a second); every run goes round all of them."""
    seen = {name: [] for name, _ in named + tools}
    for turn in range(runs):
        for name, command in named:
            out = once(command, process, 60)
            if out is not None and out[0]:
                _, frames, ms, us = out[0].split()
                seen[name].append((int(frames), float(ms), int(frames) / int(us) * 1e6))
        # These take seconds; three turns are enough.
        for name, command in tools if turn < 3 else []:
            out = once(command, process, 60)
            if out is not None:
                seen[name].append((0, out[1], 0))
    return seen


def system_calls(command, process):
    """How many system calls a command makes; None without strace."""
    if not figures.installed("strace", "system calls"):
        return None
    with tempfile.NamedTemporaryFile("r") as counts:
        if once(["strace", "-c", "-f", "-o", counts.name, *command], process, 60) is None:
            return None
        return int(counts.read().rstrip().split("\n")[-1].split()[3])


def call_rates(named, process, program, row):
    """The system calls of each command for each thread, or for each frame of one."""
    rates = {}
    plain = start(program, ("", 0, 30))
    for name, command in named:
        calls, base = system_calls(command, process), system_calls(command, plain)
        if calls is not None and base is not None:
            rates[name] = (calls - base) / (row[1] or abs(row[2]))
    plain.kill()
    plain.wait()
    return rates


# ms from running to frames found, frames a second by SFrame and by DWARF once it is
# stopped, and system calls a thread or a frame. Frames of deep stacks have 25 ns.
TARGETS = {"b": (4.5, 3e6, 1e6, 6), "c": (40, 3e6, 1e6, 6), "d": (None, 4e7, 4e7, 0.02),
           "e": (None, 4e7, 4e7, 0.02)}


def record_rows(row, seen, rates):
    ms = {name: statistics.median(v[1] for v in values) for name, values in seen.items()
          if values}
    rate = {name: statistics.median(v[2] for v in values) / 1e6
            for name, values in seen.items() if values and values[0][2]}
    whole, *speeds, calls = TARGETS[row[0]] if row[0] in TARGETS else (None,) * 4
    for name, speed in zip(("crashhook, SFrame first", "crashhook, DWARF"), speeds):
        others = {n: v for n, v in ms.items() if not n.startswith("crashhook")}
        figures.record("unwinding", f"{row[3]}, {name[11:]}", ms[name], "ms",
                       ("<=", whole) if whole else None, others)
        others = {n: v for n, v in rate.items() if not n.startswith("crashhook")}
        figures.record("unwinding", f"{row[3]}, {name[11:]}, stopped", rate[name],
                       "M frames/s", (">=", speed / 1e6) if speed else None, others)
        if name in rates:
            others = {n: v for n, v in rates.items() if not n.startswith("crashhook")}
            figures.record("unwinding", f"{row[3]}, {name[11:]}, system calls", rates[name],
                           "a thread" if row[1] else "a frame",
                           ("<=", calls) if calls else None, others)


def print_rows(row, seen, rates):
    record_rows(row, seen, rates)
    unit = "thread" if row[1] else "frame"
    print(f"\n{row[3]} ({row[0]})\n\n| unwinder | frames | ms | frames/s when stopped | "
          f"system calls a {unit} |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, values in seen.items():
        if not values:
            print(f"| {name} | - | failed, or > 60,000 | - | - |")
            continue
        frames, ms, rate = (statistics.median(v[i] for v in values) for i in range(3))
        print(f"| {name} | {f'{frames:,.0f}' if frames else '-'} | {ms:,.1f} | "
              f"{f'{rate / 1e6:.2f} M' if rate else '-'} | "
              f"{f'{rates[name]:,.4g}' if name in rates else '-'} |")


def main():
    build = os.path.realpath(sys.argv[1])
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as folder:
        for row in ROWS:
            seen, rates = {}, {}
            for sframe in (False, True):
                program = os.path.join(folder, f"target{sframe}")
                subprocess.run(["gcc", "-O2", "-fno-optimize-sibling-calls", "-pthread",
                                *(["-Wa,--gsframe"] if sframe else []), "-o", program,
                                "-I", os.path.dirname(HERE),
                                os.path.join(HERE, "stack_target.c")], check=True)
                process = start(program, row)
                named, tools = commands(build, sframe)
                seen.update(measure(named, tools, process, runs))
                rates.update(call_rates(named, process, program, row))
                process.kill()
                process.wait()
            print_rows(row, seen, rates)


if __name__ == "__main__":
    main()
