# SPDX-License-Identifier: Apache-2.0
#
# Code that a program compiled while it ran is named by what it tells profilers and
# debuggers: a perf map, a jitdump, GDB's JIT interface; and each frame says by which. Files
# that are not the program's own are not read, and a report without any names is the same.

import json
import os
import shutil
import signal
import subprocess
import unittest

import harness
import python_versions
from harness import Scene

HERE = os.path.dirname(os.path.abspath(__file__))
LUAJITS = list(filter(None, os.environ.get("CRASHHOOK_LUAJIT", "").split(":")
                      if "CRASHHOOK_LUAJIT" in os.environ else [shutil.which("luajit")]))
FOUND = python_versions.Found()


def tearDownModule():
    FOUND.write("LuaJIT", "LuaJIT with")

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
        self.assertLess(report["agent"]["timings_us"]["capture"], 10000000)


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
        self.assertLess(report["agent"]["timings_us"]["unwind"], 10000000)

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


@unittest.skipIf(not LUAJITS, "luajit is not installed")
class LuaJit(unittest.TestCase):
    def crash(self, program):
        with Scene() as scene:
            ended = scene.run([program, os.path.join(HERE, "languages", "traced.lua")])
            self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
            report = scene.reports()[0]
        frames = harness.physical_frames(harness.crashed_thread(report))
        # The function of C, the trace that called it, and what runs traces.
        self.assertIn("strlen", frames[0]["function"])
        self.assertNotIn("image", frames[1])
        self.assertEqual(frames[-1]["function"], "_start")
        return frames

    def test_a_trace_is_named_and_left_by_what_luajit_tells_debuggers_if_it_does(self):
        for program in LUAJITS:
            with open(os.path.realpath(program), "rb") as file:
                tells = b"__jit_debug_descriptor" in file.read()
            with self.subTest(program):
                _, trace, after = self.crash(program)[:3]
                row = "-DLUAJIT_USE_GDBJIT" if tells else "what Debian's has"
                FOUND.note(row, "a trace's name", trace.get("function", "none"))
                FOUND.note(row, "`source`", trace.get("source", ""))
                FOUND.note(row, "the frame after it is found by", after["trust"])
                if tells:
                    self.assertRegex(trace["function"], r"^TRACE_\d+$")
                    self.assertEqual(trace["source"], "gdb-jit")
                    self.assertEqual(after["trust"], "cfi")
                else:
                    self.assertNotIn("function", trace)
                    self.assertNotIn("source", trace)


if __name__ == "__main__":
    harness.main()
