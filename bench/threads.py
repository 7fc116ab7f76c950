#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# threads.py BUILD [ROUNDS] [LIBRARY...]: what starting and joining a thread costs a program
# without the library and with it preloaded, in turn: medians of each round, and of these
# the median. Further LIBRARYs, such as an earlier build's, take their turns too.

import os
import statistics
import subprocess
import sys
import tempfile

import figures

COUNT = "2000"


def one(program, library, spool):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CRASHHOOK_")}
    if library is not None:
        kept.update(LD_PRELOAD=library, CRASHHOOK_SPOOL=spool)
    done = subprocess.run([program, COUNT], env=kept, stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def main(build, rounds, others):
    program = os.path.join(build, "bench", "thread_cost")
    libraries = [None, os.path.join(build, "lib", "libcrashhook.so"), *others]
    found = [[] for _ in libraries]
    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as spool:
        for _ in range(rounds):
            for times, library in zip(found, libraries):
                times.append(one(program, library, spool))
    none, ours = (statistics.median(times) for times in found[:2])
    figures.record("handler", "a thread, with the library", ours, "µs", ("<=", 1.2 * none),
                   {"no reporter": none})
    for times, library in zip(found, libraries):
        print(f"{library or 'no library'}: {statistics.median(times):.1f} µs a thread")


if __name__ == "__main__":
    main(os.path.realpath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 15,
         [os.path.realpath(path) for path in sys.argv[3:]])
