# SPDX-License-Identifier: Apache-2.0
#
# Exits that are crashes: what runtimes write before they exit is reported by
# `crashhook run --stderr-tail`, which passes everything on.

import hashlib
import os
import pty
import shutil
import subprocess
import unittest

import harness
from harness import FULL, SOURCE, Scene
from place import rust_compiler

PROGRAMS = os.path.join(SOURCE, "tests", "integration", "programs")
MEGABYTES = 1024 if FULL else 128
WRITES = """
import os
piece = bytes(range(256)) * 256
for _ in range(%d): os.write(2, piece)
"""


class Exits(unittest.TestCase):
    def run_kept(self, scene, *command):
        return scene.run([harness.CRASHHOOK, "run", "--stderr-tail", "--", *command],
                         LD_PRELOAD="")

    def only_crash(self, scene):
        reports = scene.reports()
        self.assertEqual(len(reports), 1)
        return reports[0]["crash"]

    def compiled(self, scene, *command):
        if shutil.which(command[0]) is None:
            self.skipTest(f"there is no {command[0]}")
        path = os.path.join(scene.folder, "program")
        subprocess.run([*command, "-o", path, *self.sources], check=True,
                       env=os.environ | {"GOCACHE": scene.folder, "GOFLAGS": ""},
                       stdout=subprocess.DEVNULL)
        return path

    def rust(self, scene):
        self.sources = [os.path.join(PROGRAMS, "exits.rs")]
        return self.compiled(scene, rust_compiler(), "-g")

    def test_a_rust_panic_that_unwinds_is_reported_with_its_message(self):
        with Scene() as scene:
            path = self.rust(scene)
            for how, said in (("text", "page 7 is missing"),
                              ("drop", "cannot close the ledger"),
                              ("thread", "called `Result::unwrap()` on an `Err` value")):
                with self.subTest(how=how):
                    shutil.rmtree(scene.spool, ignore_errors=True)
                    ended = self.run_kept(scene, path, how)
                    self.assertEqual(ended.status, 101)
                    self.assertIn(said, ended.stderr)
                    crash = self.only_crash(scene)
                    self.assertEqual(crash["kind"], "panic")
                    self.assertIn(said, crash["message"])
                    self.assertEqual(crash["death"]["exit_status"], 101)
                    self.assertIn("panicked at", crash["death"]["stderr"])

    def test_different_panics_of_a_program_are_different_groups(self):
        with Scene() as scene:
            path = self.rust(scene)
            for how in ("text", "drop", "text"):
                self.run_kept(scene, path, how)
            keys = [report["fingerprint2"] for report in scene.reports()]
            self.assertEqual(len(set(keys)), 2)

    def test_a_go_panic_is_reported_with_its_goroutine(self):
        self.sources = [os.path.join(PROGRAMS, "panics.go")]
        with Scene() as scene:
            ended = self.run_kept(scene, self.compiled(scene, "go", "build"), "text")
            self.assertEqual(ended.status, 2)
            crash = self.only_crash(scene)
            self.assertEqual(crash["kind"], "panic")
            self.assertIn("no such page: 7", crash["message"])
            self.assertIn("main.closeLedger", crash["death"]["stderr"])

    def test_a_python_exception_is_quoted(self):
        with Scene() as scene:
            ended = self.run_kept(scene, "/usr/bin/python3", "-c", "{}['page']")
            self.assertEqual(ended.status, 1)
            crash = self.only_crash(scene)
            self.assertEqual((crash["kind"], crash["message"]),
                             ("uncaught-exception", "KeyError: 'page'"))

    def test_an_exit_without_such_words_is_no_crash(self):
        with Scene() as scene:
            for command in ("echo no >&2; exit 3", "echo 'panic: no' >&2; exit 0", "exit 2"):
                self.run_kept(scene, "/bin/sh", "-c", command)
            self.assertEqual(scene.report_paths(), [])

    def test_all_of_it_arrives_in_order(self):
        with Scene() as scene:
            ended = subprocess.Popen(
                [harness.CRASHHOOK, "run", "--stderr-tail", "--", "/usr/bin/python3", "-c",
                 WRITES % (16 * MEGABYTES)], env=scene.environment({"LD_PRELOAD": ""}),
                stderr=subprocess.PIPE)
            seen = hashlib.md5()
            for piece in iter(lambda: ended.stderr.read(1 << 16), b""):
                seen.update(piece)
            self.assertEqual(ended.wait(), 0)
            ended.stderr.close()
            wanted = hashlib.md5()
            for _ in range(16 * MEGABYTES):
                wanted.update(bytes(range(256)) * 256)
            self.assertEqual(seen.hexdigest(), wanted.hexdigest())

    def test_a_terminal_stays_one(self):
        with Scene() as scene:
            ours, theirs = pty.openpty()
            done = subprocess.run(
                [harness.CRASHHOOK, "run", "--stderr-tail", "--", "/bin/sh", "-c",
                 "test -t 2 && echo seen >&2; exit 4"],
                env=scene.environment({"LD_PRELOAD": ""}), stderr=theirs, check=False)
            self.assertEqual(done.returncode, 4)
            os.close(theirs)
            self.assertEqual(os.read(ours, 100), b"seen\r\n")
            os.close(ours)


if __name__ == "__main__":
    harness.main()
