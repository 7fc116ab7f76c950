#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# ingest.py BUILD [COUNT]: durable ingest of 20 KB reports of version 2 by the collector,
# for SQLite also of as many bytes of version 1, which earlier releases send, beside the
# same bytes inserted into a bare SQLite table with the same durability, and by pgbench
# into PostgreSQL, in one run; one, two and four collectors over one PostgreSQL; and how long
# lists take over stores of 1,000,000 reports, 50,000 groups and 200,000 hosts with
# `--lists`. Everything takes turns; figures are medians of the rounds.

import contextlib
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
TOGETHER = 1.15  # times one collector's processor time with the server's
ID = "00000000-0000-7000-8000-000000000000"


def padded(report):
    """The report as SIZE bytes, with the id that ingest_load replaces."""
    report["id"] = ID
    report["breadcrumbs"] = [{"time": report["time"], "message": ""}]
    report["breadcrumbs"][0]["message"] = "x" * (SIZE - len(json.dumps(report)))
    return json.dumps(report).encode()


def body():
    """A report of version 2, with the values of its frames."""
    path = os.path.join(ROOT, "tests", "cases", "report", "version2", "values.json")
    with open(path, encoding="utf-8") as file:
        return padded(json.load(file))


def body_of_version_1():
    report = sample_reports.null_write(1)
    while len(json.dumps(report)) > SIZE - 256:
        report["threads"].pop()
    return padded(report)


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


def processor_seconds(pid, with_children=False):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (sum(int(field) for field in fields[11:15 if with_children else 13]) /
            os.sysconf("SC_CLK_TCK"))


def server_seconds(server):
    """The processor time of a PostgreSQL server, with that of sessions that ended."""
    first, *others = server.processes()
    return processor_seconds(first, True) + sum(processor_seconds(pid) for pid in others)


def collect(build, path, clients, count, store=None, collectors=1, server=None):
    """What ingest_load says of collectors, with the processor time they and the server
    took."""
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(
            Collector(os.path.join(build, "bin", "crashhook-collector"), store=store))
            for _ in range(collectors)]
        before = server_seconds(server) if server else 0
        done = subprocess.run(
            [os.path.join(build, "bench", "ingest_load"),
             ",".join(str(collector.port) for collector in running), str(clients),
             str(count), path], check=True, stdout=subprocess.PIPE)
        result = json.loads(done.stdout)
        result["collector_cpu_seconds"] = sum(
            processor_seconds(collector.process.pid) for collector in running)
        result["server_cpu_seconds"] = server_seconds(server) - before if server else 0
        return result


