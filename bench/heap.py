#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# heap.py BUILD [TURNS]: what malloc and free of 32 bytes cost with libcrashhook-heap: where
# nothing is guarded, at the default rate, and guarded each time; in turns, processor time,
# the median of the turns (bench/heap_cost.c).

import os
import statistics
import subprocess
import sys

import figures

PAIRS, GUARDED_PAIRS = "20000000", "100000"


def cost_ns(build, pairs, variables):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("CRASHHOOK_")}
    if variables is not None:
        environment["LD_PRELOAD"] = os.path.join(build, "lib", "libcrashhook-heap.so")
        environment.update(variables)
    done = subprocess.run([os.path.join(build, "bench", "heap_cost"), pairs], env=environment,
                          stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def main():
    build = os.path.realpath(sys.argv[1])
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    ways = ((PAIRS, None), (PAIRS, {}), (PAIRS, {"CRASHHOOK_HEAP": "sample"}),
            (GUARDED_PAIRS, {"CRASHHOOK_HEAP": "every", "CRASHHOOK_HEAP_SLOTS": "64"}))
    rows = [[cost_ns(build, *way) for way in ways] for _ in range(turns)]
    without, loaded, sampled, guarded = (statistics.median(column) for column in zip(*rows))
    print("| malloc and free | library loaded | one in 5,000 guarded | each guarded |\n"
          "|---|---|---|---|")
    print(f"| {without:.2f} ns | {loaded:.2f} ns | {sampled:.2f} ns | {guarded / 1000:.2f} µs |")
    more = statistics.median(row[1] - row[0] for row in rows)
    figures.record("heap", "malloc and free that are not guarded: more", more, "ns", ("<=", 2.5))
    figures.record("heap", "malloc and free that are guarded", guarded / 1000, "µs", ("<=", 4))


if __name__ == "__main__":
    main()
