# SPDX-License-Identifier: Apache-2.0
#
# A goroutine that crashes in C has its callers in Go, across the runtime's switch of
# stacks, and no frame of what used that stack before.

import os
import shutil
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
        for name, options in (("whole", []), ("plain", ["-ldflags=-compressdwarf=false"]),
                              ("stripped", ["-ldflags=-s -w"])):
            subprocess.run(["go", "build", *options, "-o", os.path.join(cls.folder, name),
                            os.path.join(HERE, "languages", "shop.go")],
                           check=True, env=environment, timeout=300)

    def crash(self, scene, name, via="trace"):
        scene.preload = None
        done = scene.command("run", "--via", via, "--", os.path.join(self.folder, name))
        # The runtime's own handler ends the program after ours; that is another event.
        reports = [report for report in scene.reports() if report["crash"]["signal"] == 11]
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

    def test_a_stripped_program_has_its_frames_by_frame_pointers(self):
        with Scene() as scene:
            report = self.crash(scene, "stripped")
        frames = harness.physical_frames(harness.crashed_thread(report))
        self.assertGreaterEqual(len(frames), 10)
        self.assertNotIn("scan", [frame["trust"] for frame in frames])
        self.assertEqual(report["process"]["executable"], os.path.join(self.folder, "stripped"))


if __name__ == "__main__":
    harness.main()
