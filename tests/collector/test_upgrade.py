#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_upgrade COLLECTOR: a store that an older release wrote (tests/cases/stores, made by
# write_old_store.py) is opened by this one: every group, note, status, merge and split is
# there, under both keys. In PostgreSQL too where CRASHHOOK_TEST_POSTGRESQL names a
# database.

import json
import os
import sqlite3
import subprocess
import sys
import time
import unittest

from running import Collector
from write_old_store import crash, send

BINARY = None
CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cases", "stores",
                     "0.1")
POSTGRES = os.environ.get("CRASHHOOK_TEST_POSTGRESQL")


def restore(folder):
    """The store's name, once the dump is in it."""
    if POSTGRES:
        subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", "-f",
                        CASES + "/postgresql.sql", POSTGRES], check=True,
                       stdout=subprocess.DEVNULL)
        return POSTGRES
    path = os.path.join(folder, "old.db")
    database = sqlite3.connect(path)
    with open(CASES + "/sqlite.sql", encoding="utf-8") as dump:
        database.executescript(dump.read())
    database.close()
    return "sqlite:" + path


class Upgrade(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(CASES + "/expected.json", encoding="utf-8") as file:
            expected = json.load(file)
        cls.old, cls.figures = expected["groups"], expected["figures"]
        cls.collector = Collector(BINARY)
        cls.collector.store = restore(cls.collector.folder)
        cls.enterClassContext(cls.collector)
        give_up = time.monotonic() + 60
        while cls.waiting() and time.monotonic() < give_up:
            time.sleep(0.05)
        assert cls.waiting() == 0, "reports are still to be keyed"

    @classmethod
    def waiting(cls):
        text = cls.collector.request("GET", "/metrics")[2].decode()
        return int(text.split("\ncrashhook_naming_jobs ")[1].split()[0])

    def group(self, word):
        """The group that the key of before leads to; its own key leads there too."""
        status, group = self.collector.json("GET", "/api/v1/groups/" + self.old[word])
        self.assertEqual(status, 200, word)
        again = self.collector.json("GET", "/api/v1/groups/" + group["id"])[1]
        self.assertEqual(again["id"], group["id"])
        return group

    def check_as_before(self, word, *keys):
        group, before = self.group(word), self.figures[self.old[word]]
        for key in keys:
            self.assertEqual(group[key], before[key], (word, key))
        return group

    def listed(self):
        return self.collector.json("GET", "/api/v1/groups?limit=100")[1]["groups"]

    def test_1_every_report_is_there_with_its_body(self):
        reports = self.collector.json("GET", "/api/v1/reports?limit=100")[1]["reports"]
        self.assertEqual(len(reports),
                         sum(figures["kept"] for figures in self.figures.values()))
        for report in reports:
            sent = self.collector.json("GET", f"/api/v1/reports/{report['id']}?form=sent")
            self.assertEqual((sent[0], sent[1]["id"]), (200, report["id"]))
        self.assertEqual(sum(group["count"] for group in self.listed()),
                         sum(figures["count"] for figures in self.figures.values()))

    def test_2_of_groups_that_became_one_the_later_decision_holds(self):
        group = self.check_as_before("one-renamed", "status", "note", "assignee")
        self.assertEqual(self.group("one")["id"], group["id"])
        self.assertEqual(group["count"], 2)
        said = [past["detail"] for past in group["history"]]
        self.assertTrue(any("ignored: only in tests" in detail for detail in said), said)
        self.assertIn("ledger::post", group["title"])

    def test_3_a_group_that_became_several_gave_each_its_decision(self):
        self.check_as_before("several", "status", "note", "assignee")
        found = [group for group in self.listed() if "gw::authorize" in group["title"]]
        self.assertEqual(len(found), 2)
        for group in found:
            whole = self.collector.json("GET", "/api/v1/groups/" + group["id"])[1]
            self.assertEqual((whole["status"], whole["note"], whole["assignee"],
                              whole["count"]), ("ignored", "a fuzzer", "lee", 1))
        self.assertEqual(len({group["title"] for group in found}), 2)

    def test_4_a_merge_holds_under_both_keys_and_can_be_split(self):
        group = self.check_as_before("merged-into", "count", "kept", "note", "status")
        self.assertEqual(self.group("merged")["id"], group["id"])
        for number, functions in ((21, ["cache_evict", "cache_insert", "main"]),
                                  (22, ["cache_drop", "cache_clear", "main"])):
            self.assertEqual(send(self.collector, crash(number, functions)), group["id"])
        self.assertEqual(self.group("merged")["count"], 5)

    def test_5_what_was_split_stays_apart(self):
        group = self.check_as_before("split", "count", "note", "status")
        other = self.check_as_before("split-from", "count", "note", "status")
        self.assertNotEqual(group["id"], other["id"])
        self.assertEqual(send(self.collector, crash(23, ["parse_value", "main"])),
                         group["id"])
        self.assertEqual(send(self.collector, crash(24, ["read_config", "main"])),
                         other["id"])

    def test_6_a_report_of_the_older_sender_joins_by_its_own_key(self):
        group = self.group("split")
        report = crash(25, ["parse_value", "main"])
        self.assertEqual(send(self.collector, report, self.old["split"]), group["id"])

    def test_7_counts_of_removed_reports_and_a_resolution_are_kept(self):
        group = self.check_as_before("thinned", "count", "kept", "status", "first_seen",
                                     "last_seen")
        self.assertNotEqual(group["id"], self.old["thinned"])
        send(self.collector, crash(26, ["worker_loop", "main"], release="2.0"))
        self.assertEqual(self.group("thinned")["status"], "regressed")

    def test_8_a_key_that_the_sender_chose_stays(self):
        group = self.check_as_before("chosen", "count", "note")
        self.assertEqual(group["id"], self.old["chosen"])


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
