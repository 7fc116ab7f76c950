# SPDX-License-Identifier: Apache-2.0
#
# Crashes that a handler in the program hardly reaches, or not at all: in a second C library, in
# the loader, in the last destructors of a thread, in a thread that may make no system calls. Each
# process ends as it does alone. Where the kernel lets our handler run there is a report of the
# crash; where not, `crashhook run` says so and reports the end that it has seen.

import os
import signal
import unittest

import harness
from harness import CRASHHOOK, HANDLER, Scene, program

LIBRARY = program("libsecond_libc_library.so")

# The way: which build of the program, what runs it, what is preloaded.
WAYS = {
    "linked": ("shared", (), ""),
    "preloaded": ("alone", (), HANDLER),
    "preload": ("alone", (CRASHHOOK, "run", "--via", "preload", "--"), ""),
    "trace": ("alone", (CRASHHOOK, "run", "--via", "trace", "--"), ""),
}
LEFT_NONE = "left no report of its own"
NO_HANDLER = "since it died before it had installed a handler"


class Case(unittest.TestCase):
    def end(self, scene, way, words):
        name, *arguments = words
        build, prefix, preload = WAYS[way]
        return scene.run([*prefix, program(f"{name}_{build}"), *arguments], LD_PRELOAD=preload)

    def each_way(self, *words):
        """Yields the ways, each with what became of the program in a scene of its own."""
        with Scene() as scene:
            alone = scene.run([program(f"{words[0]}_alone"), *words[1:]], LD_PRELOAD="")
        for way in WAYS:
            with self.subTest(words=words, way=way), Scene() as scene:
                ended = self.end(scene, way, words)
                self.assertEqual((ended.signal, ended.status, ended.stdout),
                                 (alone.signal, alone.status, alone.stdout))
                self.assertLess(ended.seconds, 10)
                yield way, scene, ended

    def assert_reported(self, scene, function, name="SIGSEGV"):
        report, = scene.reports()
        self.assertEqual(report["crash"]["name"], name)
        self.assertIn(function, harness.names_of(harness.crashed_thread(report)))

    def assert_only_the_end_is_known(self, way, scene, ended, why, name="SIGSEGV"):
        """The program has left nothing; what runs it says why, and reports the signal."""
        if way != "preload":
            self.assertEqual(scene.report_paths(), [])
            return
        self.assertIn(why, ended.stderr)
        report, = scene.reports()
        self.assertEqual(report["crash"]["name"], name)
        self.assertEqual(report["crash"]["death"]["cause"], "signal")


class SecondLibc(Case):
    def test_a_crash_in_a_library_with_a_c_library_of_its_own_is_reported(self):
        for function in ("read_number", "read_number_in_thread"):
            for _, scene, _ in self.each_way("second_libc", LIBRARY, function):
                self.assert_reported(scene, "read_number")

    def test_an_overflow_in_its_threads_is_reported_from_outside_alone(self):
        # The kernel finds no stack for a handler.
        for way, scene, ended in self.each_way("second_libc", LIBRARY, "overflow_in_thread"):
            if way == "trace":
                self.assert_reported(scene, "fill_stack")
            else:
                self.assert_only_the_end_is_known(way, scene, ended, LEFT_NONE)


class Loader(Case):
    def test_a_crash_before_any_constructor_is_reported_from_outside_alone(self):
        for way, scene, ended in self.each_way("resolver"):
            if way == "trace":
                self.assert_reported(scene, "resolve_answer")
            else:
                self.assert_only_the_end_is_known(way, scene, ended, NO_HANDLER)


class LastKeys(Case):
    def test_a_crash_in_the_last_round_of_destructors_is_reported(self):
        for what in ("write", "first-thread", "overflow"):
            for _, scene, _ in self.each_way("last_keys", what):
                self.assert_reported(scene, "destroy_value")


class Strict(Case):
    def test_a_fault_in_strict_seccomp_mode_ends_the_program_as_alone(self):
        for what, name in (("write", "SIGSEGV"), ("illegal", "SIGILL")):
            for way, scene, ended in self.each_way("strict", what):
                self.assertEqual(ended.signal, getattr(signal, name))
                if way == "trace":
                    self.assert_reported(scene, "main", name)
                else:
                    self.assert_only_the_end_is_known(way, scene, ended, LEFT_NONE, name)

    def test_threads_that_enter_strict_mode_at_once_are_all_known_to_be_in_it(self):
        for _ in range(5):
            for way, _, ended in self.each_way("strict", "together"):
                self.assertEqual(ended.signal, signal.SIGSEGV, way)

    def test_handlers_of_the_program_work_in_strict_mode(self):
        for what, status in (("handles", 3), ("recovers", 4)):
            for way, scene, ended in self.each_way("strict", what):
                self.assertEqual(ended.status, status)
                # The tracer sees that the handler ends the program.
                reports = int(way == "trace" and what == "handles")
                self.assertEqual(len(scene.report_paths()), reports)

    def test_another_thread_than_the_strict_one_is_reported(self):
        for _, scene, _ in self.each_way("strict", "elsewhere"):
            self.assert_reported(scene, "write_null")

    def test_a_program_whose_wish_for_strict_mode_is_refused_is_reported(self):
        for _, scene, _ in self.each_way("strict", "refused"):
            self.assert_reported(scene, "write_null")

    def test_a_signal_from_outside_ends_a_strict_program_which_the_doctor_knows(self):
        with Scene() as scene:
            process = scene.start([program("strict_shared"), "waits"])
            self.assertEqual(os.read(process.stdout.fileno(), 6), b"ready\n")
            said = scene.command("doctor", "--pid", str(process.pid)).stdout
            self.assertIn("its first thread is in strict seccomp mode", said)
            process.send_signal(signal.SIGSEGV)
            process.communicate(timeout=10)
            self.assertEqual(process.returncode, -signal.SIGSEGV)


if __name__ == "__main__":
    harness.main()
