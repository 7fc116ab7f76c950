#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# starts.py BUILD [PAIRS]: what the start of a program that does nothing costs, with its
# end, without a library, with an empty one preloaded, with ours preloaded, switched off
# and linked statically. All are started once in turn, in an order that turns too: medians,
# and of the differences within a turn the median with its quartiles. Where strace is
# installed, also how many calls that name a file fail more; where perf counts them, how
# many instructions the program runs more.

import functools
import os
import statistics
import subprocess
import sys
import tempfile
import time

import figures

WARM = 50
TARGET_US = 25


def ways(build, spool):
    """(name, program, environment); the first is without us."""
    made = os.path.join(build, "bench")
    ours = os.path.join(build, "lib", "libcrashhook.so")
    plain = {"PATH": "/usr/bin:/bin", "HOME": spool, "CRASHHOOK_SPOOL": spool}
    program = os.path.join(made, "start_target")
    return [("no library", program, plain),
            ("an empty library", program,
             {**plain, "LD_PRELOAD": os.path.join(made, "libempty.so")}),
            ("crashhook, preloaded", program, {**plain, "LD_PRELOAD": ours}),
            ("crashhook, switched off", program,
             {**plain, "LD_PRELOAD": ours, "CRASHHOOK_ENABLE": "no"}),
            ("crashhook, linked statically", program + "_static", plain)]


def start_us(program, environment):
    began = time.perf_counter_ns()
    os.waitpid(os.posix_spawn(program, [program], environment), 0)
    return (time.perf_counter_ns() - began) / 1000


def failed_calls(program, environment):
    """How many calls that name a file fail; None without strace."""
    if not figures.installed("strace", "failed calls"):
        return None
    with tempfile.NamedTemporaryFile(prefix="crashhook-bench.") as calls:
        variables = [word for name, value in environment.items()
                     for word in ("-E", f"{name}={value}")]
        subprocess.run(["strace", "-o", calls.name, "-e", "trace=%file", *variables, program],
                       env={"PATH": os.environ["PATH"]}, check=True)
        with open(calls.name, encoding="utf-8") as file:
            return sum(" = -1 " in line for line in file)


def instructions(program, environment):
    """The instructions of a start; None where perf does not count them."""
    if not figures.installed("perf", "instructions"):
        return None
    done = subprocess.run(["perf", "stat", "-x", ",", "-r", "5", "-e", "instructions:u",
                           "env", "-i", *(f"{k}={v}" for k, v in environment.items()), program],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          check=False)
    first = done.stderr.split(",")[0]
    return int(first) if first.isdigit() else None


def main(build, pairs):
    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as spool:
        all_ways = ways(build, spool)
        found = figures.in_turn([functools.partial(start_us, *way[1:]) for way in all_ways],
                                pairs, WARM)
        medians = [statistics.median(times) for times in found]
        failed = [failed_calls(*way[1:]) for way in all_ways]
        counted = [instructions(*way[1:]) for way in all_ways]
    print("| start of a program | µs | more (quartiles) | failed calls more | instructions "
          "more |\n|---|---|---|---|---|")
    for at, (name, _, _) in enumerate(all_ways):
        low, median, high = figures.more_than(found[0], found[at])
        fails = None if failed[at] is None else failed[at] - failed[0]
        runs = None if counted[at] is None else counted[at] - counted[0]
        print(f"| {name} | {medians[at]:.0f} | {median:+.1f} ({low:+.1f} to {high:+.1f}) | "
              f"{'-' if fails is None else fails} | {'-' if runs is None else f'{runs:,}'} |")
        if not name.startswith("crashhook"):
            continue
        figures.record("handler", f"start, {name}: more", median, "µs", ("<=", TARGET_US),
                       {"an empty library": figures.more_than(found[0], found[1])[1]})
        if fails is not None:
            figures.record("handler", f"start, {name}: failed calls more", fails, "",
                           ("<=", 0))


if __name__ == "__main__":
    main(os.path.realpath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5000)
