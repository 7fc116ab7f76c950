# SPDX-License-Identifier: Apache-2.0
#
# The Python frames of a report are those that Python itself shows, with file and line and
# in their place, for every version that is installed: at stops on random paths of calls,
# generators, coroutines, threads and deep recursion; in a crash inside of C and at random
# moments; and from cores.
#
# With CRASHHOOK_LANGUAGES=docs/reference/languages.md it writes the table of that page.

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import unittest

import jsonschema

import harness
import python_versions
from harness import FULL, Scene

SEED = harness.SEED
STOPS = int(os.environ.get("CRASHHOOK_STOPS", "200" if FULL else "2"))
SIGNALS = 100 if FULL else 1
KINDS = ("calls", "generators", "coroutines", "threads", "recursion")
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHONS = python_versions.installed()
FOUND = python_versions.Found()


def tearDownModule():
    FOUND.write("Python", "version")


def schema(name):
    with open(os.path.join(harness.SOURCE, "docs", name), encoding="utf-8") as file:
        return json.load(file)


def script(name):
    return os.path.join(HERE, "languages", name)


class Stops(unittest.TestCase):
    """Live processes, at random stops."""

    def compare(self, report, expected):
        """Compares all threads; the innermost frame of the one that stopped has gone on."""
        seen = {thread["tid"]: python_versions.frames(thread) for thread in report["threads"]}
        compared = 0
        for tid, stack in expected.items():
            stack = [tuple(frame) for frame in stack]
            found = seen[int(tid)]
            names = [frame[0] for frame in stack]
            if "stacks" in names:
                stack = stack[names.index("stacks") + 2:]
                self.assertEqual(found[0][0], "stop")
                found = found[1:]
            self.assertEqual(found, stack)
            compared += len(stack)
        return compared

    def stop_often(self, scene, python, kind):
        program = subprocess.Popen(
            [python, script("stops.py"), kind, str(SEED), str(STOPS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        compared = 0
        try:
            for _ in range(STOPS):
                expected = json.loads(program.stdout.readline())
                done = scene.command("attach", str(program.pid), "--json",
                                     CRASHHOOK_LIMIT="none", CRASHHOOK_SYMBOLIZE="off")
                self.assertEqual(done.returncode, 0, done.stderr)
                report = json.loads(done.stdout)
                self.assertEqual(report["problems"], [])
                compared += self.compare(report, expected)
                program.stdin.write(b".")
                program.stdin.flush()
            _, said = program.communicate(timeout=60)
        finally:
            program.kill()
            program.communicate()
        self.assertEqual(program.returncode, 0, said)
        return compared

    def test_every_thread_has_the_frames_that_python_shows(self):
        self.assertTrue(PYTHONS)
        for _, python in PYTHONS:
            compared = 0
            for kind in KINDS:
                with self.subTest(python=python, kind=kind, seed=SEED), Scene() as scene:
                    compared += self.stop_often(scene, python, kind)
            self.assertGreater(compared, STOPS * len(KINDS))
            row = python_versions.full_version(python)
            FOUND.note(row, "stops of live processes", f"{STOPS * len(KINDS)} of {STOPS * len(KINDS)}")
            FOUND.note(row, "frames equal to traceback's", compared)
        print(f"{len(PYTHONS)} interpreters, {len(PYTHONS) * len(KINDS) * STOPS} stops, "
              f"seed {SEED}", file=sys.stderr)


def crash(scene, python, name, *arguments, **variables):
    """How a script of Python ended under the handler, and its one report."""
    ended = scene.run([python, script(name), *arguments], **variables)
    reports = scene.reports()
    assert len(reports) == 1, (len(reports), ended.stderr)
    jsonschema.validate(reports[0], schema("report-1.schema.json"))
    with open(scene.report_paths()[0], encoding="utf-8") as file:
        jsonschema.validate(json.load(file), schema("report.schema.json"))
    return ended, reports[0]


def marked_line(name, mark):
    with open(script(name), encoding="utf-8") as file:
        lines = [number for number, line in enumerate(file, 1) if mark in line]
    assert len(lines) == 1, (name, mark)
    return lines[0]


class Crashes(unittest.TestCase):
    def with_each_python(self, check):
        """Calls check with the version, the path and a scene for each interpreter."""
        for version, python in PYTHONS:
            with self.subTest(python=python), Scene() as scene:
                check(version, python, scene)

    def crash_here(self, scene, python, how, **variables):
        variables.setdefault("CRASHHOOK_SYMBOLIZE", "fast")
        ended, report = crash(scene, python, "crashes.py", how, **variables)
        self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
        self.assertLess(ended.seconds, 20)
        return report

    def test_a_crash_in_c_has_its_callers_in_python_between_the_native_frames(self):
        def check(_version, python, scene):
            report = self.crash_here(scene, python, "shop")
            thread = harness.crashed_thread(report)
            lines = [(name, line) for name, file, line in python_versions.frames(thread)
                     if file == script("crashes.py")]
            self.assertEqual([name for name, _ in lines],
                             ["total", "articles", "main", "<module>"])
            self.assertEqual(lines[0][1], marked_line("crashes.py", "crashes here: shop"))
            frames = harness.frames_of(thread)
            first = next(i for i, f in enumerate(frames) if f.get("language") == "python")
            self.assertGreater(first, 2, "C called by Python stands before it")
            self.assertRegex(frames[0].get("function", "strlen"), "strlen")
            after = [f for f in frames[first:] if "language" not in f]
            self.assertRegex(after[0].get("function", "_PyEval_EvalFrame"),
                             "_PyEval_EvalFrame")
            for frame in frames:
                if frame.get("language") == "python":
                    self.assertEqual(frame["source"], "interpreter")
                    self.assertTrue(frame["inline"])
            FOUND.note(python_versions.full_version(python), "crash in C", "named")

        self.with_each_python(check)

    def test_the_exception_that_is_being_handled_is_in_the_report(self):
        def check(version, python, scene):
            thread = harness.crashed_thread(self.crash_here(scene, python, "shop"))
            self.assertEqual(thread["exception"],
                             {"language": "python", "type": "KeyError",
                              "what": "no such article", "handled": True})
            FOUND.note(python_versions.full_version(python), "exception", "named")

        self.with_each_python(check)

    def test_group_and_title_are_of_the_python_function(self):
        keys = {}

        def check(_version, python, scene):
            if python in python_versions.NAMED:
                return  # its libraries lie where those of programs do
            keys[python] = self.crash_here(scene, python, "shop")
            self.assertIn("total", keys[python]["title"])
            self.assertIn("(crashes.py)", keys[python]["title"])

        self.with_each_python(check)
        python = next(iter(keys))
        for how, function in (("other", "total"), ("name", "name"), ("map", "within_call")):
            with self.subTest(how=how), Scene() as scene:
                report = self.crash_here(scene, python, how)
                self.assertIn(function, report["title"])
                same = report["fingerprint2"] == keys[python]["fingerprint2"]
                self.assertEqual(same, how == "other")

    def test_of_deep_recursion_the_middle_is_left_out_and_counted(self):
        def check(version, python, scene):
            report = self.crash_here(scene, python, "deep", CRASHHOOK_LIMIT="20",
                                     CRASHHOOK_TOP="5")
            frames = harness.crashed_thread(report)["backtrace"]["frames"]
            names = [f for f in frames if f.get("language") == "python"]
            left_out = sum(f.get("omitted", 0) for f in names)
            self.assertRegex(names[0]["function"], "string_at$")
            if version >= (3, 11):
                self.assertEqual(len(names) + left_out, 205)
                self.assertEqual(names[-1]["function"], "<module>")

        self.with_each_python(check)

    def test_a_library_that_python_called_is_named_before_python(self):
        def check(_version, python, scene):
            _, report = crash(scene, python, "ruins.py", "0", harness.program("ruins.so"))
            self.assertRegex(report["title"], "^null pointer in ruin_and_crash")
            names = [f.get("function") for f in
                     harness.frames_of(harness.crashed_thread(report))]
            self.assertEqual(names[0], "ruin_and_crash")
            self.assertIn("main", names)

        self.with_each_python(check)

    def test_the_text_of_a_report_shows_both_languages(self):
        with Scene() as scene:
            self.crash_here(scene, sys.executable, "shop")
            path = scene.report_paths()[0]
            shown = scene.command("show", path).stdout
            envelope = scene.command("export", "--format", "sentry", path).stdout
            event = [line for line in envelope.splitlines() if '"stacktrace"' in line]
            otlp = scene.command("export", "--format", "otlp", path).stdout
        line = marked_line("crashes.py", "crashes here: shop")
        self.assertRegex(shown, rf"total \[Python\] at \S*crashes.py:{line}")
        self.assertIn("Python exception being handled: KeyError: no such article", shown)
        self.assertRegex(shown, "strlen")
        self.assertRegex(otlp, rf"total at \S*crashes.py:{line} \[Python\]")
        frames = json.loads(event[0])["exception"]["values"][0]["stacktrace"]["frames"]
        mine = [f for f in frames if f.get("platform") == "python"]
        self.assertEqual(mine[0]["function"], "<module>")
        self.assertNotIn("instruction_addr", mine[0])
        self.assertTrue(mine[0]["in_app"])
        self.assertTrue(any("instruction_addr" in f and "platform" not in f for f in frames))

    def test_the_page_of_a_report_shows_both_languages(self):
        with Scene() as scene:
            self.crash_here(scene, sys.executable, "shop")
            page = scene.page(scene.report_paths()[0])
        self.assertIn('title="Run by the interpreter&#39;s function below">Python</span>', page)
        self.assertIn("Python exception being handled: KeyError: no such article", page)
        self.assertIn("Shop.total", page)
        self.assertIn("strlen", page)

    def test_a_core_has_the_same_frames(self):
        if not harness.cores_land_in_folder():
            self.skipTest("core_pattern cannot be set")
        def check(_version, python, scene):
            ended, live = crash(scene, python, "crashes.py", "shop", core=True)
            core = scene.core(ended.pid)
            self.assertIsNotNone(core, ended.stderr)
            done = scene.command("core", core, "--json", CRASHHOOK_SYMBOLIZE="off")
            self.assertEqual(done.returncode, 0, done.stderr)
            dead = json.loads(done.stdout)
            self.assertEqual(python_versions.frames(harness.crashed_thread(dead)),
                             python_versions.frames(harness.crashed_thread(live)))
            FOUND.note(python_versions.full_version(python), "core", "the same")

        self.with_each_python(check)

    def test_at_a_random_signal_the_frames_are_faulthandlers(self):
        rng = random.Random(SEED)
        line = re.compile(r'  File "(.*)", line (\d+|\?\?\?) in (.*)')
        def check(version, python, scene):
            for _ in range(SIGNALS):
                scene.variables["CRASHHOOK_LIMIT"] = "none"
                scene.variables["CRASHHOOK_SYMBOLIZE"] = "off"
                process = scene.start([python, "-X", "faulthandler", script("busy.py")])
                process.stdout.readline()
                time.sleep(rng.random() / 10)
                process.send_signal(signal.SIGSEGV)
                _, said = process.communicate(timeout=60)
                shown = [match.groups() for match in map(line.fullmatch,
                                                         said.decode().splitlines()) if match]
                report = scene.reports()[-1]
                found = [(file, str(where) if where else "???", name) for name, file, where in
                         python_versions.frames(harness.crashed_thread(report))]
                self.assertEqual(found, shown)
                self.assertGreater(len(found), 1)
            FOUND.note(python_versions.full_version(python), "signals, equal to faulthandler's",
                       f"{SIGNALS} of {SIGNALS}")

        self.with_each_python(check)


if __name__ == "__main__":
    harness.main()
