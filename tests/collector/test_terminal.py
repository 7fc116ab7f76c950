#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_terminal COLLECTOR CRASHHOOK: a collector's groups and reports read in a terminal.

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import monday_reports
import sample_reports
from monday_reports import fingerprint_of, function_of
from running import Collector

BINARY, CRASHHOOK = None, None


def crashhook(*arguments, **variables):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("CRASHHOOK_")}
    return subprocess.run([CRASHHOOK, *arguments], env={**environment, **variables},
                          capture_output=True, text=True, timeout=60, check=False)


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = cls.enterClassContext(Collector(BINARY, tokens=["s3cret"]))
        monday_reports.Monday(300).send(cls.collector)
        cls.about = {"CRASHHOOK_URL": cls.collector.url, "CRASHHOOK_TOKEN": "s3cret"}

    def ids(self, *arguments):
        done = crashhook("groups", "--json", *arguments, **self.about)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {group["id"] for group in json.loads(done.stdout)["groups"]}

    def test_groups_are_listed_with_the_search_of_the_pages(self):
        self.assertEqual(self.ids("is:rising"), {fingerprint_of(group) for group in
                                                 monday_reports.RISING})
        self.assertEqual(self.ids("assignee:kim"), {fingerprint_of(monday_reports.TAKEN)})
        self.assertEqual(len(self.ids("--limit", "7", "--sort", "machines")), 7)
        done = crashhook("groups", "is:rising", **self.about)
        self.assertEqual(done.returncode, 0, done.stderr)
        for group in monday_reports.RISING:
            self.assertIn(fingerprint_of(group), done.stdout)
            self.assertIn(function_of(group), done.stdout)

    def test_addresses_of_servers_may_be_on_lines_of_their_own(self):
        lines = f"otlp+http://127.0.0.1:1\n{self.collector.url}\n\thttp://127.0.0.1:1"
        done = crashhook("groups", "is:rising", **{**self.about, "CRASHHOOK_URL": lines})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_report_is_shown_by_its_address_and_a_group_by_its_newest(self):
        newest = self.collector.json("GET", "/api/v1/reports?limit=1&group=" +
                                     fingerprint_of(0))[1]["reports"][0]["id"]
        for path in (f"/reports/{newest}", f"/api/v1/reports/{newest}?form=sent",
                     "/groups/" + fingerprint_of(0)):
            done = crashhook("show", self.collector.url + path, **self.about)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(function_of(0), done.stdout)
            self.assertIn(newest, done.stdout)

    def test_how_long_a_program_ran_is_said_in_days_hours_or_minutes(self):
        for number, uptime_ms, words in ((9001, 5025000, "1 h 23 min"),
                                         (9002, 86399999, "23 h 59 min"),
                                         (9003, 211920000, "2 d 10 h")):
            report = sample_reports.null_write(number)
            report["process"]["uptime_ms"] = uptime_ms
            self.assertEqual(self.collector.post(report)[0], 201)
            done = crashhook("show", f"{self.collector.url}/reports/{report['id']}",
                             **self.about)
            self.assertIn("ran for " + words + "\n", done.stdout)

    def test_what_cannot_be_read_is_one_line(self):
        for arguments, words, variables in (
                (["groups"], "neither --url nor CRASHHOOK_URL", {}),
                (["groups", "hots:x"], "there is no key `hots`, did you mean `host`?",
                 self.about),
                (["groups", "--url", self.collector.url], "a valid token is needed", {}),
                (["show", self.collector.url + "/reports/0"], "there is no such report",
                 self.about),
                (["show", self.collector.url + "/x"], "it names no report and no group",
                 self.about),
                (["show", "http://127.0.0.1:1/reports/0"], "cannot read", self.about)):
            done = crashhook(*arguments, **variables)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1),
                             done.stderr)
            self.assertIn(words, done.stderr)

    def test_reports_of_a_user_are_removed(self):
        for number, name in ((9101, "kim"), (9102, "kim"), (9103, "eve")):
            report = {**sample_reports.null_write(number), "tags": {"user": name}}
            self.assertEqual(self.collector.post(report)[0], 201)
        for arguments, status, words in (
                ((), 2, "it takes one of --user, --host and --tag"),
                (("--user", "kim", "--host", "x"), 2, "it takes one of"),
                (("--user", "kim"), 0, "removed 2 reports"),
                (("--user", "kim"), 0, "removed 0 reports"),
                (("--tag", "user:eve"), 0, "removed 1 report"),
                (("--tag", "user"), 1, "tag is not key:value")):
            done = crashhook("erase", *arguments, **self.about)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(words, done.stdout + done.stderr)

    def decide(self, verb, *arguments, status=0):
        done = crashhook(verb, *arguments, **self.about)
        self.assertEqual((done.returncode, done.stderr.count("\n")),
                         (status, 1 if status else 0), done.stderr)
        return done.stderr if status else done.stdout

    def group(self, number):
        return self.collector.json("GET", "/api/v1/groups/" + fingerprint_of(number))[1]

    def test_groups_are_decided_about_by_a_short_id_or_their_page(self):
        report = sample_reports.null_write(9020)
        report["fingerprint"] = "c0ffee2099" * 3
        self.assertEqual(self.collector.post(report)[0], 201)
        short = report["fingerprint"][:8]
        said = self.decide("resolve", short, "--release", "9.0", "--comment", "by 8c1d")
        self.assertRegex(said, "^resolved  c0ffee2099c0  null pointer in ")
        group = self.collector.json("GET", "/api/v1/groups/" + short)[1]
        self.assertEqual((group["status"], group["status_release"]), ("resolved", "9.0"))
        self.assertIn("by 8c1d", [line["detail"] for line in group["history"]])
        self.decide("reopen", self.collector.url + "/groups/" + short)
        self.assertEqual(self.collector.json("GET", "/api/v1/groups/" + short)[1]["status"],
                         "open")
        said = self.decide("ignore", fingerprint_of(20), fingerprint_of(21), "--until",
                           "20 reports")
        self.assertEqual(said.count("ignored  "), 2)
        self.assertEqual(self.group(21)["status"], "ignored")
        said = self.decide("assign", fingerprint_of(21), "--to", "lee", "--json")
        self.assertEqual(json.loads(said)["assignee"], "lee")
        self.decide("assign", fingerprint_of(21), "--nobody")
        self.assertEqual(self.group(21)["assignee"], "")
        self.decide("comment", fingerprint_of(21), "old driver")
        self.assertEqual(self.group(21)["history"][0]["detail"], "old driver")

    def test_a_merge_can_be_undone_by_the_beginning_of_the_key_or_without_it(self):
        for words in ([fingerprint_of(30)[:12]], []):
            self.decide("merge", fingerprint_of(30), fingerprint_of(31))
            self.assertEqual(self.group(31)["merged"], [fingerprint_of(30)])
            self.assertEqual(self.group(30)["id"], fingerprint_of(31))
            said = self.decide("split", fingerprint_of(31), "ffffffff", status=3)
            self.assertIn("1 were merged into it", said)
            self.decide("split", fingerprint_of(31), *words)
            self.assertEqual(self.group(30)["id"], fingerprint_of(30))

    def test_decisions_that_cannot_be_made_have_an_exit_status_of_their_own(self):
        self.assertIn("there is no such group", self.decide("ignore", "0" * 32, status=3))
        # It is the beginning of several keys.
        self.decide("ignore", fingerprint_of(0)[:30], status=3)
        self.decide("ignore", "shopd", status=2)
        self.decide("assign", fingerprint_of(0), status=2)
        self.decide("comment", fingerprint_of(0), "", status=2)
        self.assertIn("until is not", self.decide("ignore", fingerprint_of(0), "--until",
                                                  "soon", status=1))
        self.decide("ignore", "0" * 32, fingerprint_of(32), status=3)
        self.assertEqual(self.group(32)["status"], "ignored")

    def test_reports_releases_and_missing_symbols_are_listed(self):
        def rows(key, *arguments):
            done = crashhook(*arguments, "--json", **self.about)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return json.loads(done.stdout)[key]
        reports = rows("reports", "reports", "--group", fingerprint_of(0),
                       "release:" + monday_reports.NEWEST, "--limit", "3")
        self.assertEqual(len(reports), 3)
        self.assertEqual({report["group"] for report in reports}, {fingerprint_of(0)})
        program = monday_reports.PROGRAMS[0]
        listed = [row["release"] for row in rows("releases", "releases", "shopd")]
        self.assertEqual(sorted(listed), monday_reports.RELEASES)
        text = crashhook("releases", program, **self.about).stdout
        self.assertEqual(len(text.splitlines()), len(listed))
        self.assertRegex(text, "(?m)^" + monday_reports.NEWEST + r"  .*current  ")
        self.assertEqual(rows("missing", "symbols", "missing"), [])
        report = sample_reports.null_write(9010)
        for frame in report["threads"][0]["backtrace"]["frames"]:
            frame.pop("function", None)
        report["images"][0]["build_id"] = "ab" * 20
        self.assertEqual(self.collector.post(report)[0], 201)
        text = crashhook("symbols", "missing", **self.about).stdout
        self.assertIn("ab" * 20, text)

    def repository(self, commits):
        """A repository with a tag for each commit: (tag, author, subject, its files)."""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="crashhook-commits-"))
        def git(*arguments):
            subprocess.run(["git", "-C", folder, "-c", "user.email=x@example.org", "-c",
                            "init.defaultBranch=main", *arguments], check=True,
                           stdout=subprocess.DEVNULL)
        git("init", "-q")
        for tag, author, subject, files in commits:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write(text)
            git("add", ".")
            git("-c", "user.name=" + author, "commit", "-q", "-m", subject)
            git("tag", tag)
        return folder

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_the_commit_that_changed_a_file_of_the_stack_is_suspected(self):
        folder = self.repository([
            ("v1", "Ann", "Begin", {"src/entry.h": "1", ".github/CODEOWNERS":
                                    "* @all\nsrc/ @ledger @core # both\n"}),
            ("v1.1", "Bea", "Post twice", {"src/worker.cpp": "1", "other/entry.h": "1"}),
            ("v1.2", "Cem", "Set <amounts> äöü", {"src/entry.h": "2", "doc/ä.md": ""}),
            ("v2", "Dan", "Write about it", {"doc/a.md": "2"})])
        report = sample_reports.null_write(9100, release="v2", fingerprint="5c5c" * 8)
        self.assertEqual(self.collector.post(report)[0], 201)
        path = "/groups/" + report["fingerprint"]
        bearer = {"Authorization": "Bearer s3cret"}
        page = self.collector.request("GET", path, None, bearer)[2].decode()
        self.assertNotIn('id="suspects"', page)
        for _ in range(2):  # a pipeline that runs again changes nothing
            done = crashhook("releases", "commits", "--repo", folder, "ledgerd", "v1..v2",
                             **self.about)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (0, "sent 3 commits of v2\n", ""))
        page = self.collector.request("GET", path, None, bearer)[2].decode()
        part = re.search('id="suspects".*?</section>', page, re.S).group(0)
        self.assertEqual(re.findall("<span>(.*?)</span><small>(.*?),", part),
                         [("Set &lt;amounts&gt; äöü", "Cem"), ("Post twice", "Bea")])
        self.assertIn("<b>src/entry.h</b>, frame 0<", part)
        self.assertIn("<b>src/worker.cpp</b>, frame 6<", part)
        self.assertIn("is owned by <b>@ledger @core</b>", part)

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_commits_that_cannot_be_listed_are_one_line(self):
        folder = self.repository([("v1", "Ann", "Begin", {"src/entry.h": "1"})])
        for words, status in ((["v1"], 2), (["--", "-v1..v2"], 2), (["v1..v9"], 1)):
            done = crashhook("releases", "commits", "--repo", folder, "p", *words,
                             **self.about)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn("crashhook: releases commits: ", done.stderr)
        for body in ({}, {"program": "p", "release": "1", "commits": [{}]},
                     {"program": "p", "release": "1", "commits": [], "owners": 1}):
            self.assertEqual(self.collector.json("POST", "/api/v1/commits",
                                                 json.dumps(body))[0], 400)

    def test_the_token_goes_to_the_configured_collector_alone(self):
        done = crashhook("show", self.collector.url + "/groups/" + fingerprint_of(0),
                         CRASHHOOK_TOKEN="s3cret", CRASHHOOK_URL="http://127.0.0.1:1")
        self.assertIn("a valid token is needed", done.stderr)


if __name__ == "__main__":
    BINARY, CRASHHOOK = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
