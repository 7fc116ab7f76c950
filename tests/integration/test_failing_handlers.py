# SPDX-License-Identifier: Apache-2.0
#
# A program whose own handler of a fault fails: it faults itself, once or again and again,
# blocks every signal, or has no stack. The report is of the first fault, and the program
# ends as it does alone. The whole matrix, in threads too, runs with CRASHHOOK_FULL.

import itertools
import os
import signal
import unittest

import harness
from harness import Scene

FULL = "CRASHHOOK_FULL" in os.environ
PROGRAM = harness.program("failing_handlers")
HANDLERS = ("faults", "faults-masked", "faults-on-stack", "faults-again-and-again",
            "faults-until-reset", "faults-reset", "executes-no-code", "aborts", "aborts-masked",
            "blocks-and-aborts", "blocks-and-faults", "asserts-masked",
            "frees-twice-masked", "kills-and-returns", "unblocks-and-faults", "exits")
# A handler that cannot run, as the stack is full, does nothing of its own.
FAULTS = {"writes": HANDLERS, "illegal": HANDLERS if FULL else HANDLERS[:2],
          "overflows": HANDLERS if FULL else ("faults", "aborts-masked", "exits")}
WAYS = ("linked", "preload", "trace")
# Alone a handler that faults until its stack is full takes 0.01 s.
LONGEST_S = 10
CASES_AT_LEAST = 70


def command_of(way, arguments, program=PROGRAM):
    if way == "linked":
        return [program + "_static", *arguments]
    return [harness.CRASHHOOK, "run", "--via", way, "--", program, *arguments]


