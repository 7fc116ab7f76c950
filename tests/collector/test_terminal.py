#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_terminal COLLECTOR CRASHHOOK: a collector's groups and reports read in a terminal.

import json
import os
import subprocess
import sys
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

    def test_the_token_goes_to_the_configured_collector_alone(self):
        done = crashhook("show", self.collector.url + "/groups/" + fingerprint_of(0),
                         CRASHHOOK_TOKEN="s3cret", CRASHHOOK_URL="http://127.0.0.1:1")
        self.assertIn("a valid token is needed", done.stderr)


if __name__ == "__main__":
    BINARY, CRASHHOOK = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
