# SPDX-License-Identifier: Apache-2.0
#
# Handlers of the program run on the stack on which they would run without the library, however
# they end: each case of program handler_stacks prints and ends as it does alone, preloaded into,
# linked to the shared library, and to the static one. CRASHHOOK_SEED chooses the cases of a
# reduced run, CRASHHOOK_FULL=1 runs all of them.

import itertools
import os
import random
import signal
import unittest
from concurrent.futures import ThreadPoolExecutor

import harness
from harness import Scene, crashed_thread, names_of, program

STACKS = ("none", "asked", "own", "small", "back", "nodefer")
THREADS = ("main", "other")
SIGNALS = ("usr1", "segv", "rt", "overflow")
ENDS = ("return", "exit", "raise", "chain", "longjmp", "setcontext", "throw", "nested", "fault")
KIB = (1, 60, 100, 1000, 4000)
KINDS = ("alone", "shared", "static", "all_static")
FULL = os.environ.get("CRASHHOOK_FULL") == "1"
REDUCED = 150


def all_cases():
    for case in itertools.product(STACKS, THREADS, SIGNALS, ENDS, KIB):
        stack, _, name, end, kib = case
        # One that returns to a full stack is called for ever.
        if name == "overflow" and end not in ("exit", "raise", "longjmp"):
            continue
        # Where the stack is too small, a run alone overwrites what is below it.
        if stack == "small" and kib > 1 or end == "nested" and kib > 1000:
            continue
        yield case


class HandlerStacks(unittest.TestCase):
    def setUp(self):
        self.scene = Scene()
        self.addCleanup(self.scene.__exit__)

    def outcome(self, kind, case, preload):
        stack, thread, name, end, kib = case
        variables = {"CRASHHOOK_SYMBOLIZE": "off"}
        if not preload:
            variables["LD_PRELOAD"] = ""
        done = self.scene.run([program(f"handler_stacks_{kind}"), stack, thread, name, end,
                               str(kib)], **variables)
        return done.signal, done.status, done.stdout

    def differences(self, case):
        found = []
        wanted = self.outcome("alone", case, False)
        for kind in KINDS:
            had = self.outcome(kind, case, kind == "alone")
            if had != wanted:
                found.append(f"{kind} {case}: {had} and not {wanted}")
        return found

    def test_a_handler_has_the_stack_that_it_would_have_without_us(self):
        seed = int(os.environ.get("CRASHHOOK_SEED", "1"))
        cases = list(all_cases())
        if not FULL:
            cases = random.Random(seed).sample(cases, REDUCED)
        print(f"seed {seed}: {len(cases)} cases, each linked in {len(KINDS)} ways")
        self.assertGreaterEqual(len(cases), REDUCED)
        with ThreadPoolExecutor(2) as pool:
            found = [line for lines in pool.map(self.differences, cases) for line in lines]
        self.assertEqual(len(found), 0, "\n".join(found[:30]))

    def test_a_handler_that_faults_for_ever_ends_and_its_first_fault_is_reported(self):
        for kind, thread, kib in itertools.product(KINDS, THREADS, (1, 9)):
            with self.subTest(kind=kind, thread=thread, kib=kib), Scene() as scene:
                variables = {} if kind == "alone" else {"LD_PRELOAD": ""}
                done = scene.run([program(f"handler_stacks_{kind}"), "nodefer", thread, "segv",
                                  "fault", str(kib)], timeout=60, **variables)
                self.assertEqual(done.signal, signal.SIGSEGV)
                reports = scene.reports()
                self.assertEqual(len(reports), 1)
                self.assertIn("bring", names_of(crashed_thread(reports[0]))[0])

    def test_a_full_stack_is_reported_though_its_handler_has_no_room(self):
        for kind, thread, stack in itertools.product(KINDS, THREADS, ("none", "asked", "back")):
            with self.subTest(kind=kind, thread=thread, stack=stack), Scene() as scene:
                variables = {} if kind == "alone" else {"LD_PRELOAD": ""}
                done = scene.run([program(f"handler_stacks_{kind}"), stack, thread, "overflow",
                                  "exit", "1"], timeout=60, **variables)
                self.assertEqual(done.signal, signal.SIGSEGV)
                reports = scene.reports()
                self.assertEqual(len(reports), 1)
                self.assertEqual(reports[0]["crash"]["kind"], "stack-overflow")
                self.assertIn("fill_stack", names_of(crashed_thread(reports[0]))[0])


if __name__ == "__main__":
    harness.main()
