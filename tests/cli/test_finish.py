# SPDX-License-Identifier: Apache-2.0
#
# crashhook finish: from the raw report whose lock the agent hands over, to the report
# with names, printed and sent.

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import cli_scene
from cli_scene import Scene, report_id

sys.path.insert(0, os.path.join(cli_scene.SOURCE, "tests", "upload"))
import fault_server  # noqa: E402
from fault_server import FaultServer, answer, take  # noqa: E402


def ended(process):
    process.stdout_text, process.stderr_text = process.communicate(timeout=60)
    return process


class Finish(unittest.TestCase):
    def test_the_raw_report_gets_its_revision_and_a_new_fingerprint(self):
        with Scene() as scene:
            identity = scene.add(1, "raw.json", fingerprint="00")
            done = ended(scene.finish(identity))
            report = scene.report(identity)
            self.assertEqual((done.returncode, report["revision"]), (0, 1))
            self.assertNotEqual(report["fingerprint"], "00")
            self.assertGreaterEqual(report["agent"]["timings_us"]["symbolize"], 0)
            self.assertEqual(os.stat(scene.file(identity)).st_mode & 0o777, 0o600)

    def test_a_report_is_left_raw_where_names_are_off(self):
        with Scene() as scene:
            identity = scene.add(1, "raw.json")
            ended(scene.finish(identity, CRASHHOOK_SYMBOLIZE="off"))
            self.assertEqual(scene.report(identity)["revision"], 0)

    def test_it_prints_only_where_it_was_asked_to(self):
        with Scene() as scene:
            for value, said in (("yes", True), ("no", False), ("tty", False)):
                identity = scene.add(1, "raw.json")
                done = ended(scene.finish(identity, CRASHHOOK_PRINT=value))
                self.assertEqual("SIGSEGV" in done.stderr_text, said, value)
                self.assertEqual(done.stdout_text, "")

    def test_a_value_that_the_handler_has_complained_about_is_not_told_again(self):
        with Scene() as scene:
            identity = scene.add(1, "raw.json")
            done = ended(scene.finish(identity, CRASHHOOK_PRINT="yes", CRASHHOOK_TOP="x"))
            self.assertIn("SIGSEGV", done.stderr_text)
            self.assertNotIn("understood", done.stderr_text)

    def test_it_sends_the_report_and_notes_that(self):
        with Scene() as scene, FaultServer() as server:
            identity = scene.add(1, "raw.json")
            ended(scene.finish(identity, CRASHHOOK_URL=server.url, CRASHHOOK_TIMEOUT="20s"))
            self.assertEqual(server.requests[0].report()["revision"], 1)
            again = scene.run("upload", "--url", server.url)
            self.assertEqual(again.returncode, 0)
            self.assertEqual(len(server.requests), 1)

    def test_it_sends_although_nobody_reads_what_it_prints(self):
        with Scene() as scene, FaultServer() as server:
            identity = scene.add(1, "raw.json")
            process = scene.finish(identity, CRASHHOOK_URL=server.url,
                                   CRASHHOOK_PRINT="yes")
            process.stderr.close()
            process.stdout.close()
            process.wait(timeout=60)
            self.assertEqual(len(server.requests), 1)

    def test_a_full_pipe_that_nobody_reads_keeps_neither_report_nor_lock(self):
        with Scene() as scene, FaultServer() as server:
            identity = scene.add(1, "raw.json")
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(writing, bytes(4096))
            os.set_blocking(writing, True)
            began = time.monotonic()
            process = scene.finish(identity, stderr=writing, CRASHHOOK_URL=server.url,
                                   CRASHHOOK_PRINT="yes", CRASHHOOK_LOG="stderr")
            server.await_requests(1)
            # Free while it still waits for somebody to read.
            with open(scene.file(identity), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
            self.assertEqual(process.wait(timeout=60), 0)
            self.assertLess(time.monotonic() - began, 30)
            os.close(reading)
            os.close(writing)

    def test_all_of_it_is_printed_to_whoever_reads_slowly(self):
        with Scene() as scene:
            identity = scene.add(1, "raw.json")
            whole = ended(scene.finish(identity, CRASHHOOK_PRINT="yes")).stderr_text
            other = scene.add(2, "raw.json")
            reading, writing = os.pipe()
            fcntl.fcntl(writing, 1031, 4096)  # F_SETPIPE_SZ: less than it prints
            process = scene.finish(other, stderr=writing, CRASHHOOK_PRINT="yes")
            os.close(writing)
            with open(reading, encoding="utf-8") as file:
                said = file.read()
            self.assertEqual(process.wait(timeout=60), 0)
            self.assertEqual(said.replace(other, identity), whole)

    def test_the_lock_is_held_until_the_end_and_falls_with_it(self):
        with Scene() as scene, FaultServer(fault_server.say_nothing, take) as server:
            identity = scene.add(1, "raw.json")
            process = scene.finish(identity, CRASHHOOK_URL=server.url,
                                   CRASHHOOK_TIMEOUT="60s")
            server.await_requests(1)
            meanwhile = scene.run("upload", "--url", server.url)
            self.assertIn("left 1 that another process", meanwhile.stderr)
            process.kill()
            ended(process)
            after = scene.run("upload", "--url", server.url)
            self.assertEqual(after.returncode, 0, after.stderr)
            self.assertEqual(len(server.requests), 2)

    def test_a_server_that_is_down_is_one_line_in_the_log(self):
        with Scene() as scene, FaultServer(answer(503)) as server:
            identity = scene.add(1, "raw.json")
            log = os.path.join(scene.folder, "log")
            done = ended(scene.finish(identity, CRASHHOOK_URL=server.url,
                                      CRASHHOOK_LOG=log))
            with open(log, encoding="utf-8") as file:
                lines = file.read().splitlines()
            self.assertEqual(len(lines), 1, lines)
            self.assertIn("it answered 503", lines[0])
            self.assertEqual(done.stderr_text, "")

    def test_without_a_log_it_says_nothing(self):
        with Scene() as scene, FaultServer(answer(503)) as server:
            identity = scene.add(1, "raw.json")
            done = ended(scene.finish(identity, CRASHHOOK_URL=server.url))
            self.assertEqual((done.stderr_text, done.stdout_text), ("", ""))

    def test_a_damaged_raw_report_is_one_line_and_stays(self):
        with Scene() as scene:
            identity = report_id(1)
            with open(scene.file(identity), "w", encoding="utf-8") as file:
                file.write('{"schema"')
            done = ended(scene.finish(identity, CRASHHOOK_LOG="stderr"))
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr_text.count("\n"), 1, done.stderr_text)
            self.assertTrue(os.path.exists(scene.file(identity)))

    def test_a_descriptor_that_is_not_the_reports_is_refused(self):
        with Scene() as scene:
            identity = scene.add(1, "raw.json")
            done = ended(scene.finish(identity, inherit=False, CRASHHOOK_LOG="stderr"))
            self.assertEqual(done.returncode, 1)
            self.assertEqual(scene.report(identity)["revision"], 0)

    def test_a_full_disk_leaves_the_raw_report(self):
        with Scene() as scene:
            disk = os.path.join(scene.folder, "disk")
            identity = scene.add(1, "raw.json")
            os.mkdir(disk, 0o700)
            if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k,mode=700", "none",
                               disk], check=False, stderr=subprocess.DEVNULL).returncode:
                self.skipTest("no right to mount")
            self.addCleanup(subprocess.run, ["umount", "-l", disk], check=False)
            shutil.copy(scene.file(identity), disk)
            scene.spool = disk
            with open(os.path.join(disk, "filler"), "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
            done = ended(scene.finish(identity, CRASHHOOK_LOG="stderr"))
            self.assertIn("cannot rewrite report", done.stderr_text)
            self.assertIn("No space left on device", done.stderr_text)
            self.assertEqual(scene.report(identity)["revision"], 0)
            self.assertEqual(sorted(os.listdir(disk)), [identity + ".json", "filler"])

    def test_killed_at_any_time_it_leaves_a_whole_report(self):
        with Scene() as scene:
            for step in range(12):
                identity = scene.add(1, "raw.json")
                process = scene.finish(identity)
                try:
                    process.wait(timeout=step * 0.004)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                ended(process)
                self.assertIn(scene.report(identity)["revision"], (0, 1))
                with open(scene.file(identity), "rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX)


if __name__ == "__main__":
    unittest.main(verbosity=2)
