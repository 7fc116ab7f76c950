# SPDX-License-Identifier: Apache-2.0
#
# Code that a program compiled while it ran is named by what it tells profilers and
# debuggers: a perf map, a jitdump, GDB's JIT interface; and each frame says by which. Files
# that are not the program's own are not read, and a report without any names is the same.
#
# With CRASHHOOK_LANGUAGES=docs/languages.md it writes the table of that page.

import json
import os
import re
import shutil
import signal
import subprocess
import unittest

import harness
import python_versions
from harness import Scene

HERE = os.path.dirname(os.path.abspath(__file__))
FOUND = python_versions.Found()


def tearDownModule():
    FOUND.write("JavaScript", "node with")


def map_of(pid):
    return f"/tmp/perf-{pid}.map"


class Jits(unittest.TestCase):
    def crash(self, scene, how):
        ended = scene.run([harness.program("jits"), how])
        self.addCleanup(lambda: os.path.exists(map_of(ended.pid)) and os.unlink(map_of(ended.pid)))
        self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
        self.assertLess(ended.seconds, 20)
        reports = scene.reports()
        self.assertEqual(len(reports), 1, ended.stderr)
        return ended, reports[0]

    def frames(self, report):
        return harness.frames_of(harness.crashed_thread(report))

    def test_each_source_names_the_functions_and_is_named(self):
        for how in ("perf-map", "jitdump", "gdb-jit"):
            with self.subTest(how), Scene() as scene:
                _, report = self.crash(scene, how)
                inner, outer, main = self.frames(report)[:3]
                self.assertRegex(inner["function"], "^inner")
                self.assertEqual(outer["function"], "outer")
                self.assertEqual([inner["source"], outer["source"]], [how, how])
                self.assertEqual(main["function"], "main")
                self.assertEqual(report["problems"], [])

    def test_the_names_of_v8_have_a_language_and_a_file(self):
        with Scene() as scene:
            _, report = self.crash(scene, "perf-map")
            shown = scene.command("show", scene.report_paths()[0]).stdout
        outer = self.frames(report)[1]
        self.assertEqual(outer["language"], "javascript")
        self.assertEqual(outer["file"], "/srv/app.js")
        self.assertNotIn("line", outer)
        self.assertRegex(shown, r"outer \[JavaScript\] at /srv/app.js")
        self.assertIn("outer (app.js)", report["title"])

    def test_without_a_source_the_frames_have_no_names(self):
        with Scene() as scene:
            _, report = self.crash(scene, "none")
        inner, outer, main = self.frames(report)[:3]
        self.assertNotIn("function", inner)
        self.assertNotIn("function", outer)
        self.assertEqual(main["function"], "main")

    def crash_with_map(self, scene, place):
        """The frames after place has put the program's perf map where it is looked for."""
        path = os.path.join(scene.folder, "the.map")
        process = subprocess.Popen(
            [harness.program("jits"), "perf-map", path], cwd=scene.folder,
            env=scene.environment({}), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pid = int(process.stdout.readline())
        self.addCleanup(lambda: os.path.lexists(map_of(pid)) and os.unlink(map_of(pid)))
        place(path, map_of(pid))
        process.communicate(b"\n", timeout=60)
        self.assertEqual(process.returncode, -signal.SIGSEGV)
        reports = scene.reports()
        self.assertEqual(len(reports), 1)
        return reports[0]

    def test_a_map_is_read_where_it_is_the_users_own(self):
        with Scene() as scene:
            report = self.crash_with_map(scene, shutil.copy)
        self.assertEqual(self.frames(report)[1].get("function"), "outer")

    @unittest.skipIf(os.getuid() != 0, "needs root")
    def test_a_map_of_another_user_is_not_read(self):
        def place(path, to):
            shutil.copy(path, to)
            os.chown(to, harness.NOBODY, harness.NOBODY)

        with Scene() as scene:
            report = self.crash_with_map(scene, place)
        self.assertNotIn("function", self.frames(report)[1])

    def test_a_fifo_in_the_place_of_the_map_holds_nothing_up(self):
        with Scene() as scene:
            report = self.crash_with_map(scene, lambda _, to: os.mkfifo(to))
        self.assertNotIn("function", self.frames(report)[1])

    def test_an_endless_map_is_cut_and_said_to_be(self):
        def place(_, to):
            with open(to, "wb") as file:
                file.write(b"1 1 x\n" * 1000)
                file.truncate(80 << 20)

        with Scene() as scene:
            report = self.crash_with_map(scene, place)
        self.assertIn({"stage": "jit", "status": "a list of its code is too large"},
                      report["problems"])
        self.assertLess(report["agent"]["timings_us"]["capture"], 5000000)


class JitFrames(unittest.TestCase):
    """Code whose frame pointer is an ordinary register, and whose frames lead a scan astray."""
    WALKED = [("inner", "context"), ("outer", "cfi"), ("main", "cfi")]

    def walked(self, report):
        return [(frame.get("function"), frame["trust"])
                for frame in harness.frames_of(harness.crashed_thread(report))][:3]

    def crash(self, scene, how, core=False):
        ended = scene.run([harness.program("jit_frames"), how], core=core)
        self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
        self.assertLess(ended.seconds, 20)
        return ended, scene.reports()[0]

    def test_the_unwind_rules_of_a_file_in_memory_are_used(self):
        for how in ("eh-frame", "textrel", "debug-frame"):
            with self.subTest(how), Scene() as scene:
                _, report = self.crash(scene, how)
                self.assertEqual(self.walked(report), self.WALKED)
                self.assertEqual(harness.crashed_thread(report)["backtrace"]["ended"],
                                 "end-of-stack")
                self.assertEqual(report["problems"], [])

    def test_a_list_of_files_without_an_end_ends(self):
        with Scene() as scene:
            _, report = self.crash(scene, "loop")
        self.assertEqual(self.walked(report), self.WALKED)
        self.assertLess(report["agent"]["timings_us"]["unwind"], 2000000)

    def test_without_them_the_stack_is_another(self):
        with Scene() as scene:
            _, report = self.crash(scene, "none")
        self.assertEqual(self.walked(report)[:2], [("inner", "context"), ("decoy", "scan")])

    def test_a_core_has_the_same_frames(self):
        if not harness.cores_land_in_folder():
            self.skipTest("core_pattern cannot be set")
        with Scene() as scene:
            ended, _ = self.crash(scene, "eh-frame", core=True)
            core = scene.core(ended.pid)
            self.assertIsNotNone(core, ended.stderr)
            done = scene.command("core", core, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.walked(json.loads(done.stdout)), self.WALKED)


@unittest.skipIf(shutil.which("node") is None, "node is not installed")
class Node(unittest.TestCase):
    TRACED = re.compile(r"^ +at (?:\w+\.)?([\w.]+|<anonymous>) ?\(?.*stack\.js:", re.MULTILINE)

    def crash(self, *options):
        """The functions of stack.js that the trace has, and those that the report has."""
        with Scene() as scene:
            ended = scene.run(["node", *options, os.path.join(HERE, "languages", "stack.js")])
            reports = scene.reports()
            if os.path.exists(map_of(ended.pid)):
                os.unlink(map_of(ended.pid))
        self.assertEqual(ended.signal, signal.SIGABRT, ended.stderr)
        self.assertEqual(len(reports), 1, ended.stderr)
        traced = [name.split(".")[-1] for name in self.TRACED.findall(ended.stdout)]
        frames = harness.frames_of(harness.crashed_thread(reports[0]))
        named = [frame["function"].split(".")[-1] for frame in frames
                 if frame.get("language") == "javascript"
                 and frame.get("file", "").endswith("stack.js")]
        sources = {frame["source"] for frame in frames if "source" in frame}
        return traced, named, sources, reports[0]

    def note(self, options, traced, named):
        row = " ".join(options) or "no options"
        FOUND.note(row, "functions with a name in node's own trace",
                   sum(name != "<anonymous>" for name in traced))
        FOUND.note(row, "of them named in the report",
                   sum(name != "(anonymous)" for name in named))

    def test_every_function_is_named_where_all_are_compiled(self):
        for option, source in (("--perf-basic-prof", "perf-map"), ("--perf-prof", "jitdump")):
            # The optimizing compiler would inline them into each other.
            options = (option, "--always-sparkplug", "--no-opt")
            with self.subTest(options=options):
                traced, named, sources, report = self.crash(*options)
                self.note(options, traced, named)
                self.assertIn("price", traced)
                self.assertEqual(sources, {source})
                self.assertEqual([name for name in named if name != "(anonymous)"],
                                 [name for name in traced if name != "<anonymous>"])
                self.assertRegex(report["title"], r"^abort in price \(stack.js\)")

    def test_optimized_functions_are_named_but_not_those_inlined_into_them(self):
        # Compiling on another thread, how much is inlined at the crash is a matter of time.
        options = ("--perf-basic-prof", "--no-concurrent-recompilation")
        traced, named, _, _ = self.crash(*options)
        self.note(options, traced, named)
        self.assertLess(len(named), len(traced))
        self.assertIn("main", traced)

    def test_interpreted_functions_are_named_where_each_has_its_own_entry(self):
        options = ("--perf-basic-prof", "--interpreted-frames-native-stack")
        traced, named, _, _ = self.crash(*options)
        self.note(options, traced, named)
        self.assertIn("price", named)

    def test_what_is_named_without_options_is_nothing_and_nothing_false(self):
        traced, named, sources, _ = self.crash()
        self.note((), traced, named)
        self.assertGreater(len(traced), 3)
        self.assertEqual(named, [])
        self.assertEqual(sources, set())


if __name__ == "__main__":
    harness.main()