# The rows that ingest leaves for that many reports in 20 times fewer groups and of 5 times
# fewer hosts, in the SQL of both stores. A group has 20 reports, each of another host and
# release, so that most facets need not be counted; of 50 groups one rises. One more group
# has a tenth of as many reports, which differ in words, programs and releases.
FILL = """
CREATE TABLE filler(i bigint);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
INSERT INTO filler SELECT i FROM n;
INSERT INTO groups(fingerprint, title, summary, signal, count, kept, first_seen, last_seen,
 first_release, machines)
SELECT '00000000000000000000000' || (100000000 + i), 'SIGSEGV in f' || i,
 'Read address 0x0', 11, 20, 20, {now} - 1500000000, {now} - i, '1.' || (i % 20), 20
 FROM filler WHERE i <= {groups} ORDER BY i;
INSERT INTO group_days(group_number, day, count)
SELECT g.i, {today} - d.i, CASE WHEN g.i % 50 = 0 AND d.i < 7 THEN 3 ELSE 1 END
 FROM (SELECT i FROM filler WHERE i <= 20) d CROSS JOIN
 (SELECT i FROM filler WHERE i <= {groups}) g;
INSERT INTO reports(id, revision, group_number, time, received, signal, signal_name, title,
 summary, release, environment, executable, hostname, fingerprint)
SELECT '00000000-0000-7000-8000-00' || (1000000000 + i), 1, i % {groups} + 1, {now} - i,
 {now}, 11, 'SIGSEGV', 'SIGSEGV in f' || (i % {groups}), 'Read address 0x' || i,
 '1.' || ((i / {groups} + i) % 20),
 CASE WHEN i % 3 = 0 THEN 'staging' ELSE 'production' END, '/bin/p',
 'host' || ((i / {groups} + i) * 7919 % {hosts}),
 '00000000000000000000000' || (100000000 + i % {groups} + 1) FROM filler ORDER BY i;
INSERT INTO marks(report, list) SELECT i, '["10\\nnull-dereference","11\\nf' ||
 (i % {groups}) || '","11\\nhandle' || (i % 20) || '","11\\nmain","12\\nsrc/p' ||
 (i % 20) || '.c","13\\nab' || (100000 + (i / {groups} + i) % 20) || '","20\\n6.1.' ||
 (i % 7) || '","22\\n1 s to 1 min","26\\nk = 0 in f' || (i % {groups}) || '"]'
 FROM filler ORDER BY i;
INSERT INTO facets(group_number, kind, value, count, last_seen)
SELECT g.i + 1, k.column1, CASE k.column1
  WHEN 1 THEN 'SIGSEGV in f' || g.i WHEN 3 THEN '/bin/p' WHEN 7 THEN '11'
  WHEN 8 THEN 'SIGSEGV' WHEN 10 THEN 'null-dereference' WHEN 11 THEN 'f' || g.i
  WHEN 12 THEN 'src/p' || (g.i % 20) || '.c' WHEN 22 THEN '1 s to 1 min'
  WHEN 26 THEN 'k = 0 in f' || g.i WHEN 111 THEN 'handle' || (g.i % 20) ELSE 'main' END,
 20, {now} - g.i
 FROM (SELECT i - 1 AS i FROM filler WHERE i <= {groups}) g CROSS JOIN (VALUES (1),(3),(7),
  (8),(10),(11),(12),(22),(26),(111),(211)) k;
UPDATE facets SET kind = 11 WHERE kind > 100;
INSERT INTO facets(group_number, kind, value, count, last_seen)
SELECT r.group_number, k.column1, CASE k.column1 WHEN 2 THEN r.summary
  WHEN 4 THEN r.hostname WHEN 5 THEN r.release
  ELSE 'ab' || (100000 + CAST(substr(r.release, 3) AS bigint)) END, 1, r.time
 FROM reports r CROSS JOIN (VALUES (2),(4),(5),(13)) k;
INSERT INTO facets(group_number, kind, value, count, last_seen)
SELECT r.group_number, k.column1, CASE k.column1 WHEN 6 THEN r.environment
  ELSE '6.1.' || ({now} - r.time) % 7 END AS value, count(*), max(r.time)
 FROM reports r CROSS JOIN (VALUES (6),(20)) k GROUP BY 1, 2, 3;
INSERT INTO groups(fingerprint, title, summary, signal, count, kept, first_seen, last_seen,
 first_release, machines)
SELECT '00000000000000000000000' || (100000001 + {groups}), 'SIGSEGV in large',
 'Read address 0x0', 11, {large}, {large}, {now} - 10 * {large}, {now}, '1.0', 1000
 FROM filler WHERE i = 1;
INSERT INTO group_days(group_number, day, count) VALUES({groups} + 1, {today}, {large});
INSERT INTO reports(id, revision, group_number, time, received, signal, signal_name, title,
 summary, release, environment, executable, hostname, fingerprint)
SELECT '00000000-0000-7000-9000-00' || (1000000000 + i), 1, {groups} + 1, {now} - 10 * i,
 {now}, 11, 'SIGSEGV', 'SIGSEGV in large',
 CASE WHEN i % 7 < 4 THEN 'Read' ELSE 'Write' END || ' address 0x0', '1.' || (i % 20),
 CASE WHEN i % 3 = 0 THEN 'staging' ELSE 'production' END,
 CASE WHEN i % 11 < 6 THEN '/bin/p' ELSE '/bin/q' END, 'host' || (i % 1000),
 '00000000000000000000000' || (100000001 + {groups}) FROM filler WHERE i <= {large}
 ORDER BY i;
INSERT INTO marks(report, list) SELECT number, '["10\\nnull-dereference","11\\nlarge",' ||
 '"11\\nhandle' || (time / 10 % 19) || '","11\\nmain","12\\nsrc/large.c"]' FROM reports
 WHERE group_number = {groups} + 1 ORDER BY number;
INSERT INTO facets(group_number, kind, value, count, last_seen)
SELECT r.group_number, k.column1 % 100, CASE k.column1 WHEN 1 THEN r.title
  WHEN 2 THEN r.summary WHEN 3 THEN r.executable WHEN 4 THEN r.hostname
  WHEN 5 THEN r.release WHEN 6 THEN r.environment WHEN 7 THEN '11' WHEN 8 THEN 'SIGSEGV'
  WHEN 10 THEN 'null-dereference' WHEN 11 THEN 'large' WHEN 12 THEN 'src/large.c'
  WHEN 111 THEN 'handle' || (r.time / 10 % 19) ELSE 'main' END AS value, count(*),
 max(r.time) FROM reports r CROSS JOIN (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(10),(11),
  (12),(111),(211)) k WHERE r.group_number = {groups} + 1 GROUP BY 1, k.column1, 3;
INSERT INTO words(kind, value) SELECT DISTINCT kind, value FROM facets
 WHERE kind BETWEEN {word_columns} OR kind BETWEEN 11 AND 14;
CREATE TABLE filler_days(day bigint);
INSERT INTO filler_days SELECT {today} - i + 1 FROM filler WHERE i <= 30 ORDER BY i DESC;
INSERT INTO start_days(project, release, hostname, day, begun, ended)
SELECT '', '1.' || ((20 - h.i % 20) % 20), 'host' || h.i, d.day, 100 + h.i % 7, 90 FROM
 (SELECT i - 1 AS i FROM filler WHERE i <= {hosts}) h CROSS JOIN filler_days d
 ORDER BY 2, 3, 4;
DROP TABLE filler_days;
INSERT INTO sessions(project, session, release, hostname, day)
SELECT '', id, release, hostname, time / 86400000 FROM reports ORDER BY id;
INSERT INTO start_sums(project, day, release, part, begun, ended, crashed)
SELECT '', day, release, 0, sum(begun), sum(ended), sum(crashed) FROM
 (SELECT day, release, begun, ended, 0 AS crashed FROM start_days UNION ALL
  SELECT day, release, 0, 0, 1 FROM sessions) s GROUP BY day, release;
INSERT INTO start_hosts(project, release, hostname, begun, ended)
SELECT '', release, hostname, sum(begun), sum(ended) FROM start_days
 GROUP BY release, hostname;
UPDATE groups SET program = 'p';
INSERT INTO program_days(project, program, environment, release, day, part, count,
 first_seen, last_seen)
SELECT '', replace(executable, '/bin/', ''), environment, release, time / 86400000, 0,
 count(*), min(time), max(time) FROM reports GROUP BY 2, 3, 4, 5;
INSERT INTO nameless(build, report) SELECT 'cd' || (number % 5000), number FROM reports
 WHERE number % 4 = 0;
DROP TABLE filler;
"""
# What triggers and indexes do is done once for all rows: row by row it takes three times
# as long.
FILLED_BY_TRIGGERS = ("facets", "start_days", "sessions")
FILL_SQLITE = """
INSERT INTO facet_search(rowid, value) SELECT number, value FROM facets WHERE kind <= 2;
"""
POSTGRESQL_INDEXES = ("facet_search", "facets_by_value", "word_search", "reports_by_group",
                      "reports_by_time")

