# SPDX-License-Identifier: Apache-2.0
#
# Where and how the report of a crash is printed: CRASHHOOK_OUTPUT, _FORMAT, _REGISTERS,
# _DEMANGLE, _COLOR, _INTERACTIVE, _WARNINGS and _CACHE, and the JSON of Swift's backtracer.

import json
import os
import pty
import re
import select
import signal
import time
import unittest

import harness
from harness import Scene

# The program ends after its report is printed.
HELD = {"CRASHHOOK_PRINT": "tty", "CRASHHOOK_HOLD": "report"}
CRASH = re.compile(r"^null_write: SIGSEGV", re.MULTILINE)
QUESTION = b"Enter: end it > "


class Printing(unittest.TestCase):
    def setUp(self):
        self.scene = Scene()
        self.scene.variables = dict(HELD)

    def tearDown(self):
        self.scene.__exit__()

    def crash(self, name="null_write", **variables):
        ended = self.scene.run([harness.example(name)],
                               **{f"CRASHHOOK_{key}": text for key, text in variables.items()})
        self.assertNotEqual(ended.signal, 0)
        return ended

    def output(self, name="null_write", **variables):
        return self.crash(name, OUTPUT="stdout", **variables).stdout

    def test_a_report_is_printed_on_the_programs_stdout(self):
        ended = self.crash(OUTPUT="stdout")
        self.assertRegex(ended.stdout, CRASH)
        self.assertEqual(ended.complaints(), [])

    def test_a_traced_program_prints_on_its_stdout_too(self):
        self.scene.preload = None
        done = self.scene.command("run", "--via", "trace", "--output", "stdout", "--hold",
                                  "report", "--", harness.example("null_write"))
        self.assertEqual(done.returncode, -signal.SIGSEGV)
        self.assertRegex(done.stdout, CRASH)
        self.assertEqual(done.stderr, "")

    def test_an_output_that_is_set_is_used_off_a_terminal_unless_print_says_no(self):
        self.assertRegex(self.crash(OUTPUT="stderr").stderr, CRASH)
        self.assertEqual(self.crash().stderr, "")
        self.assertEqual(self.output(PRINT="no"), "")

    def test_reports_are_appended_to_a_file(self):
        path = os.path.join(self.scene.folder, "crashes.txt")
        for _ in range(2):
            ended = self.crash(OUTPUT=path)
            self.assertEqual((ended.stdout, ended.stderr), ("", ""))
        with open(path, encoding="utf-8") as file:
            self.assertEqual(len(CRASH.findall(file.read())), 2)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def test_a_folder_gets_a_file_for_each_report(self):
        folder = os.path.join(self.scene.folder, "crashes")
        os.mkdir(folder)
        self.crash(OUTPUT=folder, FORMAT="json")
        self.crash(OUTPUT=folder)
        reports = self.scene.reports()
        names = {report["id"] for report in reports}
        self.assertEqual(sorted(os.listdir(folder)),
                         [f"{name}.{end}" for name, end in zip(sorted(names), ("json", "txt"))])

    def test_a_link_in_place_of_the_file_is_not_followed(self):
        path, log = (os.path.join(self.scene.folder, name) for name in ("link", "log"))
        os.symlink(os.path.join(self.scene.folder, "victim"), path)
        self.crash(OUTPUT=path, LOG=log)
        self.assertFalse(os.path.exists(os.path.join(self.scene.folder, "victim")))
        with open(log, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"cannot print report \S+: Too many levels")

    def test_json_is_the_report_with_every_frame_in_its_place(self):
        printed = json.loads(self.output(FORMAT="json"))
        self.assertEqual(printed, self.scene.reports()[0])

    def test_registers_are_those_of_no_thread_of_one_or_of_all(self):
        counts = {which: self.output("worker_raise", REGISTERS=which, PRESET="full")
                  .count("\nRegisters") for which in ("auto", "none", "crashed", "all")}
        threads = len(self.scene.reports()[0]["threads"])
        self.assertGreater(threads, 1)
        self.assertEqual(counts, {"auto": 1, "none": 0, "crashed": 1, "all": threads})
        self.assertEqual(self.output("worker_raise", REGISTERS="auto").count("\nRegisters"), 0)
        for which, shown in (("crashed", 1), ("none", 0)):
            self.assertEqual(self.output("worker_raise", REGISTERS=which, PRESET="full")
                             .count("\nWhat registers point to"), shown)

    def test_names_are_printed_as_linkers_have_them(self):
        self.assertNotIn(" _Z", self.output("uncaught"))
        self.assertRegex(self.output("uncaught", DEMANGLE="no"), r"\n +\d+  _Z\w+ at \S+:\d+")

    def test_colours_are_printed_off_a_terminal_if_they_are_asked_for(self):
        self.assertNotIn("\033", self.output())
        self.assertIn("\033[0;1;31mSIGSEGV", self.output(COLOR="yes"))

    def test_warnings_can_be_suppressed(self):
        wrong = {"CRASHHOOK_LIMIT": "many", "CRASHHOOK_LIMITS": "1"}
        self.scene.variables.update(wrong)
        self.assertEqual(len(self.crash().complaints()), 2)
        self.assertEqual(self.crash(WARNINGS="no").complaints(), [])

    def test_run_takes_the_form_and_the_cache_as_options_of_their_names(self):
        folder = os.path.join(self.scene.folder, "cache")
        self.scene.preload = ""

        def run(form, *program):
            return self.scene.command("run", "--print", "yes", "--format", form, "--cache", "no",
                                      "--", *program, XDG_CACHE_HOME=folder)
        printed = run("json", harness.example("null_write")).stderr
        self.assertEqual(json.loads(printed[printed.index("{"):])["crash"]["name"], "SIGSEGV")
        self.assertFalse(os.path.exists(folder))
        done = run("xml", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("run: --format 'xml' is not understood: it takes text or json",
                      done.stderr)
        # Other commands have a format of their own.
        self.assertEqual(self.scene.command("show", "--format", "markdown").stderr, "")

    def test_no_symbol_cache_is_written_without_caches(self):
        caches = {cache: os.path.join(self.scene.folder, cache) for cache in ("no", "yes")}
        for cache, folder in caches.items():
            self.scene.run([harness.example("null_write")], XDG_CACHE_HOME=folder,
                           CRASHHOOK_CACHE=cache)
        harness.wait_for(lambda: os.path.isdir(caches["yes"]))
        self.assertFalse(os.path.exists(caches["no"]))


class OnATerminal(unittest.TestCase):
    """A program in the foreground of a terminal, whose user answers."""

    def run_there(self, answers, background=False, **variables):
        with Scene() as scene:
            environment = scene.environment(
                {"CRASHHOOK_PRINT": "no", "CRASHHOOK_INTERACTIVE": "yes", **variables})
            child, terminal = pty.fork()
            if child == 0:
                if background and (inner := os.fork()):
                    os.waitpid(inner, 0)
                    os.kill(os.getpid(), signal.SIGSEGV)
                if background:
                    os.setpgid(0, 0)
                os.execve(harness.example("null_write"), ["null_write"], environment)
            return self.talk(child, terminal, list(answers))

    def talk(self, child, terminal, answers):
        said, asked, deadline = b"", 0, time.monotonic() + 60
        while time.monotonic() < deadline:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                said += os.read(terminal, 65536)
            except OSError:  # the last process that had the terminal has ended
                break
            if said.count(QUESTION) > asked:
                asked += 1
                if answers:
                    os.kill(child, 0)  # it is held
                    os.write(terminal, answers.pop(0))
        os.close(terminal)
        status = os.waitpid(child, 0)[1]
        self.assertEqual(os.WTERMSIG(status), signal.SIGSEGV)
        return said.decode(), asked

    def test_the_user_chooses_what_is_shown(self):
        said, asked = self.run_there((b"s\n", b"r\n", b"?\n", b"\n"))
        self.assertEqual(asked, 4)
        self.assertEqual(len(re.findall("null_write: .*SIGSEGV", said)), 2)
        self.assertEqual(said.count("Registers of thread"), 1)

    def test_nobody_who_answers_ends_the_program_within_its_time(self):
        began = time.monotonic()
        said, asked = self.run_there((), CRASHHOOK_TIMEOUT="2s")
        self.assertEqual(asked, 1, said)
        self.assertLess(time.monotonic() - began, 20)

    def test_nobody_is_asked_unless_that_is_set(self):
        self.assertEqual(self.run_there((), CRASHHOOK_INTERACTIVE="no")[1], 0)

    def test_nobody_is_asked_about_a_program_in_the_background(self):
        self.assertEqual(self.run_there((), background=True)[1], 0)


class SwiftJson(unittest.TestCase):
    def test_a_report_is_shown_as_a_crash_log_of_swift(self):
        with Scene() as scene:
            scene.run([harness.example("worker_raise")])
            report, = scene.reports()
            done = scene.command("show", "--format", "swift-json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            log = json.loads(done.stdout)
            one = json.loads(scene.command("show", "--format", "swift-json", "--threads",
                                           "crashed").stdout)
        system = f"Linux ({report['host']['os']})"
        self.assertEqual((log["kind"], log["platform"], log["timestamp"]),
                         ("crashReport", system, report["time"]))
        self.assertEqual(len(log["threads"]), len(report["threads"]))
        self.assertEqual(one["omittedThreads"], len(report["threads"]) - 1)
        crashed, = [thread for thread in log["threads"] if thread.get("crashed")]
        self.assertEqual(crashed, one["threads"][0])
        ours = harness.frames_of(harness.crashed_thread(report))
        self.assertEqual([int(frame["address"], 16) for frame in crashed["frames"]],
                         [int(frame["address"], 16) for frame in ours])
        self.assertEqual(crashed["frames"][0]["kind"], "programCounter")
        self.assertEqual({frame["kind"] for frame in crashed["frames"][1:]}, {"returnAddress"})
        place = next(frame for frame in crashed["frames"] if "sourceLocation" in frame
                     and frame["sourceLocation"]["file"].endswith("worker_raise.c"))
        self.assertTrue({"symbol", "offset", "description", "image"} <= set(place), place)
        self.assertNotIn("system", place)
        for address in (log["faultAddress"], *crashed["registers"].values(),
                        *(image["baseAddress"] for image in log["images"])):
            self.assertRegex(address, "^0x[0-9a-f]{16}$")
        self.assertEqual([image.get("buildId") for image in log["images"]],
                         [image.get("build_id") for image in report["images"]])


if __name__ == "__main__":
    harness.main()
