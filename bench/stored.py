#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# stored.py BUILD [COUNT [OTHER_BUILD]]: the bytes that a report takes in the store, by
# table. COUNT reports of the planted fleet, each with an id of its own, go to a collector
# over SQLite and, where it is installed, over PostgreSQL. With another build, its figures
# and the ratio to them are shown, too.

import json
import os
import sqlite3
import sys
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "collector"))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import figures  # noqa: E402
import planted_fleet  # noqa: E402
import postgres  # noqa: E402
from running import Collector  # noqa: E402

SENDERS = 8
ID = "00000000-0000-7000-8000-"
BODIES = ("bodies", "body_prefixes")
# Indexes count to their table, and partitions, too.
BY_TABLE_SQLITE = """
SELECT coalesce(m.tbl_name, d.name), sum(d.pgsize) FROM dbstat d
LEFT JOIN sqlite_master m ON m.name = d.name GROUP BY 1
"""
BY_TABLE_POSTGRESQL = """
SELECT coalesce(i.inhparent, c.oid)::regclass, sum(pg_total_relation_size(c.oid))
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace GROUP BY 1
"""


def planted_bodies():
    """The texts before and after the id of each report of the planted fleet."""
    bodies = []
    for report in planted_fleet.Fleet().reports:
        report["id"] = ID
        bodies.append(json.dumps(report).split(ID))
    return bodies


def send(collector, bodies, numbers):
    connection = collector.connection()
    for number in numbers:
        head, tail = bodies[number % len(bodies)]
        connection.request("POST", "/api/v1/reports",
                           f"{head}{ID}{number + 1:012x}{tail}".encode())
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status == 201, said
    connection.close()


def send_all(collector, bodies, count):
    threads = [threading.Thread(target=send, args=(collector, bodies,
                                                   range(first, count, SENDERS)))
               for first in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def sizes(build, bodies, count, server=None):
    """Bytes of a report by table."""
    store = server.database() if server else None
    with Collector(os.path.join(build, "bin", "crashhook-collector"),
                   store=store) as collector:
        send_all(collector, bodies, count)
        collector.stop()
        if server:
            name = store.split("/")[3].split("?")[0]
            rows = [line.split("|") for line in
                    server.ask(BY_TABLE_POSTGRESQL, name).splitlines()]
        else:
            db = sqlite3.connect(collector.path("store.db"))
            rows = db.execute(BY_TABLE_SQLITE).fetchall()
            db.close()
    return {table: int(size) / count for table, size in rows}


def show(what, measured, count):
    """A line for each table that takes a hundredth, and one for each sum."""
    ours = measured[0]
    print(f"\n{what}, {count} reports, bytes of a report:")
    for table in sorted(ours, key=lambda table: -ours[table]):
        if ours[table] * 100 >= sum(ours.values()):
            show_line(what, table, [each.get(table, 0) for each in measured])
    for name, of_bodies in (("rows and indexes", False), ("bodies", True)):
        show_line(what, name, [sum(size for table, size in each.items()
                                   if (table in BODIES) == of_bodies) for each in measured])
    show_line(what, "all", [sum(each.values()) for each in measured])


def show_line(what, name, values):
    ours, *others = values
    beside = "".join(f"{other:10,.0f}   {ours / other:.2f}" for other in others if other)
    print(f"  {name:24}{ours:10,.0f}{beside}", flush=True)
    figures.record("stored", f"{what}, {name}", ours, "bytes", None,
                   {"other build": others[0]} if others else None)


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    builds = [sys.argv[1], *sys.argv[3:4]]
    bodies = planted_bodies()
    show("SQLite", [sizes(build, bodies, count) for build in builds], count)
    if postgres.programs() is None:
        print("not measured: PostgreSQL: it is not installed")
        return
    with postgres.Postgres() as server:
        show("PostgreSQL", [sizes(build, bodies, count, server) for build in builds], count)


if __name__ == "__main__":
    main()
