# SPDX-License-Identifier: Apache-2.0
#
# A goroutine that crashes in C has its callers in Go, across the runtime's switch of
# stacks, and no frame of what used that stack before. Goroutines that wait have the stacks
# that Go itself shows.

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness
import python_versions
from harness import Scene

HERE = os.path.dirname(os.path.abspath(__file__))
FOUND = python_versions.Found()


def tearDownModule():
    FOUND.write("Go", "Go")


def marked_line(text):
    with open(os.path.join(HERE, "languages", "shop.go"), encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


@unittest.skipIf(shutil.which("go") is None, "go is not installed")
class Go(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run(["go", "version"], stdout=subprocess.PIPE, text=True, check=True)
        cls.version = re.search(r"go(\d[\d.]*)", done.stdout).group(1)
        cls.folder = tempfile.mkdtemp(prefix="crashhook-go.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        environment = dict(os.environ, GO111MODULE="off", GOFLAGS="", CGO_CFLAGS="-O0 -g",
                           GOCACHE=harness.GO_CACHE)
        for name, source, options in (("whole", "shop", []),
                                      ("plain", "shop", ["-ldflags=-compressdwarf=false"]),
                                      ("stripped", "shop", ["-ldflags=-s -w"]),
                                      ("symbols", "shop", ["-ldflags=-w"]),
                                      ("panics", "panics", []),
                                      ("asks", "asks", []),
                                      ("orders", "orders", [])):
            subprocess.run(["go", "build", *options, "-o", os.path.join(cls.folder, name),
                            os.path.join(HERE, "languages", f"{source}.go")],
                           check=True, env=environment, timeout=300)
        subprocess.run(["go", "build", "-o", os.path.join(cls.folder, "leaf"),
                        os.path.join(HERE, "programs", "leaf.go")],
                       check=True, env={**environment, "CGO_ENABLED": "0"}, timeout=300)

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
                    # The switch of stacks, as this version of Go leaves it.
                    self.assertIn(names[3], ("runtime.asmcgocall", "runtime.systemstack_switch"))
                    creator = harness.crashed_thread(report)["backtrace"]["frames"][-1]
                    self.assertTrue(creator["creator"])
                    self.assertEqual((creator["function"], creator["line"]),
                                     ("main.main", marked_line("go s.serve(3)")))
                    names.pop()
                    self.assertEqual(
                        [n for n in names[4:] if n != "main.(*shop).serve.func1"],
                        ["runtime.cgocall", "main._Cfunc_crash", *["main.(*shop).serve"] * 4,
                         *[n for n in names if n.startswith("main.main")], "runtime.goexit"])
                    self.assertRegex(report["title"], "^null pointer in bug")

    def test_blocks_that_go_has_of_c_are_told_with_their_callers_in_go(self):
        for via in ("trace", "preload"):
            with self.subTest(via=via), Scene() as scene:
                scene.preload = None
                done = scene.command("run", "--via", via, "--heap", "every", "--",
                                     os.path.join(self.folder, "orders"))
                self.assertEqual(len(scene.reports()), 1, done.stderr)
                crash = scene.reports()[0]["crash"]
                self.assertEqual(crash["kind"], "double-free", crash)
                for event, inner, outer in (("allocated", "make_order", "main.receive"),
                                            ("freed", "drop_order", "main.deliver")):
                    frames = crash["heap"][event]["backtrace"]["frames"]
                    names = [frame.get("function") for frame in frames]
                    self.assertIn(inner, names)
                    self.assertIn(outer, names[names.index(inner):], event)

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

    def test_a_fault_on_a_stack_that_go_has_moved_since_has_its_callers(self):
        with Scene() as scene:
            scene.preload = None
            done = scene.command("run", "--via", "trace", "--",
                                 os.path.join(self.folder, "leaf"), "grow")
            thread = harness.crashed_thread(scene.reports()[0])
            self.assertEqual(harness.names_of(thread)[:3],
                             ["main.leaf", "main.moved", "main.main"])
            # What panicked ran below the function that faulted, where the stack is now.
            now = int(re.match(r"80200 (\d+)\n", done.stderr).group(1))
            self.assertLess(abs(int(thread["registers"]["rsp"], 16) - now), 16384)

    def traced(self, text):
        """What Go itself said of each goroutine that waits: its reason and its frames."""
        found = {}
        for part in re.split(r"\n\n", text):
            head = re.match(r"goroutine (\d+) (?:gp=.*?)?\[([^\],]+).*\]:\n", part)
            if head:
                frames = re.findall(r"^(\S.*?)\((?:0x|\.\.\.|\)|\{).*\n\t.*:(\d+)(?: |$)", part,
                                    re.MULTILINE)
                creator = re.search(r"^created by (\S+).*\n\t.*:(\d+)", part, re.MULTILINE)
                found[int(head.group(1))] = (
                    head.group(2), [(name, int(line)) for name, line in frames],
                    (creator.group(1), int(creator.group(2))) if creator else None)
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
            reason, frames, creator = traced[one["id"]]
            if frames[-1][0].startswith("created by"):
                frames = frames[:-1]
            self.assertEqual(one["reason"], reason)
            mine = one["backtrace"]["frames"]
            created = [(f["function"], f["line"]) for f in mine if f.get("creator")]
            self.assertEqual(created, [creator] if creator else [])
            mine = [f for f in mine if not f.get("creator")]
            self.assertEqual([frame["function"].removesuffix(".abi0") for frame in mine],
                             [name for name, _ in frames])
            # Where a call was inlined, Go's debug information has another line for it.
            lines = [(frame["line"], line) for before, frame, (_, line)
                     in zip([{}, *mine], mine, frames) if not before.get("inline")]
            self.assertEqual([line for line, _ in lines], [line for _, line in lines])
            compared += 1
        self.assertGreaterEqual(compared, 9)
        self.assertEqual(report["problems"], [])
        ours = harness.crashed_thread(report)["goroutine"]
        self.assertEqual([one["state"] for one in report["goroutines"] if one["id"] == ours],
                         ["syscall"])
        FOUND.note("1.19" if self.version.startswith("1.19") else self.version,
                   "waiting goroutines equal to Go's own trace, with their creators", compared)
        self.assertRegex(shown, r"Goroutine \d+, \d+, \d+ waiting \(chan receive\):\n"
                                r"(?: .*\n)+ .*waits at .*shop.go")

    def another_version(self, name):
        """A copy of the program that says it was made by a version of Go to come."""
        with open(os.path.join(self.folder, name), "rb") as file:
            program = file.read()
        said = f"go{self.version}".encode()
        path = os.path.join(self.folder, name + "-of-another-version")
        with open(path, "wb") as file:
            file.write(program.replace(said, b"go1.99" + b"9" * (len(said) - 6)))
        os.chmod(path, 0o755)
        return os.path.basename(path)

    def goroutines(self, report):
        return sorted((one["state"], one.get("reason", ""),
                       [frame["function"] for frame in one["backtrace"]["frames"]])
                      for one in report["goroutines"] if one["state"] == "waiting")

    def test_of_an_unknown_version_the_debug_information_says_where_all_is(self):
        reports = []
        for name in ("whole", self.another_version("whole"), self.another_version("plain")):
            with Scene() as scene:
                reports.append(self.crash(scene, name))
        for report in reports[1:]:
            self.assertEqual(self.goroutines(report), self.goroutines(reports[0]))
            self.assertEqual(report["problems"], [])
        self.assertGreaterEqual(len(reports[0]["goroutines"]), 9)

    def test_of_an_unknown_version_without_debug_information_that_is_said(self):
        with Scene() as scene:
            report = self.crash(scene, self.another_version("symbols"))
        self.assertNotIn("goroutines", report)
        self.assertIn({"stage": "goroutines",
                       "status": "an unknown version of Go, without debug information"},
                      report["problems"])
        names = harness.names_of(harness.crashed_thread(report))
        self.assertEqual(names[-1].removesuffix(".abi0"), "runtime.goexit")

    def test_every_output_shows_goroutines_and_what_created_them(self):
        with Scene() as scene:
            self.crash(scene, "whole")
            path = scene.report_paths()[0]
            shown = scene.command("show", "--threads", "all", path).stdout
            otlp = json.loads(scene.command("export", "--format", "otlp", path).stdout)
            envelope = scene.command("export", "--format", "sentry", path).stdout
            page = scene.page(path)
        self.assertRegex(shown, r"main.main \[created it\] at .*shop.go:\d+")
        self.assertRegex(json.dumps(otlp), r"main.main at [^ ]*shop.go:\d+ \[created it\]")
        self.assertIn("crashhook.goroutines", json.dumps(otlp))
        event = next(json.loads(line) for line in envelope.splitlines() if '"stacktrace"' in line)
        threads = {thread["name"]: thread for thread in event["threads"]["values"]
                   if str(thread["id"]).startswith("goroutine ")}
        sleeper = next(thread for name, thread in threads.items() if name.endswith("[sleep]"))
        platforms = [frame.get("platform") for frame in sleeper["stacktrace"]["frames"]]
        self.assertEqual(set(platforms), {"go"})
        crashed = event["exception"]["values"][0]["stacktrace"]["frames"]
        self.assertEqual(crashed[-1].get("platform"), None, "it is of C")
        self.assertIn("go", [frame.get("platform") for frame in crashed])
        self.assertIn('id="goroutines"><h2>Goroutines', page)
        self.assertIn("sleep", page)
        self.assertIn("created it</span>", page)

    def test_the_title_of_a_core_is_not_the_code_that_returns_from_a_signal(self):
        if not harness.cores_land_in_folder():
            self.skipTest("core_pattern cannot be set")
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([os.path.join(self.folder, "panics")], core=True,
                              GOTRACEBACK="crash")
            self.assertEqual(ended.signal, signal.SIGABRT, ended.stderr)
            core = scene.core(ended.pid)
            self.assertIsNotNone(core, ended.stderr)
            shown = scene.command("core", core)
            dead = json.loads(scene.command("core", core, "--json").stdout)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertRegex(shown.stdout, r"^panics: SIGABRT in main.leaf at panics.go")
        self.assertIn("in main.leaf", dead["title"])
        self.assertIn("nil pointer dereference", dead["title"])
        self.assertEqual(harness.crashed_thread(dead)["backtrace"]["frames"][-1]["function"],
                         "main.main")

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
