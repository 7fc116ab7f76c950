# SPDX-License-Identifier: Apache-2.0
#
# Watched objects and the flight record where no handler tells of them: of a process that
# is attached to, and of cores. The notes that lead to them are in libraries and in static
# programs, stripped or not, and in programs that lie in them.

import contextlib
import json
import os
import signal
import subprocess
import unittest

import harness
from harness import Scene
from place import not_for_others

PROGRAM = os.path.join(harness.SOURCE, "tests", "integration", "programs", "watched_waits.c")
LIB = os.path.join(harness.BUILD, "lib")
SHARED = ["-L", LIB, "-Wl,--no-as-needed", "-lcrashhook", "-lcrashhook-flight",
          f"-Wl,-rpath,{LIB}"]
STATIC = [os.path.join(LIB, "libcrashhook.a"), os.path.join(LIB, "libcrashhook-flight.a"),
          "-static"]
QUEUES = {"length": 3, "owner": "first", "next": {"length": 5, "owner": "second",
                                                  "next": None}}


def plain(value):
    """A watched value without the addresses."""
    if isinstance(value, dict) and "address" in value:
        value = value.get("value")
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


class PlaceScene(Scene):
    def __init__(self):
        super().__init__()
        self.preload = None

    def compile(self, *options, types="-g"):
        path = os.path.join(self.folder, "waits")
        subprocess.run(["gcc", "-O1", types, "-fno-optimize-sibling-calls",
                        "-finstrument-functions", "-I", os.path.join(harness.SOURCE, "include"),
                        PROGRAM, *options, "-o", path], check=True)
        return path

    @contextlib.contextmanager
    def waiting(self, path, *arguments, core=False, **variables):
        """The program, as far as it goes by itself."""
        process = self.start([path, *arguments], core, **{"CRASHHOOK_FLIGHT": "64K",
                                                          **variables})
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()
            process.communicate()

    def report(self, *command):
        done = self.command(*command, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def attach(self, path, *arguments, **variables):
        with self.waiting(path, *arguments, **variables) as process:
            report = self.report("attach", str(process.pid))
            assert process.poll() is None
        return report

    def gcore(self, path):
        """The core that gdb makes of the waiting program, or None."""
        with self.waiting(path) as process:
            core = os.path.join(self.folder, "gcore")
            subprocess.run(["gdb", "-q", "-nx", "-batch", "-p", str(process.pid), "-ex",
                            f"generate-core-file {core}"], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return core if os.path.exists(core) else None

    def kernel_core(self, path):
        with self.waiting(path, core=True) as process:
            process.send_signal(signal.SIGABRT)
            process.wait()
            return self.core(process.pid)


class Places(unittest.TestCase):
    def check_watches(self, report):
        watch, = report["watches"]
        self.assertEqual((watch["name"], watch["type"]), ("queues", "struct queue"))
        self.assertEqual(plain(watch["value"]), QUEUES)

    def check_flight(self, report):
        self.assertEqual(report["problems"], [])
        thread, = report["flight"]["threads"]
        self.assertEqual(thread["tid"], report["threads"][0]["tid"])
        self.assertEqual(thread["open_calls"], ["main", "serve", "wait_for_signal"])
        self.assertEqual(thread["open_on_stack"], 3)
        events = [(e["action"], e["function"]) for e in thread["events"]]
        self.assertEqual(events, [("enter", "main"), ("enter", "serve")] +
                         [("enter", "count"), ("exit", "count")] * 20 +
                         [("enter", "wait_for_signal")])
        times = [e["t_ns"] for e in thread["events"]]
        self.assertEqual(times, sorted(times))
        self.assertGreater(times[0], -60 * 10**9)
        return times[-1]

    def check_valid(self, report):
        import jsonschema
        with open(os.path.join(harness.SOURCE, "docs/report-1.schema.json"),
                  encoding="utf-8") as file:
            jsonschema.validate(report, json.load(file))

    def check_both(self, report):
        self.check_watches(report)
        self.check_valid(report)
        return self.check_flight(report)

    def test_a_live_process_shows_watched_objects_and_last_calls(self):
        with PlaceScene() as scene:
            report = scene.attach(scene.compile(*SHARED))
            self.assertNotIn("crash", report)
            self.assertLess(self.check_both(report), 0)

    def test_a_static_program_shows_them_without_symbols(self):
        with PlaceScene() as scene:
            path = scene.compile(*STATIC, "-Wl,--gc-sections", types="-gctf")
            subprocess.run(["strip", path], check=True)
            report = scene.attach(path)
            self.check_watches(report)
            thread, = report["flight"]["threads"]
            self.assertEqual(len(thread["open"]), 3)
            self.assertEqual(len(thread["events"]), 43)

    def test_a_core_that_gdb_made_shows_them(self):
        for options in SHARED, STATIC:
            with PlaceScene() as scene:
                path = scene.compile(*options)
                core = scene.gcore(path)
                if core is None:
                    self.skipTest("gdb cannot attach here")
                # Times of a core count from its newest record.
                self.assertEqual(self.check_both(scene.report("core", core)), 0)

    def test_a_core_of_the_kernel_shows_them(self):
        if not harness.cores_land_in_folder():
            self.skipTest("cores do not land in a folder here")
        for options in SHARED, STATIC:
            with PlaceScene() as scene:
                core = scene.kernel_core(scene.compile(*options))
                report = scene.report("core", core)
                self.assertEqual(report["crash"]["name"], "SIGABRT")
                self.assertEqual(self.check_both(report), 0)

    def test_a_core_that_is_stored_has_them_too(self):
        # A root's core is read as a user that owns nothing.
        if os.geteuid() == 0 and not_for_others(harness.BUILD):
            self.skipTest(f"nobody may not read the build: {not_for_others(harness.BUILD)}")
        with PlaceScene() as scene:
            os.chmod(scene.folder, 0o755)
            core = scene.gcore(scene.compile(*SHARED))
            if core is None:
                self.skipTest("gdb cannot attach here")
            with open(core, "rb") as file:
                subprocess.run([harness.CRASHHOOK, "core", "-", "--store", "--spool",
                                scene.spool], stdin=file, check=True, env=scene.environment({}))
            report, = scene.reports()
            self.assertEqual(self.check_both(report), 0)
            frames = report["threads"][0]["backtrace"]["frames"]
            serve, = [f for f in frames if f.get("function") == "serve"]
            self.assertEqual([a["name"] for a in serve["arguments"]], ["number"])

    def test_a_report_that_the_program_asks_for_has_them_too(self):
        with PlaceScene() as scene:
            with scene.waiting(scene.compile(*SHARED), "report"):
                report, = scene.reports()
            self.assertNotIn("crash", report)
            self.assertLess(self.check_both(report), 0)

    def test_a_recorder_that_was_not_started_has_no_record(self):
        with PlaceScene() as scene:
            report = scene.attach(scene.compile(*SHARED), CRASHHOOK_FLIGHT="no")
            self.check_watches(report)
            self.assertNotIn("flight", report)
            self.assertEqual(report["problems"], [])

    def test_notes_that_lie_are_problems_and_nothing_else(self):
        for lie, said in (("nowhere", "what its note tells of is outside of its image"),
                          ("version", "what its note tells of is of another version"),
                          ("huge", "what its note tells of is of another version")):
            with PlaceScene() as scene:
                report = scene.attach(scene.compile(*SHARED), lie)
                self.check_valid(report)
                self.assertNotIn("watches", report)
                self.assertNotIn("flight", report)
                self.assertEqual([(p["stage"], p["status"]) for p in report["problems"]],
                                 [("context", said), ("watch", said), ("flight", said)])

    def test_a_table_that_was_overwritten_costs_its_objects_alone(self):
        with PlaceScene() as scene:
            report = scene.attach(scene.compile(*SHARED), "table")
            self.check_valid(report)
            self.assertNotIn("watches", report)
            self.assertNotIn("flight", report)
            self.assertIn("its size is impossible", [p["status"] for p in report["problems"]])
            functions = [f.get("function") for f in
                         report["threads"][0]["backtrace"]["frames"]]
            self.assertIn("wait_for_signal", functions)


if __name__ == "__main__":
    harness.main()
