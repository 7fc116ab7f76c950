# SPDX-License-Identifier: Apache-2.0
#
# A goroutine that crashes in C has its callers in Go, across the runtime's switch of
# stacks, and no frame of what used that stack before. Goroutines that wait have the stacks
# that Go itself shows.

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness
from harness import Scene

HERE = os.path.dirname(os.path.abspath(__file__))


@unittest.skipIf(shutil.which("go") is None, "go is not installed")
class Go(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="crashhook-go.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        environment = dict(os.environ, GO111MODULE="off", GOFLAGS="", CGO_CFLAGS="-O0 -g",
                           GOCACHE="/tmp/go-build-cache")
        for name, source, options in (("whole", "shop", []),
                                      ("plain", "shop", ["-ldflags=-compressdwarf=false"]),
                                      ("stripped", "shop", ["-ldflags=-s -w"]),
                                      ("asks", "asks", [])):
            subprocess.run(["go", "build", *options, "-o", os.path.join(cls.folder, name),
                            os.path.join(HERE, "languages", f"{source}.go")],
                           check=True, env=environment, timeout=300)

    def crash(self, scene, name, via="trace"):
        scene.preload = None
        done = scene.command("run", "--via", via, "--", os.path.join(self.folder, name))
        reports = scene.reports()
        self.assertEqual(len(reports), 1, done.stderr)
        return reports[0]

    def test_a_crash_in_c_has_its_callers_in_go(self):
        for name in ("whole", "plain"):
            for via in ("trace", "preload"):
                with self.subTest(name=name, via=via), Scene() as scene:
                    report = self.crash(scene, name, via)
                    names = [function.removesuffix(".abi0") for function in
                             harness.names_of(harness.crashed_thread(report))]
                    self.assertEqual(names[:2], ["bug", "crash"])
                    self.assertEqual(names[3], "runtime.asmcgocall")
                    self.assertEqual(
                        [n for n in names[4:] if n != "main.(*shop).serve.func1"],
                        ["runtime.cgocall", "main._Cfunc_crash", *["main.(*shop).serve"] * 4,
                         *[n for n in names if n.startswith("main.main")], "runtime.goexit"])
                    self.assertRegex(report["title"], "^null pointer in bug")

    def test_a_death_by_sigabrt_after_the_dump_is_reported_once(self):
        for via in ("trace", "preload"):
            with self.subTest(via=via), Scene() as scene:
                scene.preload = None
                done = scene.command("run", "--via", via, "--",
                                     os.path.join(self.folder, "whole"), GOTRACEBACK="crash")
                self.assertEqual(done.returncode, -signal.SIGABRT)
                self.assertIn("SIGSEGV: segmentation violation", done.stderr)
                report, = scene.reports()
                self.assertEqual(report["crash"]["name"], "SIGSEGV")
                self.assertEqual(harness.names_of(harness.crashed_thread(report))[0], "bug")

    def test_a_fault_that_go_passes_on_to_a_handler_that_recovers_is_no_crash(self):
        for via in ("trace", "preload"):
            with self.subTest(via=via), Scene() as scene:
                scene.preload = None
                done = scene.command("run", "--via", via, "--",
                                     os.path.join(self.folder, "asks"))
                self.assertEqual((done.returncode, done.stdout), (0, "recovered from 10\n"))
                self.assertEqual(scene.reports(), [])

    def traced(self, text):
        """What Go itself said of each goroutine that waits: its reason and its frames."""
        found = {}
        for part in re.split(r"\n\n", text):
            head = re.match(r"goroutine (\d+) \[([^\],]+).*\]:\n", part)
            if head:
                frames = re.findall(r"^(\S.*?)\((?:0x|\.\.\.|\)|\{).*\n\t.*:(\d+)(?: |$)", part,
                                    re.MULTILINE)
                found[int(head.group(1))] = (head.group(2), [(name, int(line))
                                                             for name, line in frames])
        return found

    def test_goroutines_that_wait_have_the_stacks_that_go_shows(self):
        with Scene() as scene:
            scene.preload = None
            done = scene.command("run", "--via", "trace", "--",
                                 os.path.join(self.folder, "whole"), GOTRACEBACK="system")
            report = scene.reports()[0]
            shown = scene.command("show", "--threads", "all", scene.report_paths()[0]).stdout
        traced = self.traced(done.stderr)
        compared = 0
        for one in report["goroutines"]:
            if one["state"] != "waiting" or one["id"] not in traced:
                continue
            reason, frames = traced[one["id"]]
            if frames[-1][0].startswith("created by"):
                frames = frames[:-1]
            self.assertEqual(one["reason"], reason)
            mine = one["backtrace"]["frames"]
            self.assertEqual([frame["function"].removesuffix(".abi0") for frame in mine],
                             [name for name, _ in frames])
            # Where a call was inlined, Go's debug information has another line for it.
            lines = [(frame["line"], line) for before, frame, (_, line)
                     in zip([{}, *mine], mine, frames) if not before.get("inline")]
            self.assertEqual([line for line, _ in lines], [line for _, line in lines])
            compared += 1
        self.assertGreaterEqual(compared, 9)
        self.assertEqual(report["problems"], [])
        self.assertRegex(shown, r"Goroutine \d+, \d+, \d+ waiting \(chan receive\):\n"
                                r"(?: .*\n)+ .*waits at .*shop.go")

    def test_without_symbols_the_report_says_that_goroutines_are_missing(self):
        with Scene() as scene:
            report = self.crash(scene, "stripped")
        self.assertNotIn("goroutines", report)
        self.assertIn({"stage": "goroutines", "status": "the program has no symbols"},
                      report["problems"])

    def test_a_stripped_program_has_its_frames_by_frame_pointers(self):
        with Scene() as scene:
            report = self.crash(scene, "stripped")
        frames = harness.physical_frames(harness.crashed_thread(report))
        self.assertGreaterEqual(len(frames), 10)
        self.assertNotIn("scan", [frame["trust"] for frame in frames])
        self.assertEqual(report["process"]["executable"], os.path.join(self.folder, "stripped"))


if __name__ == "__main__":
    harness.main()