class FailingHandlers(unittest.TestCase):
    def alone(self, arguments):
        with Scene() as scene:
            scene.preload = None
            return scene.run([PROGRAM, *arguments])

    def check(self, arguments, way):
        alone = self.alone(arguments)
        with Scene() as scene:
            scene.preload = None
            ended = scene.run(command_of(way, arguments), CRASHHOOK_AGENT=harness.AGENT)
            self.assertEqual((ended.signal, ended.status), (alone.signal, alone.status),
                             ended.stderr)
            self.assertLess(ended.seconds, LONGEST_S)
            reports = scene.reports()
        self.assertEqual(len(reports), 1, ended.stderr)
        crash = reports[0]["crash"]
        thread = harness.crashed_thread(reports[0])
        self.assertEqual(harness.names_of(thread)[0], arguments[1])
        self.assertIn(arguments[1], reports[0]["title"])
        # An instruction that no processor has: SIGILL, or SIGTRAP on AArch64.
        self.assertEqual(crash["name"] == "SIGSEGV", arguments[1] != "illegal")
        return reports[0]

    def test_the_first_fault_is_told_whatever_its_handler_does(self):
        cases = [([handler, fault, *thread], way)
                 for fault, handlers in FAULTS.items() for handler in handlers
                 for thread in ([], ["thread"]) if FULL or not thread or handler == "faults"
                 for way in WAYS]
        print(f"{len(cases)} cases")
        self.assertGreaterEqual(len(cases), CASES_AT_LEAST)
        for arguments, way in cases:
            with self.subTest(arguments=arguments, way=way):
                self.check(arguments, way)

    def test_the_second_fault_is_a_fact_of_the_report(self):
        for way in WAYS:
            with self.subTest(way=way):
                crash = self.check(["faults", "writes"], way)["crash"]
                self.assertEqual(crash["address"], "0x18")
                self.assertEqual([then["name"] for then in crash["then"]], ["SIGSEGV"])
                self.assertEqual(crash["then"][0]["address"], "0x8")

    def test_a_program_that_leaves_deeply_nested_handlers_has_its_processors_again(self):
        program = harness.program("nested_then_left")
        for arguments in ([], ["child"], ["at-once"]):
            with self.subTest(arguments=arguments), Scene() as scene:
                scene.preload = None
                ended = scene.run(command_of("trace", arguments, program))
                self.assertEqual(ended.signal, signal.SIGSEGV, ended)
                self.assertLess(ended.seconds, LONGEST_S)
                # While it faulted it shared one processor with the tracer.
                self.assertEqual(ended.stdout, "1\n")
                report, = scene.reports()
                self.assertEqual(harness.names_of(harness.crashed_thread(report))[0], "crash")

    def test_a_handler_sees_the_signals_that_it_has_blocked_as_alone(self):
        program = harness.program("handler_masks")
        for case in ("mask", "set-mask", "set-mask-and-fault", "unblock-and-fault",
                     "unblock-and-block-and-fault", "send", "send-and-unblock",
                     "send-default", "sent-first", "nested", "other", "abort-blocked",
                     "keep-blocked"):
            for full in ([], ["full"]):
                with Scene() as scene:
                    scene.preload = None
                    alone = scene.run([program, case, *full])
                for way in WAYS:
                    command = command_of(way, [case, *full], program)
                    with self.subTest(case=case, full=full, way=way), Scene() as scene:
                        scene.preload = None
                        ended = scene.run(command, CRASHHOOK_AGENT=harness.AGENT)
                        self.assertEqual((ended.stdout, ended.signal, ended.status),
                                         (alone.stdout, alone.signal, alone.status))
                        self.assertEqual(len(scene.reports()), int(ended.status != 0),
                                         ended.stderr)

    def test_abort_is_reported_in_a_thread_that_blocks_every_signal(self):
        for way in ("preload", "trace"):
            with self.subTest(way=way), Scene() as scene:
                scene.preload = None
                ended = scene.run(command_of(way, ["blocked", "calls_abort", "thread"]))
                self.assertEqual(ended.signal, signal.SIGABRT, ended.stderr)
                report, = scene.reports()
                self.assertIn("calls_abort", report["title"])
                names = harness.names_of(harness.crashed_thread(report))
                self.assertEqual(names.count("abort"), 1)

    def test_an_end_by_a_signal_that_nothing_could_report_is_reported_by_run(self):
        for kills in ("run", "no"):
            with self.subTest(kills=kills), Scene() as scene:
                scene.preload = None
                ended = scene.run(command_of("preload", ["blocked", "writes"]),
                                  CRASHHOOK_KILLS=kills)
                self.assertEqual(ended.signal, signal.SIGSEGV)
                self.assertIn("left no report of its own", ended.stderr)
                report, = scene.reports()
                self.assertEqual(report["crash"]["name"], "SIGSEGV")
                self.assertEqual(report["crash"]["kind"], "unknown")
                self.assertIn("only the end is known", report["crash"]["summary"])
                self.assertEqual(report["crash"]["death"]["keeper"], "run")

    def test_an_end_that_the_handler_left_a_record_of_is_reported_once(self):
        for kills in ("run", "no"):
            with self.subTest(kills=kills), Scene() as scene:
                scene.preload = None
                ended = scene.run(command_of("preload", ["faults", "writes"]),
                                  CRASHHOOK_KILLS=kills, CRASHHOOK_AGENT="/bin/false")
                self.assertEqual(ended.signal, signal.SIGSEGV)
                report, = scene.reports()
                self.assertEqual(harness.names_of(harness.crashed_thread(report))[0], "writes")

    def test_a_process_that_kills_itself_by_a_signal_and_faults_again_is_told_once(self):
        for _ in range(20 if FULL else 4):
            for fault, way in itertools.product(("writes", "illegal"), WAYS):
                self.check(["kills-and-returns", fault, "thread"], way)

    def test_children_that_a_program_kills_are_no_crashes(self):
        program = harness.program("kills_children")
        for kills, names in ((None, ["SIGSEGV"]), ("yes", ["SIGKILL"] * 3 + ["SIGSEGV"])):
            with self.subTest(kills=kills), Scene() as scene:
                scene.preload = None
                variables = {"CRASHHOOK_KILLS": kills} if kills else {"CRASHHOOK_RATE": "1/1h"}
                ended = scene.run([harness.CRASHHOOK, "run", "--via", "trace", "--", program],
                                  **variables)
                self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
                self.assertEqual(sorted(report["crash"]["name"]
                                        for report in scene.reports()), names)


if __name__ == "__main__":
    harness.main()
