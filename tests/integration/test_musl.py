# SPDX-License-Identifier: Apache-2.0
#
# Programs that use musl, with the handler built by musl-gcc, and the agent as it is.

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import AGENT, SOURCE, Scene, crashed_thread, frames_of, names_of

PROGRAM = "tests/integration/programs/musl.c"


class Musl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="crashhook-musl.")
        build = os.path.join(cls.folder, "build")
        for command in (
                ["cmake", "-S", SOURCE, "-B", build, "-G", "Ninja",
                 "-DCMAKE_TOOLCHAIN_FILE=" + os.path.join(SOURCE, "cmake", "musl.cmake"),
                 "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCRASHHOOK_ONLY_HANDLER=ON",
                 "-DCMAKE_INSTALL_PREFIX=" + os.path.join(cls.folder, "prefix"),
                 "-DCMAKE_INSTALL_LIBDIR=lib"],
                ["cmake", "--build", build, "-j", "2"], ["cmake", "--install", build]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False)
            if done.returncode != 0:
                raise AssertionError(done.stdout)
        cls.library = os.path.join(build, "lib", "libcrashhook.a")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def crash(self, scene, *flags, arguments=(), library=None):
        """Runs the program, linked with flags: how it ended, and its report."""
        path = os.path.join(scene.folder, "musl")
        subprocess.run(["musl-gcc", "-g", "-O1", "-fno-omit-frame-pointer", *flags, "-o", path,
                        os.path.join(SOURCE, PROGRAM),
                        *(library or ["-Wl,-u,crashhook_install", self.library])], check=True)
        scene.preload = None
        ended = scene.run([path, *arguments], CRASHHOOK_AGENT=AGENT)
        self.assertLess(ended.seconds, 20)
        reports = scene.reports()
        self.assertEqual(len(reports), 1)
        return ended, reports[0]

    def test_a_static_program_is_reported(self):
        with Scene() as scene:
            ended, report = self.crash(scene, "-static")
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.check_null_write(report)

    def test_a_program_that_uses_the_installation_for_musl_is_reported(self):
        pc = {"PKG_CONFIG_PATH": os.path.join(self.folder, "prefix", "lib", "pkgconfig")}
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "crashhook-static"],
                               check=True, env={**os.environ, **pc}, text=True,
                               stdout=subprocess.PIPE).stdout.split()
        with Scene() as scene:
            ended, report = self.crash(scene, "-static", library=flags)
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.check_null_write(report)

    def test_a_dynamic_program_is_reported(self):
        with Scene() as scene:
            ended, report = self.crash(scene)
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.check_null_write(report)
            names = [image["name"] for image in report["images"]]
            self.assertIn("libc.so", " ".join(names))

    def check_null_write(self, report):
        frames = frames_of(crashed_thread(report))
        self.assertEqual([frame["function"] for frame in frames[:2]],
                         ["musl_writes_null", "main"])
        self.assertEqual(frames[0]["line"], harness.crash_line(PROGRAM))
        self.assertEqual(len(report["threads"]), 2)
        self.assertEqual(report["crash"]["kind"], "null-dereference")

    def test_an_assertion_ends_it_by_abort_and_is_quoted(self):
        for flags in ((), ("-static",), ("-O0", "-no-pie")):
            with self.subTest(flags), Scene() as scene:
                ended, report = self.crash(scene, *flags, arguments=["x"])
                self.assertEqual(ended.signal, signal.SIGABRT)
                crash = report["crash"]
                self.assertEqual(crash["kind"], "assertion")
                self.assertEqual(crash["summary"], "Assertion failed: count == 1")
                self.assertEqual(crash["message"], ended.stderr.strip())
                self.assertRegex(crash["message"], r"musl\.c: musl_asserts: \d+\)$")
                # Debian's musl says nothing of how its own code keeps the stack: it is
                # looked through, or frame pointers lead from inside it to the caller of
                # the function that called it.
                self.assertIn("main", names_of(crashed_thread(report)))


if __name__ == "__main__":
    if shutil.which("musl-gcc") is None:
        print("musl-gcc is not installed: musl is not tested")
        sys.exit(77)
    harness.main()
