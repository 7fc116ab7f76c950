#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_upgrade COLLECTOR SCHEMA: the files in SCHEMA show the tables that a new store has,
# and a store of layout 18 (tests/cases/stores, made by write_old_store.py) is upgraded to
# the same: every group, note, status, merge and split is there. In PostgreSQL where
# CRASHHOOK_TEST_POSTGRESQL names a database, else in SQLite.

import json
import os
import sqlite3
import subprocess
import sys
import unittest

import layout
from running import Collector, fresh_store, wait_for
from write_old_store import crash, send

BINARY = None
SCHEMA = None
CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cases", "stores",
                     "layout-18")
POSTGRES = os.environ.get("CRASHHOOK_TEST_POSTGRESQL")


def made_by(script, path):
    """The name of a store that a file of SQL has made: in path, or in PostgreSQL."""
    if POSTGRES:
        address = fresh_store()
        subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", script, address],
                       check=True, stdout=subprocess.DEVNULL)
        return address
    database = sqlite3.connect(path)
    with open(script, encoding="utf-8") as file:
        database.executescript(file.read())
    database.close()
    return "sqlite:" + path


def tables(store):
    return (layout.of_postgres(store) if POSTGRES else
            layout.of_sqlite_file(store.removeprefix("sqlite:")))


def dump(kind):
    return os.path.join(kind, "postgresql.sql" if POSTGRES else "sqlite.sql")


class Layout(unittest.TestCase):
    def setUp(self):
        self.collector = Collector(BINARY)
        self.store = fresh_store() or "sqlite:" + self.collector.path("new.db")
        self.collector.store = self.store
        self.maxDiff = None

    def opened(self, store):
        """The tables of a store that a collector has opened."""
        with Collector(BINARY, store=store):
            pass
        return tables(store)

    def test_the_schema_file_shows_the_tables_of_a_new_store(self):
        self.assertEqual(self.opened(self.store),
                         tables(made_by(dump(SCHEMA), self.collector.path("shown.db"))))

    def test_an_upgraded_store_has_the_tables_of_a_new_one(self):
        old = made_by(dump(CASES), self.collector.path("old.db"))
        self.assertNotEqual(tables(old), self.opened(self.store))
        self.assertEqual(self.opened(old), tables(self.store))

    def test_an_older_store_is_refused_in_one_line_and_left_as_it_is(self):
        old = made_by(dump(CASES), self.collector.path("old.db"))
        if POSTGRES:
            subprocess.run(["psql", "-q", old, "-c", "UPDATE crashhook_layout SET version = 17"],
                           check=True)
        else:
            database = sqlite3.connect(self.collector.path("old.db"))
            database.execute("PRAGMA user_version = 17")
            database.close()
        before = tables(old)
        with self.assertRaises(RuntimeError) as raised:
            Collector(BINARY, store=old).start()
        self.assertIn("the database has layout 17, this program upgrades layout 18",
                      str(raised.exception))
        self.assertEqual(tables(old), before)


class Upgrade(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(CASES + "/expected.json", encoding="utf-8") as file:
            expected = json.load(file)
        cls.old, cls.figures = expected["groups"], expected["figures"]
        cls.collector = Collector(BINARY)
        cls.collector.store = made_by(dump(CASES), cls.collector.path("old.db"))
        cls.enterClassContext(cls.collector)
        wait_for(lambda: b"\ncrashhook_naming_jobs 0\n" in
                 cls.collector.request("GET", "/metrics")[2], "all reports have new keys")

    def group(self, word):
        status, group = self.collector.json("GET", "/api/v1/groups/" + self.old[word])
        self.assertEqual(status, 200, word)
        return group

    def test_1_every_report_is_there_with_its_body(self):
        reports = self.collector.json("GET", "/api/v1/reports?limit=100")[1]["reports"]
        self.assertEqual(len(reports),
                         sum(figures["kept"] for figures in self.figures.values()))
        for report in reports:
            sent = self.collector.json("GET", f"/api/v1/reports/{report['id']}?form=sent")
            self.assertEqual((sent[0], sent[1]["id"]), (200, report["id"]))

    def test_2_every_old_key_leads_to_its_group_with_its_figures_and_decisions(self):
        listed = self.collector.json("GET", "/api/v1/groups?limit=100")[1]["groups"]
        found = set()
        for key, before in self.figures.items():
            group = self.collector.json("GET", "/api/v1/groups/" + key)[1]
            title = before.pop("title")  # with the release, in the older version
            self.assertEqual({name: group.get(name) for name in before}, before)
            self.assertTrue(title.startswith(group["title"]), group["title"])
            found.add(group["id"])
        self.assertEqual({group["id"] for group in listed}, found)
        self.assertEqual(len(found), len(self.figures))
        # A key that the sender chose stays as it is.
        self.assertEqual(found & set(self.figures), {"b111b111"})

    def test_3_a_merge_holds_and_a_split_stays(self):
        merged, split, other = (self.group(word)["id"] for word in
                                ("merged-into", "split", "split-from"))
        self.assertEqual(self.group("merged")["id"], merged)
        self.assertNotEqual(split, other)
        for number, functions, group in (
                (21, ["cache_evict", "cache_insert", "main"], merged),
                (22, ["cache_drop", "cache_clear", "main"], merged),
                (23, ["parse_value", "main"], split), (24, ["read_config", "main"], other)):
            self.assertEqual(send(self.collector, crash(number, functions)), group)

    def test_4_a_resolution_is_kept_and_a_new_crash_ends_it(self):
        send(self.collector, crash(26, ["worker_loop", "main"], release="2.0"))
        self.assertEqual(self.group("thinned")["status"], "regressed")


if __name__ == "__main__":
    SCHEMA = sys.argv.pop(2)
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
