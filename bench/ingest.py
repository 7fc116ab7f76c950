#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# ingest.py BUILD [COUNT]: durable ingest of 20 KB reports by the collector, beside the
# same bytes inserted into a bare SQLite table with the same durability, and by pgbench
# into PostgreSQL, in one run; and how long lists take over stores of 1,000,000 reports
# with `--lists`. Medians of three, in turns; the processor time of the program that sends
# stands beside each rate.

import json
import os
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "collector"))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import figures  # noqa: E402
import postgres  # noqa: E402
import sample_reports  # noqa: E402
from running import Collector  # noqa: E402

SIZE = 20 * 1024
ID = "00000000-0000-7000-8000-000000000000"


def body():
    """A report of 20 KB with the id that ingest_load replaces."""
    report = sample_reports.null_write(1)
    report["id"] = ID
    while len(json.dumps(report)) > SIZE:
        report["threads"].pop()
    report["breadcrumbs"] = [{"time": report["time"], "message": ""}]
    report["breadcrumbs"][0]["message"] = "x" * (SIZE - len(json.dumps(report)))
    return json.dumps(report).encode()


def bare(folder, data, batch, count):
    """Rows a second of a bare table, batch rows a commit."""
    path = os.path.join(folder, f"bare{batch}.db")
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE reports(id TEXT PRIMARY KEY, body BLOB) WITHOUT ROWID")
    began = time.monotonic()
    for first in range(0, count, batch):
        db.execute("BEGIN")
        db.executemany("INSERT INTO reports VALUES(?, ?)",
                       [(f"{ID[:24]}{i + 1:012x}", data)
                        for i in range(first, min(first + batch, count))])
        db.execute("COMMIT")
    took = time.monotonic() - began
    db.close()
    os.unlink(path)
    return count / took


def collect(build, path, clients, count, store=None):
    with Collector(os.path.join(build, "bin", "crashhook-collector"),
                   store=store) as collector:
        pid = collector.process.pid
        done = subprocess.run(
            [os.path.join(build, "bench", "ingest_load"), str(collector.port),
             str(clients), str(count), path], check=True, stdout=subprocess.PIPE)
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        ticks = int(fields[11]) + int(fields[12])
        result = json.loads(done.stdout)
        result["collector_cpu_seconds"] = ticks / os.sysconf("SC_CLK_TCK")
        return result


# What ingest leaves of so many reports in 200 times fewer groups, in SQL of both stores.
FILL = """
CREATE TABLE filler(i bigint);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
INSERT INTO filler SELECT i FROM n;
INSERT INTO groups(fingerprint, title, summary, signal, count, kept, first_seen, last_seen)
SELECT '00000000000000000000000' || (100000000 + i), 'SIGSEGV in f' || i,
 'Read address 0x0', 11, 200, 200, {now} - 1000000000, {now} - i
 FROM filler WHERE i <= {groups} ORDER BY i;
INSERT INTO group_days(group_number, day, count) SELECT g.i, {today} - d.i, 10
 FROM filler g CROSS JOIN filler d WHERE g.i <= {groups} AND d.i <= 20;
INSERT INTO reports(id, revision, group_number, time, received, signal, signal_name, title,
 summary, release, environment, executable, hostname, fingerprint)
SELECT '00000000-0000-7000-8000-00' || (1000000000 + i), 1, i % {groups} + 1, {now} - i,
 {now}, 11, 'SIGSEGV', 'SIGSEGV in f' || (i % {groups}), 'Read address 0x' || i,
 '1.' || (i % 50), CASE WHEN i % 3 = 0 THEN 'staging' ELSE 'production' END, '/bin/p',
 'host' || (i % 100), '00000000000000000000000' || (100000000 + i % {groups} + 1)
 FROM filler ORDER BY i;
INSERT INTO facets(group_number, kind, value, count, last_seen)
SELECT group_number, kind, value, count(*), max(time) FROM (
 SELECT r.group_number AS group_number, k.column1 AS kind, CASE k.column1
  WHEN 1 THEN r.title WHEN 2 THEN r.summary WHEN 3 THEN r.executable WHEN 4 THEN r.hostname
  WHEN 5 THEN r.release WHEN 6 THEN r.environment WHEN 7 THEN '11' ELSE r.signal_name
  END AS value, r.time AS time
 FROM reports r CROSS JOIN (VALUES (1),(2),(3),(4),(5),(6),(7),(8)) k) c
 GROUP BY group_number, kind, value;
DROP TABLE filler;
ANALYZE;
"""

ASKED = ("/", "/api/v1/groups", "/api/v1/groups?limit=200", "/api/v1/reports",
         "/?status=open", "/?release=1.7", "/?q=f4999", "/?q=host99", "/?q=nowhere",
         "/?q=f4", "/?signal=SIGSEGV&environment=staging",
         "/?release=1.7&environment=nowhere", "/?since=1h",
         "/api/v1/reports?q=nowhere", "/groups/" + "0" * 23 + "100000007")