# Every page and every request for a list, with and without what narrows it.
ASKED = ("/", "/?for_release=1.7", "/?environment=staging&since=7d", "/groups",
         "/groups?q=is:any&sort=count", "/groups?sort=machines", "/groups?q=is:rising",
         "/groups?q=is:new", "/groups?q=release:1.7", "/groups?q=f4999",
         "/groups?q=host39", "/groups?q=nowhere", "/groups?q=f4", "/groups?q=host:host7",
         "/groups?q=frame:handle7", "/groups?q=file:src/p7.c", "/groups?q=build:ab10000",
         "/groups?q=message:nowhere", "/groups?q=kernel:6.1.3",
         "/groups?q=release:1.7+host:host7", "/groups?q=-host:host7",
         "/groups?q=signal:segv+environment:staging",
         "/groups?q=release:1.7+environment:nowhere", "/groups?q=since:1h",
         "/groups?q=Read+release:1.7", "/groups?q=bin/p+handle1",
         "/groups?q=SIGSEGV+release:1.7", "/groups?q=main+release:1.7&sort=count",
         "/groups?q=release:1.7+OR+release:1.8", "/groups?q=host:host7+OR+frame:f4999",
         "/groups?q=release:1.1*", "/groups?q=host:host77*", "/groups?q=machines:>30",
         "/groups?q=program:p+(host:host7+OR+host:host8)+environment:staging",
         "/groups?q=first_seen:>7d+OR+reports:>100", "/groups?q=time:2h..1h",
         "/facets", "/facets?by=host&then=release&q=frame:handle7", "/facets?q=host:host7",
         "/facets?by=day&most=20000", "/releases", "/machines", "/symbols",
         "/groups/" + "0" * 23 + "100000007", "/reports/REPORT",
         "/compare?r=REPORT&r=REPORT", "/alerts", "/access", "/api/v1/groups",
         "/api/v1/groups?limit=200", "/api/v1/groups?sort=count&since=7d",
         "/api/v1/groups/" + "0" * 23 + "100000007", "/api/v1/reports",
         "/api/v1/reports?q=nowhere", "/api/v1/reports?frame=handle7",
         "/api/v1/reports?host=host7&release=1.7", "/api/v1/starts", "/api/v1/alerts")


