#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# trace BUILD [TURNS]: what `crashhook run --via trace` adds to operations that a tracer is
# notified of: the program alone and traced take turns, and the medians of the differences
# are given. Everything runs on one CPU: in a virtual machine, waking another one may cost
# more than all else, and says nothing of the tracer.

import os
import statistics
import subprocess
import sys
import tempfile

import figures

ROWS = (("signal", "a signal that is passed on", 8, "us"),
        ("fault", "a fault that a handler recovers from", None, "us"),
        ("thread", "a thread, made and joined", 30, "us"),
        ("child", "a child that executes a program", 250, "us"))


def measure(command, environment):
    words = subprocess.run(command, check=True, env=environment, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    return dict(zip(words[::2], map(float, words[1::2])))


def main():
    build = os.path.abspath(sys.argv[1])
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    program = os.path.join(build, "bench", "trace_cost")
    traced = [os.path.join(build, "bin", "crashhook"), "run", "--via", "trace", "--", program]
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as spool:
        environment = dict(os.environ, CRASHHOOK_SPOOL=spool, CRASHHOOK_PRINT="no")
        pairs = [(measure([program], environment), measure(traced, environment))
                 for _ in range(turns)]
    print("\n| under --via trace | alone | traced | adds |\n|---|---|---|---|")
    for name, what, limit, unit in ROWS:
        alone = statistics.median(pair[0][name] for pair in pairs)
        with_it = statistics.median(pair[1][name] for pair in pairs)
        adds = statistics.median(pair[1][name] - pair[0][name] for pair in pairs)
        print(f"| {what} | {alone:.1f} | {with_it:.1f} | {adds:.1f} {unit} |")
        figures.record("traced", what, adds, unit, ("<=", limit) if limit else None)


main()