def fill(store, path, count):
    """Fills the tables the collector has made, by SQL."""
    now_ms = int(time.time() * 1000)
    script = FILL.format(count=count, groups=count // 200, now=now_ms,
                         today=now_ms // 86400000)
    if store is None:
        db = sqlite3.connect(path, isolation_level=None)
        db.executescript("BEGIN;" + script.replace("ANALYZE;", "COMMIT;"))
        db.close()
        return
    subprocess.run([postgres.programs() + "/psql", "-q", "-v", "ON_ERROR_STOP=1", store],
                   input=script.encode(), check=True)


def lists(build, count, store=None):
    """Milliseconds of every list over a filled store: the median of nine."""
    with Collector(os.path.join(build, "bin", "crashhook-collector"),
                   store=store) as collector:
        collector.stop()
        fill(store, collector.path("store.db"), count)
        collector.start()
        result = {}
        for path in ASKED:
            times = []
            for _ in range(9):
                began = time.monotonic()
                status, _, body = collector.request("GET", path)
                times.append(time.monotonic() - began)
            result[path] = (status, sorted(times)[4] * 1000, len(body) >> 10)
        return result


def show_lists(what, build, store=None):
    print(f"{what}:")
    for path, (status, ms, size) in lists(build, 1_000_000, store).items():
        print(f"  {path}: {status} in {ms:.1f} ms, {size} KiB", flush=True)
        figures.record("lists", f"{what}, {path}", ms, "ms", ("<=", 100))


# One row of the same bytes, as pgbench inserts it.
ROW = """\\set n random(1, 1000000000000)
INSERT INTO bare VALUES (gen_random_uuid()::text, decode('{data}', 'hex'));
"""


def pgbench(server, folder, data, clients, count):
    """Rows a second of a bare table with a commit each, by clients of pgbench."""
    store = server.database()
    subprocess.run([server.programs + "/psql", "-q", store, "-c",
                    "CREATE TABLE bare(id text PRIMARY KEY, body bytea);"
                    "ALTER TABLE bare ALTER COLUMN body SET STORAGE EXTERNAL"], check=True)
    script = os.path.join(folder, "row.sql")
    with open(script, "w", encoding="ascii") as file:
        file.write(ROW.format(data=data.hex()))
    done = subprocess.run([server.programs + "/pgbench", "-n", "-M", "prepared", "-f", script,
                           "-c", str(clients), "-j", "2", "-t", str(count // clients), store],
                          check=True, stdout=subprocess.PIPE, text=True)
    return float(re.search(r"tps = ([0-9.]+)", done.stdout).group(1))


def ingest_postgresql(build, folder, path, data, count):
    """pgbench and the collector in turns over one server that syncs."""
    found = {1: [], 64: []}
    with postgres.Postgres(durable=True) as server:
        for clients in (1, 64, 1, 64, 1, 64):
            some = count if clients > 1 else count // 4
            bare_rate = pgbench(server, folder, data, min(clients, 32), some)
            ours = collect(build, path, clients, some, server.database())
            found[clients].append((ours["reports_per_second"], bare_rate))
            print(f"PostgreSQL, {clients} clients: pgbench {bare_rate:.0f}/s,"
                  f" collector {ours['reports_per_second'] / bare_rate:.2f} of it: {ours}",
                  flush=True)
    for clients, pairs in found.items():
        ours, bare_rate = (statistics.median(column) for column in zip(*pairs))
        record_rate(f"PostgreSQL, {clients} at a time", ours, 0.6, "pgbench", bare_rate)


def record_rate(what, ours, share, peer, rate):
    figures.record("ingest", what, ours, "reports/s", (">=", share * rate), {peer: rate})


def ingest_sqlite(build, folder, path, data, count):
    """A bare table and the collector in turns."""
    rates = {"one": [], "batch": [], 1: [], 8: [], 64: [], 512: []}
    for turn in range(3):
        for name, batch in (("one", 1), ("batch", 64)):
            rates[name].append(bare(folder, data, batch, count if batch > 1 else count // 4))
            print(f"bare SQLite, {batch} a commit: {rates[name][-1]:.0f}/s", flush=True)
        for clients in (1, 8, 64, 512) if turn == 0 else (1, 64):
            ours = collect(build, path, clients, count if clients > 1 else count // 4)
            rates[clients].append(ours["reports_per_second"])
            print(f"collector, {clients} clients: {ours}", flush=True)
    middle = {name: statistics.median(values) for name, values in rates.items()}
    record_rate("SQLite, 64 at a time, beside a commit each", middle[64], 0.6,
                "bare table, a commit a row", middle["one"])
    record_rate("SQLite, 64 at a time, beside batches", middle[64], 0.25,
                "bare table, batches of 64", middle["batch"])
    figures.record("ingest", "SQLite, 1 at a time", middle[1], "reports/s", None,
                   {"bare table, a commit a row": middle["one"]})


def main():
    build = sys.argv[1]
    if "--lists" in sys.argv:
        show_lists("SQLite", build)
        if postgres.programs() is not None:
            with postgres.Postgres() as server:
                show_lists("PostgreSQL", build, server.database())
        return
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    data = body()
    with tempfile.TemporaryDirectory(prefix="crashhook-bench-") as folder:
        path = os.path.join(folder, "report.json")
        with open(path, "wb") as file:
            file.write(data)
        print(f"{count} reports of {len(data)} bytes, {os.cpu_count()} processors")
        ingest_sqlite(build, folder, path, data, count)
        if postgres.programs() is not None:
            ingest_postgresql(build, folder, path, data, count)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"most memory of a child: {usage.ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
