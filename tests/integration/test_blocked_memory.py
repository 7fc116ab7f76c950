# SPDX-License-Identifier: Apache-2.0
#
# Pages of the crashed program that never come: a thread that the report has stopped would
# have to fill them (userfaultfd), or the server of a file system that does not answer. The
# report leaves them out and says so; all else is in it, and the program dies in time.

import os
import shutil
import signal
import time
import unittest

import harness
from fuse_folder import FuseFolder
from harness import Scene, crashed_thread, names_of

PROGRAM = harness.program("blocked_pages")
LIBRARY = os.path.join(harness.BUILD, "tests", "programs", "libcalls_back.so")
TIMEOUT = 20.0
WAYS = {"preloaded": {}, "daemon": {"CRASHHOOK_MODE": "daemon"}, "traced": None}


class BlockedMemory(unittest.TestCase):
    def crash(self, scene, way, words, stop=lambda: None):
        """The report of the program, whose server is stopped when it has what it needs. A
        preloaded program is first looked at by the doctor."""
        command = [PROGRAM, *words]
        variables = WAYS[way]
        if variables is None:
            scene.preload = None
            command = [harness.CRASHHOOK, "run", "--via", "trace", "--", *command]
            variables = {}
        process = scene.start(command, CRASHHOOK_TIMEOUT=f"{TIMEOUT:.0f}s", **variables)
        said = process.stdout.readline()
        if not said.strip():
            process.communicate()
            self.skipTest("the kernel does not let the program have such pages")
        self.doctor = None
        if way == "preloaded":
            self.doctor = scene.command("doctor", "--pid", said.strip()).stdout
        stop()
        began = time.monotonic()
        os.kill(int(said), signal.SIGUSR1)
        status = process.wait(timeout=60)
        seconds = time.monotonic() - began
        process.communicate()
        self.assertEqual(-status, signal.SIGSEGV)
        self.assertLess(seconds, TIMEOUT)
        reports = scene.reports()
        self.assertEqual(len(reports), 1)
        return reports[0]

    def has_all_else(self, report, frames):
        thread = crashed_thread(report)
        names = names_of(thread)
        self.assertEqual(names[:len(frames)], frames)
        self.assertEqual(thread["backtrace"]["ended"], "end-of-stack")
        self.assertIn("rip" if os.uname().machine == "x86_64" else "pc", thread["registers"])
        self.assertEqual(report["crash"]["kind"], "null-dereference")
        self.assertTrue(any("did not come" in p["status"] for p in report["problems"]),
                        report["problems"])

    def test_pages_that_a_stopped_thread_would_fill_are_left_out(self):
        for way in WAYS:
            for how in ("filled", "stack"):
                with self.subTest(way=way, how=how), Scene() as scene:
                    report = self.crash(scene, way, [how])
                    self.has_all_else(report, ["look_up", "look_up_null"])
                    if self.doctor is not None:
                        self.assertIn("supplied by a process (userfaultfd)", self.doctor)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to mount")
    def test_a_page_of_a_file_whose_server_is_dead_is_left_out(self):
        for way in WAYS:
            with self.subTest(way), Scene() as scene:
                place = os.path.join(scene.folder, "files")
                with FuseFolder(place, {"data": b"x" * 4096}) as files:
                    report = self.crash(scene, way, ["file", place + "/data"], files.stop)
                    self.has_all_else(report, ["look_up", "look_up_null", "main"])
                    if self.doctor is not None:
                        self.assertIn(f"may not answer (FUSE, NFS), such as '{place}/data'",
                                      self.doctor)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to mount")
    def test_a_library_on_a_dead_file_system_costs_its_own_names_only(self):
        with open(LIBRARY, "rb") as file:
            content = file.read()
        for way in WAYS:
            with self.subTest(way), Scene() as scene:
                place = os.path.join(scene.folder, "files")
                with FuseFolder(place, {"libcalls_back.so": content}) as files:
                    path = place + "/libcalls_back.so"
                    report = self.crash(scene, way, ["library", path], files.stop)
                names = names_of(crashed_thread(report))
                self.assertEqual(names[:2], ["look_up", "look_up_null"])
                self.assertIn("main", names)
                self.assertIn("__libc_start_main_impl", names)
                self.assertTrue([p for p in report["problems"] if p.get("image") == path and
                                 p["status"] == "its file system does not answer"],
                                report["problems"])


if __name__ == "__main__":
    shutil.rmtree(os.path.join(harness.HOME, ".cache"), ignore_errors=True)
    harness.main()
