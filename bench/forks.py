#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# forks.py BUILD [PAIRS] [LIBRARY...]: what a fork, with the child's end, costs a program
# without a library, with an empty one preloaded, and with ours. All programs run from the
# start, and each forks once in turn, in an order that turns too: medians, and of the
# differences within a turn the median with its quartiles. Further LIBRARYs, such as an
# earlier build's, take part.

import contextlib
import functools
import os
import statistics
import struct
import subprocess
import sys
import tempfile

import figures

WARM = 50


def start(stack, build, library, spool):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CRASHHOOK_")}
    if library is not None:
        kept.update(LD_PRELOAD=library, CRASHHOOK_SPOOL=spool)
    return stack.enter_context(subprocess.Popen(
        [os.path.join(build, "bench", "fork_cost")], env=kept, bufsize=0,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE))


def fork_us(program):
    program.stdin.write(b"f")
    return struct.unpack("q", program.stdout.read(8))[0] / 1000


def measure(build, pairs, libraries):
    """Microseconds of a fork, by library, a value for each turn."""
    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as spool, \
            contextlib.ExitStack() as stack:
        programs = [start(stack, build, library, spool) for library in libraries]
        found = figures.in_turn([functools.partial(fork_us, program) for program in programs],
                                pairs, WARM)
        for program in programs:
            program.stdin.close()
    return found


def main(build, pairs, others):
    libraries = [None, os.path.join(build, "bench", "libempty.so"),
                 os.path.join(build, "lib", "libcrashhook.so"), *others]
    found = measure(build, pairs, libraries)
    none, empty, ours = (statistics.median(times) for times in found[:3])
    figures.record("handler", "a fork, with the library", ours, "µs", ("<=", 1.1 * empty),
                   {"no reporter": none, "an empty library": empty})
    for times, library in zip(found, libraries):
        low, median, high = figures.more_than(found[0], times)
        print(f"{library or 'no library'}: {statistics.median(times):.1f} µs a fork; more than"
              f" without: {median:+.1f} ({low:+.1f} to {high:+.1f})")


if __name__ == "__main__":
    main(os.path.realpath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5000,
         [os.path.realpath(path) for path in sys.argv[3:]])