def fill_sqlite(path, script):
    db = sqlite3.connect(path, isolation_level=None)
    triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
                          f" AND tbl_name IN {FILLED_BY_TRIGGERS}").fetchall()
    drop = "".join(f"DROP TRIGGER {name};" for name, _ in triggers)
    make = "".join(f"{text};" for _, text in triggers)
    db.executescript("BEGIN;" + drop + script + FILL_SQLITE + make + "COMMIT;")
    db.close()


def fill_postgresql(store, script):
    psql = [postgres.programs() + "/psql", "-qAt", "-v", "ON_ERROR_STOP=1", store]
    names = ", ".join(f"'{name}'" for name in POSTGRESQL_INDEXES)
    made = subprocess.run(
        [*psql, "-c", f"SELECT indexdef || ';' FROM pg_indexes WHERE indexname IN ({names})"],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    drop = f"DROP INDEX {', '.join(POSTGRESQL_INDEXES)};"
    off, on = ("".join(f"ALTER TABLE {table} {word} TRIGGER USER;"
                       for table in FILLED_BY_TRIGGERS) for word in ("DISABLE", "ENABLE"))
    subprocess.run(psql, input=off + drop + script + made + on + "VACUUM ANALYZE;",
                   text=True, check=True)


def fill(store, path, count):
    """Fills the tables the collector has made, by SQL."""
    now_ms = int(time.time() * 1000)
    script = FILL.format(count=count, groups=count // 20, hosts=count // 5,
                         large=count // 10, now=now_ms,
                         today=now_ms // 86400000,
                         word_columns="3 AND 5" if store is None else "1 AND 0")
    if store is None:
        fill_sqlite(path, script)
    else:
        fill_postgresql(store, script)


def lists(build, count, store=None):
    """Milliseconds of every list over a filled store: the median of nine."""
    with Collector(os.path.join(build, "bin", "crashhook-collector"),
                   store=store) as collector:
        collector.stop()
        fill(store, collector.path("store.db"), count)
        collector.start()
        sent = sample_reports.null_write(1)
        status, answer = collector.post(sent)
        assert status == 201, answer
        result = {}
        for path in ASKED:
            path = path.replace("REPORT", sent["id"])
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
        print(f"  {path}: {status} in {ms:.1f} ms, {size} KiB"
              f"{'' if status == 200 and ms <= 100 else ', MISSED'}", flush=True)
        figures.record("lists", f"{what}, {path}", ms, "ms", ("<=", 100))


# One row of the same bytes, as pgbench inserts it: alone, and 64 in a transaction.
ROW = "INSERT INTO bare VALUES (gen_random_uuid()::text, decode('{data}', 'hex'));\n"
ROWS = ("INSERT INTO bare SELECT gen_random_uuid()::text, decode('{data}', 'hex')"
        " FROM generate_series(1, 64);\n")


def pgbench(server, folder, data, clients, count, batch=1):
    """Rows a second of a bare table, batch of them a commit, by clients of pgbench."""
    store = server.database()
    subprocess.run([server.programs + "/psql", "-q", store, "-c",
                    "CREATE TABLE bare(id text PRIMARY KEY, body bytea);"
                    "ALTER TABLE bare ALTER COLUMN body SET STORAGE EXTERNAL"], check=True)
    if RECYCLED[0] in server.options:
        server.checkpoint()
    script = os.path.join(folder, "row.sql")
    with open(script, "w", encoding="ascii") as file:
        file.write((ROW if batch == 1 else ROWS).format(data=data.hex()))
    turns = max(1, count // (clients * batch))
    done = subprocess.run([server.programs + "/pgbench", "-n", "-M", "prepared", "-f", script,
                           "-c", str(clients), "-j", "2", "-t", str(turns), store],
                          check=True, stdout=subprocess.PIPE, text=True)
    return batch * float(re.search(r"tps = ([0-9.]+)", done.stdout).group(1))


def middle(rounds, name):
    """The round whose rate is the median one."""
    runs = sorted((each[name] for each in rounds),
                  key=lambda run: run["reports_per_second"] if isinstance(run, dict) else run)
    return runs[len(runs) // 2]


def show(name, run, count):
    if not isinstance(run, dict):
        print(f"{name:44} {run:8,.0f}/s")
        return
    print(f"{name:44} {run['reports_per_second']:8,.0f}/s   p50 {run['p50_ms']:6.2f} ms"
          f"  p99 {run['p99_ms']:7.2f} ms   processor a report: collector"
          f" {run['collector_cpu_seconds'] / count * 1e6:4.0f} us, server"
          f" {run['server_cpu_seconds'] / count * 1e6:4.0f} us, load"
          f" {run['load_cpu_seconds'] / count * 1e6:3.0f} us")


def judge(store, rounds, one, many):
    """Prints and records the rate with 64 clients against both bare ones."""
    for bare_name, least in ((one, 0.6), (many, 0.25)):
        ours = middle(rounds, "64 clients")["reports_per_second"]
        rate = middle(rounds, bare_name)
        print(f"{store}, 64 clients: {ours / rate:.2f} of {bare_name}; target {least},"
              f" {'met' if ours >= least * rate else 'MISSED'}")
        figures.record("ingest", f"{store}, 64 at a time, beside {bare_name}", ours,
                       "reports/s", (">=", least * rate), {bare_name: rate})


def judge_together(store, rounds, count):
    """Prints and records what a report costs four collectors with 64 clients each, and their
    server, beside one with 64."""
    one, four = (statistics.median((each[name]["collector_cpu_seconds"] +
                                    each[name]["server_cpu_seconds"]) / count * 1e6
                                   for each in rounds)
                 for name in ("64 clients", "256 clients, 4 collectors"))
    print(f"{store}, processor of four collectors and the server: {four / one:.2f} of one's;"
          f" target {TOGETHER}, {'met' if four <= TOGETHER * one else 'MISSED'}")
    figures.record("ingest", f"{store}, four collectors and the server", four, "us",
                   ("<=", TOGETHER * one), {"one collector and the server": one})


def report(store, rounds, count, one, many):
    """The table of a store's rounds, and its figures."""
    print(f"\n{store}, medians of {len(rounds)} rounds")
    for name in rounds[0]:
        run = middle(rounds, name)
        show(name, run, count)
        if isinstance(run, dict) and name != "64 clients":
            figures.record("ingest", f"{store}, {name}", run["reports_per_second"],
                           "reports/s")
        if name == "64 clients":
            figures.record("ingest", f"{store}, {name}, p99", run["p99_ms"], "ms")
    judge(store, rounds, one, many)
    if store != "SQLite":
        judge_together(store, rounds, count)
    print(flush=True)


def sqlite_round(build, folder, path, data, count):
    """One round; path and path.version1 hold the reports that are sent."""
    result = {f"bare, {batch} a commit": bare(folder, data, batch, count)
              for batch in (1, 64)}
    for clients in (1, 8, 64, 512):
        result[f"{clients} clients"] = collect(build, path, clients, count)
    result["64 clients, version 1"] = collect(build, f"{path}.version1", 64, count)
    return result


# A server that has run for a while writes into existing files of its log; a new one
# creates and syncs 16 MB before it writes them, which takes as long as twenty commits.
# Neither alone is representative, so both are measured.
RECYCLED = ("min_wal_size=3GB",)


def postgresql_round(build, server, folder, path, data, count):
    result = {f"pgbench, {clients} clients": pgbench(server, folder, data, clients, count)
              for clients in (1, 32)}
    result["pgbench, 64 a commit"] = max(
        pgbench(server, folder, data, clients, count, 64) for clients in (1, 8))
    for clients, collectors in ((1, 1), (8, 1), (64, 1), (64, 2), (256, 4)):
        store = server.database()
        if RECYCLED[0] in server.options:
            server.checkpoint()
        name = f"{clients} clients" + (f", {collectors} collectors" if collectors > 1 else "")
        result[name] = collect(build, path, clients, count, store, collectors, server)
    return result


def main():
    build = sys.argv[1]
    if "--lists" in sys.argv:
        show_lists("SQLite", build)
        if postgres.programs() is not None:
            with postgres.Postgres() as server:
                show_lists("PostgreSQL", build, server.database())
        else:
            print("not measured: PostgreSQL: it is not installed")
        return
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    rounds = 1 if count < 5000 else 3
    data = body()
    with tempfile.TemporaryDirectory(prefix="crashhook-bench-") as folder:
        path = os.path.join(folder, "report.json")
        with open(path, "wb") as file:
            file.write(data)
        with open(f"{path}.version1", "wb") as file:
            file.write(body_of_version_1())
        print(f"{count} reports of {len(data)} bytes, {os.cpu_count()} processors, which"
              f" the load shares")
        report("SQLite", [sqlite_round(build, folder, path, data, count)
                          for _ in range(rounds)],
               count, "bare, 1 a commit", "bare, 64 a commit")
        if postgres.programs() is not None:
            for name, options in (("PostgreSQL", ()),
                                  ("PostgreSQL with recycled log files", RECYCLED)):
                with postgres.Postgres(durable=True, options=options) as server:
                    if options:
                        pgbench(server, folder, data, 1, 2 * count, 64)
                    report(name, [postgresql_round(build, server, folder, path, data, count)
                                  for _ in range(rounds)],
                           count, "pgbench, 32 clients", "pgbench, 64 a commit")
        else:
            print("not measured: PostgreSQL: it is not installed")
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"most memory of a child: {usage.ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
