# SPDX-License-Identifier: Apache-2.0
#
# What a program says of itself through crashhook.h is in the report, whoever wrote it;
# callbacks cannot keep a report from being made; a report can be had without a crash.

import json
import os
import signal
import unittest

import harness
from harness import Scene, crashed_thread, names_of, program

MISSING = "/nonexistent/crashhook-agent"
SIGNALS = {"segv": signal.SIGSEGV, "abort": signal.SIGABRT, "overflow": signal.SIGSEGV,
           "illegal": signal.SIGILL, "divide": signal.SIGFPE}


class Context(unittest.TestCase):
    def report(self, scene, *arguments, **variables):
        scene.preload = None
        ended = scene.run([program("tells"), *arguments], **variables)
        scene.command("list")  # makes a report of a record
        reports = scene.reports()
        self.assertEqual(len(reports), 1, ended.stdout + ended.stderr)
        return reports[0], ended

    def said(self, **variables):
        with Scene() as scene:
            log = os.path.join(scene.folder, "log")
            with open(log, "w", encoding="ascii") as file:
                file.writelines(f"line {i}\n" for i in range(1000))
                file.write("api_key=7731sesame0123456789\n")
            report, _ = self.report(scene, "context", log, CRASHHOOK_TAGS="shard=1,a=b",
                                    CRASHHOOK_USER="kim", **variables)
        self.assertEqual(report["tags"], {"a": "b", "shard": "8", "user": "ann"})
        crumbs = [crumb["message"] for crumb in report["breadcrumbs"]]
        self.assertEqual(len(crumbs), 128)
        self.assertEqual(crumbs[-2], "step 299")
        self.assertEqual(crumbs[0], "step 173")
        self.assertTrue(report["breadcrumbs"][0]["time"].endswith("Z"))
        self.assertIn("select * from t", report["user_data"]["query"])
        self.assertEqual(report["user_data"]["a _"], "two")
        text, missing = report["attachments"]
        self.assertTrue(text["text"].startswith("line "))
        self.assertIn("line 999\n", text["text"])
        self.assertLess(len(text["text"]), 201)
        self.assertIn("No such file", missing["problem"])
        self.assertEqual(report["user_data"]["password"], "***")
        self.assertEqual(report["user_data"]["body"], '{"user":"bob", "password" : "***"}')
        for secret in ("7731secret", "hunter2", "7731sesame", "marigold", "tulip"):
            self.assertNotIn(secret, json.dumps(report))

    def test_tags_breadcrumbs_data_and_files_are_in_the_report(self):
        self.said()

    def test_they_are_in_the_report_that_comes_of_a_record(self):
        self.said(CRASHHOOK_AGENT=MISSING)

    def test_what_stands_after_a_slot_that_was_given_up_is_in_the_report(self):
        with Scene() as scene:
            report, _ = self.report(scene, "little", "segv", CRASHHOOK_USER="kim",
                                    CRASHHOOK_TAGS="user=eve,uses=x")
        self.assertEqual(report["tags"], {"shard": "7", "user": "kim", "uses": "x"})
        self.assertEqual(report["user_data"], {"query": "select"})
        self.assertEqual([crumb["message"] for crumb in report["breadcrumbs"]], ["only step"])
        self.assertNotIn("attachments", report)

    def test_secrets_in_arguments_tags_and_the_release_are_masked(self):
        with Scene() as scene:
            report, _ = self.report(scene, "context", "/nonexistent", "-pmarigold77", "-uann:tulip77",
                                    "--otp", "127731", "--password", "lilac77", "-p", "8080",
                                    CRASHHOOK_TAGS="api_key=peony77,a=b",
                                    CRASHHOOK_RELEASE="https://ann:aster77@h/1.2")
        self.assertEqual(report["process"]["arguments"][3:],
                         ["-p***", "-uann:***", "--otp", "***", "--password", "***", "-p", "8080"])
        self.assertEqual(report["tags"], {"a": "b", "api_key": "***", "shard": "8",
                                          "user": "ann"})
        self.assertEqual(report["release"], "https://***@h/1.2")

    def test_of_names_that_are_one_key_the_last_is_in_the_report(self):
        with Scene() as scene:
            tags = "a=1,shard=1,gr\u00fcn=x,a=2,gr\u00f6n=y"
            report, _ = self.report(scene, "context", "/nonexistent", CRASHHOOK_TAGS=tags)
        self.assertEqual(report["tags"], {"a": "2", "shard": "8", "gr__n": "y",
                                          "user": "ann"})

    def test_show_has_the_last_lines_of_an_attached_file_and_all_on_demand(self):
        with Scene() as scene:
            log = os.path.join(scene.folder, "log")
            with open(log, "w", encoding="ascii") as file:
                file.writelines(f"line {i}\n" for i in range(1000))
            self.report(scene, "context", log)
            report = scene.report_paths()[0]
            shown = scene.command("show", report).stdout
            self.assertIn(f"The end of {log}:\n  line 990\n", shown)
            self.assertIn("  line 998\n  line 999\n", shown)
            shown = scene.command("show", "--preset", "full", report).stdout
            self.assertIn("  line 989\n  line 990\n", shown)

    def test_a_link_is_not_attached(self):
        with Scene() as scene:
            log = os.path.join(scene.folder, "log")
            os.symlink("/etc/passwd", log)
            report, _ = self.report(scene, "context", log)
            self.assertIn("symbolic link", report["attachments"][0]["problem"])

    def test_every_test_crash_is_what_it_says(self):
        kinds = {"segv": "null-dereference", "abort": "abort", "overflow": "stack-overflow"}
        for how, number in SIGNALS.items():
            with self.subTest(how), Scene() as scene:
                report, ended = self.report(scene, "test", how)
                self.assertEqual(ended.signal, number)
                self.assertEqual(report["crash"]["kind"],
                                 kinds.get(how, report["crash"]["kind"]))

    def test_callbacks_run_around_the_report(self):
        with Scene() as scene:
            report, ended = self.report(scene, "answers", "0")
            self.assertEqual(ended.stdout, "before\nafter: reported\n")
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertEqual(report["breadcrumbs"][-1]["message"], "in the callback")

    def test_a_callback_can_do_without_a_report(self):
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([program("tells"), "answers", "1"])
            self.assertEqual(ended.stdout, "before\nafter: not reported\n")
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertEqual(scene.reports(), [])

    def test_a_callback_can_say_that_it_is_no_crash(self):
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([program("tells"), "answers", "2"])
            self.assertEqual(ended.stdout, "before\nwent on\n")
            self.assertEqual(ended.status, 3)
            self.assertEqual(scene.reports(), [])

    def test_whatever_a_callback_ends_in_the_first_crash_is_reported(self):
        for first, number in SIGNALS.items():
            for then in [*SIGNALS, "hang"]:
                # A callback that hangs is left after a quarter of it.
                timeout = "4s" if then == "hang" else "15s"
                for way in ("before", "after"):
                    with self.subTest(f"{first}, {then} {way}"), Scene() as scene:
                        report, ended = self.report(scene, way, first, then,
                                                    CRASHHOOK_TIMEOUT=timeout)
                        self.assertEqual(ended.signal, number)
                        self.assertEqual(report["crash"]["signal"], number)
                        self.assertLess(ended.seconds, 20)
                        self.assertIn("end_by", names_of(crashed_thread(report)))

    def test_a_report_can_be_had_without_a_crash(self):
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([program("tells"), "now", "20"])
            self.assertEqual(ended.stdout, "reported 20\n")
            self.assertEqual(ended.status, 0)
            reports = scene.reports()
            self.assertEqual(len(reports), 20)
            for report in reports:
                self.assertNotIn("crash", report)
                self.assertEqual(len(report["threads"]), 2)
                self.assertEqual(report["breadcrumbs"][-1]["message"], "as asked")
            self.assertIn("report_now", names_of(reports[0]["threads"][0]))

    def test_a_report_that_cannot_be_had_harms_nobody(self):
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([program("tells"), "now", "2"], CRASHHOOK_AGENT=MISSING)
            self.assertEqual(ended.stdout, "reported 0\n")
            self.assertEqual(ended.status, 0)
            self.assertEqual(scene.report_paths(), [])

    def test_a_hang_is_reported_again_while_it_lasts_and_the_program_goes_on(self):
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([program("tells"), "hangs"])
            self.assertEqual(ended.stdout, "fed\nwent on\n")
            self.assertEqual(ended.status, 0)
            reports = scene.reports()
            self.assertEqual(len(reports), 2)  # after two seconds and after four, of six
            for report in reports:
                self.assertIn("watchdog", report["breadcrumbs"][-1]["message"])
                names = [name for thread in report["threads"] for name in names_of(thread)]
                self.assertIn("hangs", names)

    def test_memory_is_in_the_report_only_when_it_is_asked_for(self):
        with Scene() as scene:
            report, _ = self.report(scene, "secret")
            self.assertNotIn("memory", report)
        with Scene() as scene:
            report, _ = self.report(scene, "secret", CRASHHOOK_MEMORY="yes")
            windows = report["memory"]
            self.assertTrue(any(w["register"] == "rsp" for w in windows)
                            or os.uname().machine != "x86_64")
            content = b"".join(bytes.fromhex(w["bytes"]) for w in windows)
            self.assertNotIn(b"hunter2", content)
            self.assertIn(b"****", content)

    def test_what_is_shown_as_sent_is_what_lies_in_the_spool(self):
        with Scene() as scene:
            report, _ = self.report(scene, "test", "segv")
            shown = scene.command("show", "--as-sent", report["id"])
            self.assertEqual(harness.expanded(shown.stdout.encode()), report)
            with open(scene.report_paths()[0], encoding="utf-8") as file:
                self.assertEqual(file.read(), shown.stdout)


if __name__ == "__main__":
    harness.main()
