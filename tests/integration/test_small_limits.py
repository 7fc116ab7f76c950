# SPDX-License-Identifier: Apache-2.0
#
# Programs under small limits on the stack (RLIMIT_STACK) and on descriptors (RLIMIT_NOFILE):
# a healthy one ends as it does without us, and one that crashes is reported. The command and
# the agent inherit the limits. Both limits are hard.

import itertools
import signal
import unittest

import harness
from harness import CRASHHOOK, Scene

STACKS_KIB = (16, 20, 24, 32, 64)
# How much the loader leaves of a small stack is a matter of where the kernel begins it: with
# any library some runs may fail.
TIMES = 10
MANY_TIMES = 1000
COMMAND_KIB = 32 # what the loader needs for the command's own libraries


def limited(option, value, *command):
    return ["sh", "-c", f'ulimit -{option} {value} && exec "$@"', "sh", *command]


class SmallLimits(unittest.TestCase):
    def fails_with_another(self, scene, stack, times):
        """Whether a program fails now and then whose library is another than ours; the
        variables, which are on the stack as well, are the same."""
        other = harness.program("libclosable.so")
        return any(scene.run(limited("s", stack, "/bin/true"), LD_PRELOAD=other).status != 0
                   for _ in range(times))

    def test_a_healthy_program_with_a_small_stack_is_not_harmed(self):
        compared = 0
        for stack, way in itertools.product(STACKS_KIB, ("preload", "run")):
            if way == "run" and stack < COMMAND_KIB:
                continue
            with self.subTest(stack=stack, way=way), Scene() as scene:
                command = limited("s", stack, "/bin/true")
                if way == "run":
                    scene.preload = None
                    command = limited("s", stack, CRASHHOOK, "run", "--", "/bin/true")
                if self.fails_with_another(scene, stack, TIMES):
                    continue
                ended = [scene.run(command) for _ in range(TIMES)]
                self.assertEqual(scene.reports(), [])
                failed = [each.stderr for each in ended if each.status != 0]
                if failed:
                    self.assertTrue(self.fails_with_another(scene, stack, MANY_TIMES), failed)
                compared += not failed
        self.assertGreaterEqual(compared, 4)

    def check_report(self, command, preload=True, named=True):
        with Scene() as scene:
            if not preload:
                scene.preload = None
            ended = scene.run(command, timeout=30)
            reports = scene.reports()
        self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
        self.assertEqual(len(reports), 1, ended.stderr)
        thread = harness.crashed_thread(reports[0])
        if named:
            self.assertIn("write_line", harness.names_of(thread))
        self.assertGreater(len(thread["backtrace"]["frames"]), 5)
        self.assertEqual(reports[0]["crash"]["address"], "0x8")
        self.assertLess(ended.seconds, 20)

    def test_a_program_with_a_small_stack_is_reported(self):
        for stack in (32, 64, 256):
            with self.subTest(stack=stack):
                self.check_report(limited("s", stack, harness.example("null_write")))
        with self.subTest(stack=64, way="run"):
            self.check_report(limited("s", 64, CRASHHOOK, "run", "--",
                                      harness.example("null_write")), preload=False)

    def test_a_program_with_few_descriptors_is_reported(self):
        for count in (5, 6, 8):
            with self.subTest(count=count):
                # Naming opens more files than that: it is for whoever reads the report.
                self.check_report(limited("n", count, harness.example("null_write")),
                                  named=False)


if __name__ == "__main__":
    harness.main()
