# SPDX-License-Identifier: Apache-2.0
#
# What a report knows is shown wherever it is read: in the terminal, on the collector's
# page, in Sentry's event and in the log record of OpenTelemetry. Looked for are the stack
# that an exception was thrown with, who waits for whom, local variables, the variable at
# fault and where its value came from.

import contextlib
import json
import os
import re
import shutil
import signal
import sys
import unittest

import harness
from harness import Scene, wait_for

TESTS = os.path.join(harness.SOURCE, "tests")
sys.path += [os.path.join(TESTS, "collector"), os.path.join(TESTS, "upload")]

import bodies
import sample_reports
from browser import Browser
from running import Collector
from test_deadlocks import wait_until_blocked
from test_kills import child_of, first_sample, lives

PHONE, WIDE = (360, 740), (1200, 1000)
LOCK = "(ledger|journal)"
THROWS = "def find_page(pages): return pages['7']\n\nfind_page({})"
KILLED = "Killed by SIGKILL, which a process sent"
CURVE = r"\d+ to \d+ MB, at most \d+ MB.* in the last \d+\.\d s"


def plain(page):
    """The words of a page, without its markup."""
    words = re.sub(rb"<[^>]*>", b" ", page).decode()
    for entity, character in (("&gt;", ">"), ("&lt;", "<"), ("&quot;", '"'),
                              ("&#39;", "'"), ("&amp;", "&")):
        words = words.replace(entity, character)
    return re.sub(r"\s+", " ", words)


class Outputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scenes = contextlib.ExitStack()
        cls.paths = {"thrown": cls.throw(), "waits": cls.lock(), "value": cls.cut(),
                     "killed": cls.kill(), "exited": cls.exit()}

    @classmethod
    def tearDownClass(cls):
        cls.scenes.close()

    @classmethod
    def scene(cls):
        cls.last = cls.scenes.enter_context(Scene())
        cls.last.variables["CRASHHOOK_ARGUMENTS"] = "yes"
        return cls.last

    @classmethod
    def only_report(cls, scene):
        scene.reports()
        paths = scene.report_paths()
        assert len(paths) == 1, paths
        return paths[0]

    @classmethod
    def throw(cls):
        """An exception that one thread threw and another could not catch."""
        scene = cls.scene()
        scene.preload = None
        done = scene.command("run", "--via", "preload", "--throws", "yes", "--",
                             harness.program("rethrows"), "kept")
        assert done.returncode == -signal.SIGABRT, done.stderr
        return cls.only_report(scene)

    @classmethod
    def lock(cls):
        """Two threads that wait for each other."""
        scene = cls.scene()
        process = scene.start([harness.program("deadlocks"), "mutex"])
        process.stdout.readline()
        wait_until_blocked(process, 3)
        process.send_signal(signal.SIGABRT)
        process.communicate(timeout=60)
        return cls.only_report(scene)

    @classmethod
    def cut(cls):
        """A pointer that was cut to 32 bits, in a function with a local variable."""
        scene = cls.scene()
        ended = scene.run([harness.program("bad_values_O0"), "cut"])
        assert ended.signal == signal.SIGSEGV, ended.stderr
        return cls.only_report(scene)

    @classmethod
    def kill(cls):
        """A program that somebody killed, after it was looked at for a while."""
        scene = cls.scene()
        scene.preload = None
        process = scene.start([harness.CRASHHOOK, "run", "--", harness.program("lives"), "waits"])
        process.stdout.readline()
        life = os.path.join(scene.spool, wait_for(lambda: lives(scene))[0])
        wait_for(lambda: first_sample(life, process.pid) != 0)
        program = child_of(process)
        os.kill(program, signal.SIGKILL)
        process.communicate(timeout=60)
        return cls.only_report(scene)

    @classmethod
    def exit(cls):
        """A program that an exception ended."""
        scene = cls.scene()
        scene.preload = None
        done = scene.command("run", "--stderr-tail", "--", "/usr/bin/python3", "-c", THROWS)
        assert done.returncode == 1, done.stderr
        return cls.only_report(scene)

    def export(self, form, name):
        done = self.last.command("export", "--format", form, self.paths[name])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.encode()

    def test_a_terminal_shows_it_all(self):
        said = {}
        for name, path in self.paths.items():
            done = self.last.command("show", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            said[name] = done.stdout
        self.assertRegex(said["thrown"], r"Thrown here, by thread \d+:\n   0  find_page")
        self.assertRegex(said["waits"], rf"Deadlock: thread \d+ '\w+' holds {LOCK}")
        self.assertRegex(said["waits"], rf"Waiting:\n  Thread .* waits for {LOCK}, which thread")
        self.assertRegex(said["value"], r"entry = 0x[0-9a-f]+")
        self.assertRegex(said["value"], r"`kept` is 0x[0-9a-f]+; rax is the lower half of a "
                                        r"pointer")
        self.assertIn(KILLED, said["killed"])
        self.assertRegex(said["killed"], rf"\nMemory +{CURVE}")
        self.assertIn("KeyError: '7'", said["exited"])
        self.assertRegex(said["exited"], r"\nStandard error:\n  Traceback[^$]*in find_page\n")

    def test_the_page_shows_it_all(self):
        pages = {}
        with Collector(harness.COLLECTOR) as collector:
            for name, path in self.paths.items():
                with open(path, "rb") as file:
                    status, answer = collector.post(file.read())
                self.assertEqual(status, 201, answer)
                address = f"/reports/{answer['id']}"
                pages[name] = plain(collector.request("GET", address)[2])
                if name != "killed":  # nothing of it is wide
                    self.look(collector, name, address)
        self.assertRegex(pages["thrown"], r"Thrown here by thread \d+ .*find_page")
        self.assertRegex(pages["waits"], rf"Deadlock: thread \d+ '\w+' holds {LOCK}")
        self.assertRegex(pages["waits"], rf"Waiting \d .*(reader|writer) waits for {LOCK}, which "
                                         r"thread \d+ holds")
        self.assertRegex(pages["value"], r"entry = 0x[0-9a-f]+|entry 0x[0-9a-f]+")
        self.assertRegex(pages["value"], "`kept` is 0x[0-9a-f]+; rax is the lower half of a "
                                         "pointer")
        self.assertIn(KILLED, pages["killed"])
        self.assertRegex(pages["killed"], f"Memory: {CURVE}")
        self.assertRegex(pages["exited"], "KeyError: '7'.*Standard error Traceback.*in find_page")

    def look(self, collector, name, address):
        """No page is wider than its window, in any of its looks."""
        folder = os.path.join(harness.BUILD, "tests", "screenshots")
        if shutil.which("chromium") is None:
            return
        os.makedirs(folder, exist_ok=True)
        with Browser() as browser:
            for look, size, dark in (("wide", WIDE, False), ("dark", WIDE, True),
                                     ("phone", PHONE, False), ("phone-dark", PHONE, True)):
                browser.look(*size, dark)
                browser.go(collector.url + address)
                browser.screenshot(os.path.join(folder, f"{name}-{look}.png"), True)
                width = browser.evaluate("document.documentElement.scrollWidth")
                self.assertLessEqual(width, size[0], f"{name} {look}")

    def test_an_event_of_sentry_holds_it_all(self):
        events = {name: bodies.read_event(self.export("sentry", name))[0]
                  for name in self.paths}
        thrown, crash = events["thrown"]["exception"]["values"]
        self.assertEqual(thrown["type"], "std::out_of_range")
        self.assertEqual(thrown["value"], "no such page")
        self.assertEqual(thrown["mechanism"]["parent_id"],
                         crash["mechanism"]["exception_id"])
        self.assertNotEqual(thrown["thread_id"], crash["thread_id"])
        self.assertRegex(thrown["stacktrace"]["frames"][-1]["function"], "^find_page")
        waits = events["waits"]["extra"]["waits"]
        self.assertEqual(len([wait for wait in waits if "owner" in wait]), len(waits))
        self.assertRegex(events["waits"]["exception"]["values"][0]["value"], "^Deadlock: ")
        extra = events["value"]["extra"]
        self.assertEqual(extra["variable"]["expression"], "kept")
        self.assertEqual(extra["provenance"]["kind"], "truncated")
        killed, = events["killed"]["exception"]["values"]
        self.assertEqual(killed["type"], "killed")
        self.assertIn(KILLED, killed["value"])
        contexts = events["killed"]["contexts"]
        self.assertEqual(contexts["death"]["cause"], "signal")
        self.assertGreater(contexts["process"]["memory"][-1]["rss_bytes"], 0)
        exited = events["exited"]
        self.assertIn("KeyError: '7'", exited["exception"]["values"][0]["value"])
        self.assertEqual(exited["contexts"]["death"]["exit_status"], 1)
        self.assertIn("in find_page", exited["contexts"]["death"]["stderr"])
        frame = events["value"]["exception"]["values"][0]["stacktrace"]["frames"][-1]
        self.assertIn("entry", frame["vars"])

    def test_a_log_record_of_opentelemetry_holds_it_all(self):
        records = {name: bodies.read_logs(self.export("otlp", name))[1]
                   for name in self.paths}
        thrown = records["thrown"]["crashhook.crash.thrown"]
        self.assertEqual((thrown["type"], thrown["message"]),
                         ("std::out_of_range", "no such page"))
        self.assertRegex(thrown["stacktrace"], "^#0 +0x[0-9a-f]+ in find_page")
        self.assertNotEqual(thrown["thread.id"], records["thrown"]["thread.id"])
        waits = records["waits"]["crashhook.waits"]
        self.assertEqual({wait["tid"] for wait in waits if wait["object"] == "mutex"},
                         {wait["owner"] for wait in waits if wait["object"] == "mutex"})
        killed = records["killed"]
        self.assertEqual(killed["exception.type"], "killed")
        self.assertIn(KILLED, killed["exception.message"])
        self.assertRegex(killed["crashhook.process.memory"], CURVE)
        self.assertEqual(killed["crashhook.crash.death"]["cause"], "signal")
        exited = records["exited"]
        self.assertIn("KeyError: '7'", exited["exception.message"])
        self.assertEqual(exited["crashhook.crash.death"]["exit_status"], 1)
        self.assertIn("in find_page", exited["crashhook.crash.death"]["stderr"])
        value = records["value"]
        self.assertEqual(value["crashhook.crash.variable"]["expression"], "kept")
        self.assertEqual(value["crashhook.crash.provenance"]["kind"], "truncated")
        names = [one["name"] for one in value["crashhook.variables"]]
        self.assertIn("entry", names)


# What was made to be known of the variables of a frame, and what every view shows after
# their names.
STATES = {"arguments": [({"value": None}, "NULL"), ({"value": 3, "entry_value": 2},
                                                    "3 (2 when called)"),
                        ({"entry_value": 7}, "7 when called"),
                        ({"value": 5, "confidence": "likely"}, "5 (likely)"),
                        ({"value": 6, "confidence": "guess"}, "6 (a guess)"),
                        ({"value": {"address": "0x55d2c5e120a0", "value": "<b>two</b>"}},
                         '0x55d2c5e120a0 "<b>two</b>"'),
                        ({"confidence": "unavailable", "reason": "clobbered"},
                         "? (its register was overwritten)")],
          "locals": [({"value": {"width": 3, "height": 4}}, "{width = 3, height = 4}"),
                     ({"value": "RED"}, '"RED"'), ({"value": []}, "[]"),
                     ({"confidence": "unavailable", "reason": "optimized-out"},
                      "? (the compiler left it out)")],
          "globals": [({"value": {"container": "vector", "size": 3, "items": [1, 2]}},
                       "[1, 2, ...] of 3")]}
CERTAIN = ("argument0", "argument5", "local0", "local1", "local2", "global0")


def known_report():
    """A report, and the variables of its second frame with what is to be shown of them."""
    report = sample_reports.null_write(77)
    frame = report["threads"][0]["backtrace"]["frames"][1]
    shown = {}
    for key, states in STATES.items():
        frame[key] = []
        for number, (state, words) in enumerate(states):
            name = f"{key[:-1]}{number}"
            frame[key].append({"index": number, "name": name, "type": "thing",
                               "confidence": "exact", **state})
            shown[name] = words
    report["crash"]["message"] = "journal: page 7 is missing"
    called = report["threads"][0]["backtrace"]["frames"][2]
    called["tail_call"] = True
    called["tail_callers"] = [{"function": "ledger::journal::rewind(long)", "inline": False,
                               "file": "src/journal.cpp", "line": 333}]
    return report, shown


class Views(unittest.TestCase):
    """One report in each view."""

    @classmethod
    def setUpClass(cls):
        cls.report, cls.shown = known_report()
        with Scene() as scene, Collector(harness.COLLECTOR) as collector:
            path = os.path.join(scene.folder, "known.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(cls.report, file)

            def said(*command):
                done = scene.command(*command)
                assert done.returncode == 0, done.stderr
                return done.stdout

            status, answer = collector.post(cls.report)
            assert status == 201, answer
            page = collector.request("GET", f"/reports/{cls.report['id']}?all=yes")[2]
            text = collector.request("GET", f"/api/v1/reports/{cls.report['id']}?form=text")[2]
            cls.views = {
                "terminal": said("show", path),
                "markdown": said("show", "--format", "markdown", path),
                "page": plain(page), "text": text.decode()}
            if shutil.which("gdb") is not None:
                cls.views["gdb"] = said("debug", path, "--", "-batch", "-ex",
                                        "crashhook-report")
            cls.event = bodies.read_event(said("export", "--format", "sentry", path).encode())[0]
            cls.record = bodies.read_logs(said("export", "--format", "otlp", path).encode())[1]

    def test_every_view_shows_the_cause_the_message_and_the_frames(self):
        facts = [self.report["crash"]["summary"], self.report["crash"]["message"],
                 self.report["crash"]["kind"]]
        names = [("ledger::entry::set_amount", "src/entry.h", 57),
                 ("ledger::journal::post", "src/journal.cpp", 214),
                 ("ledger::journal::replay", "src/journal.cpp", 301),
                 ("ledger::journal::rewind", "src/journal.cpp", 333),
                 ("ledger::session::run", "src/session.cpp", 77),
                 ("worker_loop", "src/worker.cpp", 44)]
        for view, text in self.views.items():
            for fact in facts:
                self.assertIn(fact, text, view)
            found = [re.search(rf"{name}\b[^$]*?{file}:? ?:{line}", text)
                     for name, file, line in names]
            self.assertNotIn(None, found, view)
            self.assertIn("tail call", text, view)
            self.assertIn("inferred", text, view)
            self.assertIn("epoll_wait", text, view)
        crash = self.event["exception"]["values"][-1]
        self.assertEqual(crash["value"], f"{facts[0]}: {facts[1]}")
        self.assertEqual(self.event["tags"]["crash.kind"], facts[2])
        self.assertEqual([frame["lineno"] for frame in crash["stacktrace"]["frames"]
                          if frame["in_app"]][::-1], [line for _, _, line in names])
        self.assertEqual(self.record["exception.message"], f"{facts[0]}: {facts[1]}")
        self.assertEqual(self.record["crashhook.crash.kind"], facts[2])
        for name, file, line in names:
            self.assertRegex(self.record["exception.stacktrace"],
                             rf"{name}\b.* {file}:{line}\b")
        self.assertIn("epoll_wait", str(self.record["crashhook.threads"]))
        self.assertIn("epoll_wait", str(self.event["threads"]))

    def test_every_view_shows_the_same_of_each_variable(self):
        for view, text in self.views.items():
            for name, words in self.shown.items():
                reason = words.removeprefix("? (").removesuffix(")")
                if words.startswith("?") and f"{name} = {words}" not in text:
                    self.assertRegex(text, rf"\b{name}: {reason}", view)
                else:
                    self.assertIn(f"{name} = {words}", text, view)
        frames = self.event["exception"]["values"][-1]["stacktrace"]["frames"]
        variables = frames[-2]["vars"]
        self.assertEqual(sorted(variables), sorted(self.shown))
        for name, words in self.shown.items():
            if name not in CERTAIN:
                self.assertEqual(variables[name], words)
        self.assertEqual(variables["local0"], {"width": 3, "height": 4})
        self.assertEqual({one["name"]: one["shown"]
                          for one in self.record["crashhook.variables"]}, self.shown)


if __name__ == "__main__":
    harness.main()
