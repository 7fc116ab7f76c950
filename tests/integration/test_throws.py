# SPDX-License-Identifier: Apache-2.0
#
# With CRASHHOOK_THROWS=yes a report has the stack that an exception was thrown with, also
# where it was caught and thrown again, or kept and thrown by another thread; without it,
# nothing is loaded for that.

import signal
import unittest

import harness
from harness import Scene


class Throws(unittest.TestCase):
    def crash(self, how, throws="yes"):
        """The one report of an exception that nobody caught, and how it reads."""
        with Scene() as scene:
            scene.preload = None
            done = scene.command("run", "--via", "preload", "--throws", throws, "--",
                                 harness.program("rethrows"), how)
            reports = scene.reports()
            text = scene.command("show", scene.report_paths()[0])
        self.assertEqual(done.returncode, -signal.SIGABRT, done.stderr)
        self.assertEqual(len(reports), 1, done.stderr)
        return reports[0]["crash"], text.stdout

    def test_the_first_throw_of_an_exception_is_shown(self):
        for how in ("again", "kept", "many"):
            with self.subTest(how):
                crash, text = self.crash(how)
                frames = crash["exception"]["backtrace"]["frames"]
                self.assertTrue(frames[0]["function"].startswith("find_page"), frames[0])
                self.assertRegex(crash["exception"]["thrown_in"]["function"], "^find_page")
                self.assertRegex(crash["summary"], "no such page, thrown in find_page")
                self.assertIn("Thrown here, by thread ", text)
                self.assertRegex(text.split("Thrown here")[1], r"0  find_page")

    def test_an_exception_that_another_thread_threw_names_that_thread(self):
        crash, _ = self.crash("kept")
        self.assertNotEqual(crash["exception"]["backtrace"]["thread"], crash["thread"])

    def test_without_the_setting_nothing_is_kept(self):
        crash, text = self.crash("again", throws="no")
        self.assertNotIn("backtrace", crash["exception"])
        self.assertNotIn("Thrown here", text)

    def test_exceptions_that_are_caught_change_nothing(self):
        with Scene() as scene:
            scene.preload = None
            done = scene.command("run", "--via", "preload", "--throws", "yes", "--",
                                 harness.program("rethrows"), "fast", "2000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(done.stdout), 0)
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    harness.main()
