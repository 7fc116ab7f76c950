# SPDX-License-Identifier: Apache-2.0
#
# The tables of a store as its database describes them: columns, keys, indexes, triggers
# and functions, in an order and a spelling that do not depend on how they were made.

import re
import sqlite3
import subprocess

# Upgraded tables have their columns in another order than new ones.
POSTGRES = """
SELECT 'column', table_name || '.' || column_name || ' ' || data_type || ' ' ||
    is_nullable || ' ' || coalesce(column_default, '') || ' ' || is_identity AS said
FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT 'table', c.relname || ' ' || coalesce(c.reloptions::text, '')
FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
UNION ALL SELECT 'index', indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'constraint', conrelid::regclass::text || ' ' || pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT 'trigger', pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'function', proname || ' ' || prosrc FROM pg_proc
WHERE proname LIKE 'crashhook%'
UNION ALL SELECT 'storage', attrelid::regclass::text || '.' || attname || ' ' || attstorage::text
FROM pg_attribute WHERE attrelid = to_regclass('bodies') AND attnum > 0
"""


def spelled(text):
    """Without comments, and with neither blanks nor case outside of strings."""
    text = re.sub(r"--[^\n]*", "", text)
    return re.sub(r"\s+", "", text).lower().replace("integer", "bigint")


def of_postgres(address):
    """A set of what a PostgreSQL database has, without the partitions of bodies."""
    said = subprocess.run(["psql", "-At", "-F", " ", "-R", "\x01", "-c", POSTGRES, address],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    return {spelled(row) for row in said.split("\x01")
            if row.strip() and not re.search(r"bodies_\d|crashhook_layout", row)}


def of_sqlite(database):
    """A set of what an open SQLite database has."""
    made = database.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM"
                            " sqlite_master").fetchall()
    found = set()
    for kind, name, table, sql in made:
        shadow = any(name.startswith(index + "_") for index in ("facet_search", "word_search"))
        if shadow or table.startswith("sqlite_"):
            continue
        if kind == "table" and "VIRTUAL" not in sql:
            found.add(f"table {name} {'WITHOUT ROWID' in sql}")
            for _, column, of, needed, default, key, _ in database.execute(
                    f"PRAGMA table_xinfo({name})"):
                found.add(f"column {name}.{column} {spelled(of)} {needed} {default} {key}")
        elif kind == "index" and not sql:
            columns = [row[2] for row in database.execute(f"PRAGMA index_info({name})")]
            found.add(f"unique {table} {columns}")
        else:
            found.add(f"{kind} {spelled(sql)}")
    return found


def of_sqlite_file(path):
    database = sqlite3.connect(path)
    try:
        return of_sqlite(database)
    finally:
        database.close()
