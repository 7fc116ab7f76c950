#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# recovered.py BUILD [TURNS]: the cost of a fault from which the program's own handler
# recovers, with our handler preloaded and without, in turns: CPU time per fault, the
# median of the turns (tests/integration/programs/handlers/recovers.c).

import os
import statistics
import subprocess
import sys

import figures

FAULTS = "20000"
# How it recovers, its name, and how many µs a fault may cost more with us.
WAYS = (("context", "changes the context", 1), ("mprotect", "calls mprotect", 2),
        ("jump", "leaves by siglongjmp", 1))


def cost_us(build, way, preload):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("CRASHHOOK_")}
    if preload:
        environment["LD_PRELOAD"] = os.path.join(build, "lib", "libcrashhook.so")
    done = subprocess.run([os.path.join(build, "tests", "programs", "recovers"), way, FAULTS],
                          env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout) / 1000


def main():
    build = os.path.realpath(sys.argv[1])
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    print("| a handler that | without us | with us | more |\n|---|---|---|---|")
    for way, what, bound in WAYS:
        pairs = [(cost_us(build, way, False), cost_us(build, way, True))
                 for _ in range(turns)]
        plain, ours = (statistics.median(column) for column in zip(*pairs))
        more = statistics.median(b - a for a, b in pairs)
        print(f"| {what} | {plain:.2f} µs | {ours:.2f} µs | {more:.2f} µs |", flush=True)
        figures.record("handler", f"a recovered fault, {what}: more", more, "µs",
                       ("<=", bound))


if __name__ == "__main__":
    main()
