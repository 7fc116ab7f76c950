#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Programs that Valgrind or qemu's user mode runs. What Valgrind says and how it ends is
# compared with a run without the handler. A case is a tool, a way to have the handler, and
# an end of the program (programs/emulated.c); reduced, a few of them are run.

import difflib
import itertools
import os
import random
import re
import shutil
import signal
import unittest

import harness
from harness import FULL, SEED, Scene, crashed_thread, names_of, program

TOOLS = ["memcheck", "helgrind", "drd", "massif", "cachegrind", "callgrind", "dhat", "lackey",
         "none"]
WAYS = {"preload": [], "daemon": ["--mode", "daemon"], "seize": ["--kills", "seize"],
        "linked": None}
ENDS = {"": 0, "f": signal.SIGSEGV, "d": signal.SIGFPE, "a": signal.SIGABRT,
        "j": signal.SIGSEGV, "o": signal.SIGSEGV, "ft": signal.SIGSEGV, "t": 0}
REDUCED = 8
SECONDS = 40  # of one run: a hold that is not released takes CRASHHOOK_TIMEOUT, 30 s
# What differs between any two runs: addresses of libraries, of heap blocks and of the
# stack, the program's name, and how long it ran.
VARIES = [(r"(?m)^==\d+== ", ""), (r"(?m)^ ?Command:.*\n", ""),
          (r"at address 0x1002[0-9A-F]+", "at generated code"), (r"0x[0-9A-Fa-f]{6,}", "ADDRESS"),
          (r"(?m)^ +(in use at exit|total heap usage):.*\n", ""), (r"emulated_\w+", "PROGRAM"),
          (r"suppressed: \d+ from \d+", "suppressed"), (r"[\d,]+( bytes| ms|$)", "N")]
# These count what the program did, and it had a library more to load.
COUNTS = {"massif", "cachegrind", "callgrind", "dhat", "lackey"}


def comparable(text, tool):
    for pattern, replacement in VARIES:
        text = re.sub(pattern, replacement, text)
    lines = text.splitlines()
    if tool in COUNTS:
        lines = [line for line in lines if not re.search(r"\d|refs|rate|N$", line)]
    return lines


def valgrind(tool):
    files = {"massif", "cachegrind", "callgrind", "dhat"}
    out = [f"--{tool}-out-file=/dev/null"] if tool in files else []
    return ["valgrind", f"--tool={tool}", *out]


@unittest.skipUnless(shutil.which("valgrind"), "there is no valgrind")
class Valgrind(unittest.TestCase):
    def with_handler(self, scene, tool, way, end):
        if WAYS[way] is None:
            return scene.run([*valgrind(tool), program("emulated_shared"), end], LD_PRELOAD="",
                             timeout=SECONDS)
        return scene.run([harness.CRASHHOOK, "run", "--via", "preload", *WAYS[way], "--",
                          *valgrind(tool), program("emulated_alone"), end], LD_PRELOAD="",
                         timeout=SECONDS)

    def check(self, tool, way, end):
        with Scene() as scene:
            alone = scene.run([*valgrind(tool), program("emulated_alone"), end], LD_PRELOAD="",
                              CRASHHOOK_ENABLE="no")
            ended = self.with_handler(scene, tool, way, end)
            self.assertEqual((ended.signal, ended.status), (alone.signal, alone.status),
                             ended.stderr)
            differences = "\n".join(difflib.unified_diff(
                comparable(alone.stderr, tool), comparable(ended.stderr, tool), lineterm=""))
            self.assertEqual(differences, "")
            reports = scene.reports()
            self.assertEqual(len(reports), 1 if ENDS[end] else 0)
            if ENDS[end]:
                self.assertEqual(reports[0]["crash"]["signal"], ENDS[end])
                names = names_of(crashed_thread(reports[0]))
                self.assertTrue({"end_program", "overflow_stack"} & set(names), names)

    def test_valgrind_says_and_ends_what_it_would_and_the_crash_is_reported(self):
        cases = list(itertools.product(TOOLS, WAYS, ENDS))
        if not FULL:
            some = random.Random(SEED).sample(cases, REDUCED - 4)
            cases = [("memcheck", way, "ft") for way in WAYS] + some
        for case in cases:
            with self.subTest(case=case):
                self.check(*case)
        print(f"{len(cases)} cases of {len(TOOLS) * len(WAYS) * len(ENDS)}, seed {SEED}")

    def test_the_doctor_says_what_a_report_of_such_a_program_will_lack(self):
        with Scene() as scene:
            process = scene.start(["valgrind", "-q", program("emulated_shared"), "w"],
                                  LD_PRELOAD="")
            try:
                self.assertEqual(os.read(process.stdout.fileno(), 6), b"ready\n")
                said = scene.command("doctor", "--pid", str(process.pid)).stdout
            finally:
                process.kill()
                process.communicate()
            self.assertIn("it runs under Valgrind: a crash is reported after", said)

    def test_an_agent_that_valgrind_would_follow_runs_without_it(self):
        with Scene() as scene:
            ended = scene.run(["valgrind", "-q", "--trace-children=yes",
                               program("emulated_shared"), "f"], LD_PRELOAD="", timeout=SECONDS)
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertIn("end_program", names_of(crashed_thread(scene.reports()[0])))


if __name__ == "__main__":
    harness.main()
