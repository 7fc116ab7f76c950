#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# nested.py BUILD [TURNS]: what it costs that a program's own handler faults again and
# again, until its stack is full, and not once, alone and with the crash reported: medians
# of the turns (tests/integration/programs/handlers/failing_handlers.c).

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import figures

MOST_TIMES = 3


def main():
    build = os.path.realpath(sys.argv[1])
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    program = os.path.join(build, "tests", "programs", "failing_handlers")
    spool = tempfile.mkdtemp(prefix="crashhook-bench.")
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("CRASHHOOK_")}
    environment.update(CRASHHOOK_SPOOL=spool, CRASHHOOK_PRINT="no")
    library = os.path.join(build, "lib", "libcrashhook.so")
    run = [os.path.join(build, "bin", "crashhook"), "run", "--via"]

    def end(handler, command, variables):
        began = time.monotonic()
        subprocess.run([*command, program, handler, "writes"],
                       env={**environment, **variables}, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return (time.monotonic() - began) * 1000

    def measure(*command, **variables):
        return lambda: (end("faults-again-and-again", command, variables) -
                        end("faults", command, variables))

    ways = {"alone": measure(), "linked": measure(LD_PRELOAD=library),
            "run, preloaded": measure(*run, "preload", "--"),
            "run, traced": measure(*run, "trace", "--")}
    try:
        found = figures.in_turn(list(ways.values()), turns, 1)
    finally:
        shutil.rmtree(spool)
    alone = statistics.median(found[0])
    print("| a handler that faults until its stack is full | more than one fault | times alone |\n|---|---|---|")
    for way, times in zip(ways, found):
        time_ms = statistics.median(times)
        print(f"| {way} | {time_ms:.1f} ms | {time_ms / alone:.1f} |")
        if way != "alone":
            figures.record("handler", f"a handler that faults again and again, {way}: ratio",
                           time_ms / alone, "", ("<=", MOST_TIMES))


if __name__ == "__main__":
    main()
