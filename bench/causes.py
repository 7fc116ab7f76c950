#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# causes BUILD [TURNS [BEFORE]]: how long the steps take that find out why a program
# crashed, by the kind of crash. The programs are those of tests/truth; the times are the
# report's own (agent.timings_us). With BEFORE, another build, both take turns. Everything
# runs on one CPU.
#
#   held     while the process is held: capture, unwind, write
#   names    functions and lines, after that
#   values   arguments, and the variable that was wrong

import json
import os
import statistics
import subprocess
import sys
import tempfile

import figures

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "tests", "truth"))
import families

# What crashes, the family's source, the case.
ROWS = (("null pointer, parameter", "parameter_pointers.c", "null_parameter_read"),
        ("null pointer, element of an array", "element_pointers.c", "null_element_read"),
        ("null passed to strcmp", "library_calls.c", "null_strcmp"),
        ("jump into data", "endings.c", "calls_data"),
        ("stack overflow", "endings.c", "recurses"),
        ("malloc's check", "endings.c", "frees_twice"),
        ("assertion", "endings.c", "asserts"),
        ("uncaught exception", "thrown.cc", "runtime_plain"),
        ("exception of a thread", "thrown.cc", "system_thread"))
STEPS = {"held": ("capture", "unwind", "write"), "names": ("symbolize",), "values": ("values",)}


def compiled(folder, source):
    program = os.path.join(folder, source.replace(".", "-"))
    if not os.path.exists(program):
        subprocess.run(["g++" if source.endswith("cc") else "gcc", "-O1", "-g", "-w", "-pthread",
                        "-std=c++17" if source.endswith("cc") else "-std=gnu17", "-o", program,
                        os.path.join(folder, source)], check=True)
    return program


def times(build, program, case):
    """The microseconds of each step of one crash."""
    crashhook = os.path.join(build, "bin", "crashhook")
    with tempfile.TemporaryDirectory() as spool:
        subprocess.run([crashhook, "run", "--spool", spool, "--print", "no", "--", program, case],
                       check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shown = subprocess.run([crashhook, "show", "--spool", spool, "--json"], check=True,
                               stdout=subprocess.PIPE).stdout
    took = json.loads(shown)["agent"]["timings_us"]
    return {step: sum(took[name] for name in names) for step, names in STEPS.items()}


def main():
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    builds = [os.path.abspath(path) for path in (sys.argv[1], *sys.argv[3:4])]
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    heads = list(STEPS) + ([f"{step} before" for step in STEPS] if len(builds) > 1 else [])
    print(f"\n| crash, \N{MICRO SIGN}s | {' | '.join(heads)} |\n|---{'|---:' * len(heads)}|")
    with tempfile.TemporaryDirectory() as folder:
        families.write_sources(folder)
        for what, source, case in ROWS:
            program = compiled(folder, source)
            took = [[times(build, program, case) for build in builds] for _ in range(turns)]
            cells = [statistics.median(turn[i][step] for turn in took)
                     for i in range(len(builds)) for step in STEPS]
            print(f"| {what} | {' | '.join(f'{cell:.0f}' for cell in cells)} |")
            figures.record("causes", what, sum(cells[:len(STEPS)]), "us", None)


main()
