# SPDX-License-Identifier: Apache-2.0
#
# The frames of JavaScript in a report are those that node itself shows at the same place,
# with file and line: interpreted ones, those of compiled code with what was inlined into
# it, and functions that are built in; without that node was told to write anything for
# profilers, and from a core.
#
# With CRASHHOOK_LANGUAGES=docs/reference/languages.md it writes the table of that page. With
# CRASHHOOK_NODE it is about another node than the one of PATH.

import json
import os
import re
import shutil
import signal
import unittest

import harness
import python_versions
from harness import Scene

HERE = os.path.dirname(os.path.abspath(__file__))
NODE = os.environ.get("CRASHHOOK_NODE") or shutil.which("node")
FOUND = python_versions.Found()
BUILT_IN = ("reduce", "next", "parse", "replace", "sort")

# How node runs the program, and how often before it crashes.
WAYS = {
    "no options": ((), 0),
    "--no-concurrent-recompilation, warm": (("--no-concurrent-recompilation",), 20000),
    "--always-sparkplug --no-opt": (("--always-sparkplug", "--no-opt"), 0),
    "--interpreted-frames-native-stack": (("--interpreted-frames-native-stack",), 0),
    "--jitless": (("--jitless",), 0),
    "--perf-basic-prof": (("--perf-basic-prof",), 0),
}


def tearDownModule():
    FOUND.write("JavaScript", "node with")


class Traced:
    """A line of node's trace: `at new Shop (file:1:2)`, `at file:1:2`, `at Array.map (...)`."""
    LINE = re.compile(r"^    at (?:(?P<name>.*) \((?P<place>.*)\)|(?P<alone>\S+:\d+:\d+))$")
    PLACE = re.compile(r"(?P<file>.*):(?P<line>\d+):\d+")

    def __init__(self, line):
        found = self.LINE.match(line)
        name = re.sub(r" \[as .*\]$", "", found["name"] or "")
        name = re.sub(r"^(new|async|get|set) ", "", name).split(".")[-1]
        place = self.PLACE.fullmatch(found["place"] or found["alone"])
        self.name = name if name not in ("", "<anonymous>") else "(anonymous)"
        self.file = place["file"] if place else None
        self.line = int(place["line"]) if place else None
        if self.file and self.file.endswith("<anonymous>"):
            self.file = None  # of code that eval made
            self.line = None
            self.name = "(anonymous)"

    def parts(self):
        return self.name, self.file, self.line


def of_javascript(report):
    """The frames of JavaScript, as the trace has them."""
    return [(re.sub(r"^(get|set) ", "", f["function"].split(".")[-1]), f.get("file"), f.get("line"))
            for f in harness.frames_of(harness.crashed_thread(report))
            if f.get("language") == "javascript"]


