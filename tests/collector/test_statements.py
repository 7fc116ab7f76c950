#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_statements CMAKE STORE: the table of statements that is made of STORE/sql, and that
# it is not made of files that contradict the enums of their names. statements/*.sql show
# each statement with all of its clauses, as it is for a database; CRASHHOOK_ACCEPT=1 writes
# them anew.

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE = STORE = None
SHOWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "statements")
# SQL that is no statement of the table: the layout, partitions, settings of a connection.
OTHERS = {"store_schema.c", "store_weeks.c", "sql_postgres.c",
          "sql_sqlite.c", "sqlite_copy.c", "sqlite_log.c"}


def indented(text):
    """Statements with the depth of their clauses and parentheses."""
    depth, lines = 0, []
    for line in text.split("\n"):
        words = re.sub(r"'[^']*'", "", line)
        steps = [1 if step in ("(", "{") else -1
                 for step in re.findall(r"[()]|\{end|\{", words)]
        leading = len(re.match(r"(?:\{end\}|\))*", line).group(0).replace("{end}", ")"))
        lines.append("    " * max(depth - leading, 0) + line if line else "")
        depth = 0 if not line or line.startswith("-- ") else depth + sum(steps)
    return "\n".join(lines).rstrip("\n") + "\n"


class Statements(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="crashhook-statements.")
        self.addCleanup(folder.cleanup)
        self.store = os.path.join(folder.name, "store")
        self.table = os.path.join(folder.name, "table.c")
        os.makedirs(self.store)
        for name in ("store_statement.h", "../entry/store_facet.h", "store_filter.h",
                     "../query/store_query.h", "store_schema.h"):
            copy = os.path.join(self.store, name)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy(os.path.join(STORE, name), copy)
        for name in ("sql", "schema"):
            shutil.copytree(os.path.join(STORE, name), os.path.join(self.store, name))

    def change(self, name, old, new):
        path = os.path.join(self.store, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))

    def make(self):
        """What the generator complains of, and the table, which is empty if it failed."""
        done = subprocess.run(
            [CMAKE, f"-DFOLDER={self.store}", f"-DOUTPUT={self.table}",
             "-P", os.path.join(STORE, "statements.cmake")],
            check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode == 0, os.path.exists(self.table), done.stdout)
        if done.returncode != 0:
            return " ".join(done.stdout.split()), ""
        with open(self.table, encoding="utf-8") as file:
            return " ".join(done.stdout.split()), file.read()

    def test_a_statement_has_one_text_or_one_for_each_database(self):
        complaint, table = self.make()
        self.assertEqual(complaint, "")
        self.assertIn('[STORE_COMMIT] = { "COMMIT", NULL },', table)
        self.assertIn('[STORE_BEGIN] = { "BEGIN IMMEDIATE",\n        "BEGIN" },', table)

    def test_parts_and_numbers_stand_for_their_texts(self):
        _, table = self.make()
        self.assertIn('[STORE_REMOVE_TAGS] = { "DELETE FROM tags WHERE report IN (SELECT value'
                      ' FROM json_each(?1))",\n        "DELETE FROM tags WHERE report'
                      ' = ANY(CAST(?1 AS bigint[]))" },', table)
        self.assertIn("WHERE group_number = ?1 AND kind = 5", table)
        self.assertIn("jobs.until < 9000000000000000", table)
        self.assertNotIn("{STORE", table)
        self.assertNotIn("{FACET", table)

    def test_a_statement_that_the_enum_lacks_is_refused_by_name(self):
        self.change("store_statement.h", "    STORE_TRIM_SWEPT,\n", "")
        self.assertIn("statement STORE_TRIM_SWEPT is not in enum store_statement",
                      self.make()[0])

    def test_a_name_of_the_enum_without_a_statement_is_refused(self):
        self.change("sql/removal.sql", "-- name: STORE_TRIM_SWEPT\n", "-- part: SWEPT\n")
        self.assertIn("STORE_TRIM_SWEPT of enum store_statement has no statement",
                      self.make()[0])

    def test_a_statement_that_is_there_twice_is_refused(self):
        self.change("sql/removal.sql", "-- name: STORE_TRIM_SWEPT", "-- name: STORE_COMMIT")
        self.assertIn("removal.sql: STORE_COMMIT is there twice", self.make()[0])

    def test_a_part_that_nobody_wrote_is_refused(self):
        self.change("sql/groups.sql", "{FACET_RELEASE}", "{FACET_RELAESE}")
        self.assertIn("statement STORE_TRIAGE_NEWEST: there is no part {FACET_RELAESE}",
                      self.make()[0])

    def test_conditions_lists_and_values_that_c_does_not_have_are_refused(self):
        for kind, old, new in (("CLAUSE", "--: limited", "--: limitde"),
                               ("LIST", "--: each term {", "--: each trem {"),
                               ("VALUE", "LIMIT :most", "LIMIT :mots")):
            with self.subTest(new):
                self.change("sql/filtered.sql", old, new)
                self.assertRegex(self.make()[0], f"there is no {kind}_[A-Z]+")
                self.change("sql/filtered.sql", new, old)

    def test_every_statement_is_shown_in_full(self):
        self.assertEqual(self.make()[0], "")
        for dialect in ("sqlite", "postgres"):
            with open(f"{self.table}.{dialect}.sql", encoding="utf-8") as file:
                made = indented(file.read())
            path = os.path.join(SHOWN, dialect + ".sql")
            if os.environ.get("CRASHHOOK_ACCEPT") == "1":
                with open(path, "w", encoding="utf-8") as file:
                    file.write(made)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), made, "CRASHHOOK_ACCEPT=1 accepts it")

    def test_statements_are_in_these_files_alone(self):
        said = re.compile(r'"[^"\n]*\b(SELECT|INSERT INTO|DELETE FROM|UPDATE \w+ SET)\b')
        checked = 0
        for folder, _, names in os.walk(os.path.dirname(STORE)):
            for name in sorted(names):
                if not name.endswith((".c", ".h")) or name in OTHERS:
                    continue
                checked += 1
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    self.assertIsNone(said.search(file.read()), name)
        self.assertGreater(checked, 200)


if __name__ == "__main__":
    CMAKE, STORE = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main(verbosity=2)
