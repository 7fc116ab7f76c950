#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# throws.py BUILD [TURNS]: what a C++ exception costs that is thrown and caught ten calls
# further up, with CRASHHOOK_THROWS=yes and without the library, in turns: the median of
# the turns (tests/integration/programs/throws/rethrows.cpp).

import os
import statistics
import subprocess
import sys

import figures

THROWS = "20000"


def cost_us(build, kept):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("CRASHHOOK_")}
    if kept:
        environment["LD_PRELOAD"] = os.path.join(build, "lib", "libcrashhook-throws.so")
        environment["CRASHHOOK_THROWS"] = "yes"
    done = subprocess.run([os.path.join(build, "tests", "programs", "rethrows"), "fast", THROWS],
                          env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout) / 1000


def main():
    build = os.path.realpath(sys.argv[1])
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    pairs = [(cost_us(build, False), cost_us(build, True)) for _ in range(turns)]
    plain, kept = (statistics.median(column) for column in zip(*pairs))
    more = statistics.median(b - a for a, b in pairs)
    print("| a throw | with its stack kept | more |\n|---|---|---|")
    print(f"| {plain:.2f} µs | {kept:.2f} µs | {more:.2f} µs |")
    figures.record("throws", "a throw whose stack is kept: more", more, "µs", ("<=", 40))


if __name__ == "__main__":
    main()