@unittest.skipIf(NODE is None, "node is not installed")
class Node(unittest.TestCase):
    maxDiff = None

    def crash(self, scene, options=(), how="trace", rounds=0, **run):
        ended = scene.run([NODE, *options, os.path.join(HERE, "languages", "mixed.js"),
                           harness.program("addon.node"), how, str(rounds)],
                          CRASHHOOK_LIMIT="none", **run)
        self.addCleanup(lambda: os.path.exists(f"/tmp/perf-{ended.pid}.map")
                        and os.unlink(f"/tmp/perf-{ended.pid}.map"))
        self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
        self.assertLess(ended.seconds, 60)
        reports = scene.reports()
        self.assertEqual(len(reports), 1, ended.stderr)
        return ended, reports[0]

    def traced(self, ended):
        return [Traced(line).parts() for line in ended.stdout.splitlines()
                if line.startswith("    at ")]

    def test_each_frame_is_the_one_that_node_shows(self):
        for row, (options, rounds) in WAYS.items():
            with self.subTest(row), Scene() as scene:
                ended, report = self.crash(scene, options, rounds=rounds)
                theirs = self.traced(ended)
                mine = of_javascript(report)
                # The trace was made before C was called.
                self.assertEqual(mine[0][:2], ("crash", None))
                if rounds:
                    # Of functions that are built in, the compiler leaves nothing.
                    theirs = [frame for frame in theirs if frame[0] not in BUILT_IN]
                    mine = [frame for frame in mine if frame[0] not in BUILT_IN]
                self.assertEqual(mine[1:], theirs)
                self.assertGreater(len(theirs), 30)
                self.assertEqual(report["problems"], [])
                FOUND.note(row, "frames in node's own trace", len(theirs))
                FOUND.note(row, "of them equal, with file and line", len(mine) - 1)
                FOUND.note(row, "with file, but no line, where node made no trace",
                           self.without_trace(options, rounds))

    def without_trace(self, options, rounds):
        """How many of the program's functions have no line where node has not looked at
        their tables itself; each has its name and file."""
        with Scene() as scene:
            ended, report = self.crash(scene, options, "silent", rounds)
        self.assertEqual(self.traced(ended), [])
        own = [frame for frame in of_javascript(report) if frame[1] and "mixed.js" in frame[1]]
        self.assertGreater(len(own), 20)
        return f"{sum(frame[2] is None for frame in own)} of {len(own)}"

    def test_they_stand_among_the_native_frames(self):
        with Scene() as scene:
            _, report = self.crash(scene)
            shown = scene.command("show", scene.report_paths()[0]).stdout
        frames = harness.frames_of(harness.crashed_thread(report))
        names = [frame.get("function") for frame in frames]
        self.assertEqual(names[0], "addon_crash")
        self.assertRegex(report["title"], "^null pointer in addon_crash")
        self.assertLess(names.index("addon_crash"), names.index("crash"))
        self.assertEqual({f["source"] for f in frames if f.get("language") == "javascript"},
                         {"v8dbg"})
        inner = names.index("価格")
        self.assertTrue(frames[inner]["inline"])
        self.assertIn("image", frames[inner + 1])  # V8's function that ran it
        self.assertRegex(shown, r"価格 \[JavaScript\] at .*mixed.js:44")
        self.assertIn("__libc_start_call_main", names)

    def test_the_innermost_function_of_the_program_gives_the_group_and_the_title(self):
        with Scene() as scene:
            ended = scene.run([NODE, os.path.join(HERE, "languages", "stack.js")])
            self.assertEqual(ended.signal, signal.SIGABRT, ended.stderr)
            report = scene.reports()[0]
        self.assertRegex(report["title"], r"^abort in price \(stack.js\)")

    def test_a_loop_that_went_over_to_other_code_has_its_line(self):
        source = os.path.join(HERE, "languages", "loop.js")
        for options in ((), ("--no-concurrent-recompilation",), ("--no-opt",)):
            with self.subTest(options=options), Scene() as scene:
                ended = scene.run([NODE, *options, source, harness.program("addon.node")])
                self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
                mine = of_javascript(scene.reports()[0])
                # Optimized code calls C without a frame that has the function called.
                self.assertEqual([frame for frame in mine if frame[0] != "later"][0],
                                 ("loop", source, harness.crash_line(source)))

    def test_a_core_has_the_same_frames(self):
        if not harness.cores_land_in_folder():
            self.skipTest("core_pattern cannot be set")
        with Scene() as scene:
            ended, live = self.crash(scene, core=True)
            core = scene.core(ended.pid)
            self.assertIsNotNone(core, ended.stderr)
            done = scene.command("core", core, "--json", CRASHHOOK_LIMIT="none",
                                 CRASHHOOK_SYMBOLIZE="off")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(of_javascript(json.loads(done.stdout)), of_javascript(live))


class NotV8(unittest.TestCase):
    def test_metadata_of_an_unknown_version_is_said_and_the_native_frames_are_there(self):
        with Scene() as scene:
            ended = scene.run([harness.program("not_v8")])
            self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
            report = scene.reports()[0]
        self.assertEqual(report["problems"],
                         [{"stage": "javascript", "status": "an unknown version"}])
        self.assertEqual(harness.names_of(harness.crashed_thread(report))[0], "not_v8_crash")


if __name__ == "__main__":
    harness.main()
