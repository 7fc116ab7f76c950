#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# held.py BUILD [TURNS]: how long a crashed program is held, by the agent's own clock, with
# CRASHHOOK_ARGUMENTS=yes and no in turns, and what variables cost once it is gone. The
# crashes: a null pointer (row a of the crash table); a pointer whose origin has to be
# looked for; and a deadlock of two threads, whose waits have to be read.

import json
import os
import signal
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "tests",
                                "integration"))

import figures

STAGES_HELD = ("attach", "capture", "unwind", "write")


def crash(harness, command, arguments, wait=None, **variables):
    """The agent's timings of one crash."""
    with harness.Scene() as scene:
        scene.variables["CRASHHOOK_ARGUMENTS"] = arguments
        process = scene.start(command, **variables)
        if wait is not None:
            process.stdout.readline()
            wait(process)
            process.send_signal(signal.SIGABRT)
        process.communicate(timeout=60)
        path, = scene.report_paths()
        return json.loads(harness.read_when_done(path))["agent"]["timings_us"]


def measure(harness, name, turns, command, wait=None, **variables):
    """The medians of a crash, as a row of the table."""
    pairs = [(crash(harness, command, "no", wait, **variables),
              crash(harness, command, "yes", wait, **variables)) for _ in range(turns)]
    held = [[sum(times.get(stage, 0) for stage in STAGES_HELD) for times in pair]
            for pair in pairs]
    plain, kept = (statistics.median(column) for column in zip(*held))
    more = statistics.median(b - a for a, b in held)
    after = statistics.median(pair[1].get("values", 0) for pair in pairs)
    print(f"| {name} | {plain:.0f} µs | {kept:.0f} µs | {more:+.0f} µs | {after / 1000:.1f} ms |")
    figures.record("held", f"{name}: more with variables", more / 1000, "ms", ("<=", 0.1))
    figures.record("held", f"{name}: variables, afterwards", after / 1000, "ms", None)


def main():
    os.environ.setdefault("CRASHHOOK_BUILD", os.path.realpath(sys.argv[1]))
    import harness
    from test_deadlocks import wait_until_blocked
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    print("| crash | held | with variables | more | variables, afterwards |")
    print("|---|---|---|---|---|")
    measure(harness, "a null pointer", turns, [harness.example("null_write")])
    measure(harness, "a wild pointer", turns, [harness.program("bad_values_O2"), "wild"],
            WILD="7f0123456788")
    measure(harness, "a deadlock", turns, [harness.program("deadlocks"), "mutex"],
            lambda process: wait_until_blocked(process, 3))


if __name__ == "__main__":
    main()
