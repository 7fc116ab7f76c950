#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# ingest.py BUILD [COUNT]: durable ingest of 20 KB reports by the collector, beside the
# same bytes inserted into a bare SQLite table with the same durability, in one run; and
# how long the list of groups takes over a store of 1,000,000 reports with `--lists`.

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "collector"))

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


def collect(build, path, clients, count):
    with Collector(os.path.join(build, "bin", "crashhook-collector")) as collector:
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


def lists(build, count):
    """Fills a store by SQL, as ingest would leave it, and times its lists."""
    with Collector(os.path.join(build, "bin", "crashhook-collector")) as collector:
        collector.post(sample_reports.raw(1))
        collector.stop()
        db = sqlite3.connect(collector.path("store.db"), isolation_level=None)
        groups, now_ms = count // 200, int(time.time() * 1000)
        db.execute("BEGIN")
        db.executemany(
            "INSERT INTO groups(fingerprint, title, summary, signal, count, first_seen,"
            " last_seen) VALUES(?, ?, 'Read address 0x0', 11, 200, ?, ?)",
            ((f"{i:032x}", f"SIGSEGV in f{i}", now_ms - 10**9, now_ms - i)
             for i in range(1, groups + 1)))
        db.executemany("INSERT INTO group_days VALUES(?, ?, 10)",
                       ((i, now_ms // 86400000 - day) for i in range(2, groups + 2)
                        for day in range(20)))
        db.executemany("INSERT INTO group_releases VALUES(?, ?, 200, ?)",
                       ((i + 2, f"1.{i % 50}", now_ms) for i in range(groups)))
        db.executemany(
            "INSERT INTO reports(id, revision, group_number, time, received, signal,"
            " signal_name, title, summary, release, environment, executable, hostname)"
            " VALUES(?, 1, ?, ?, ?, 11, 'SIGSEGV', 'SIGSEGV in f', 'Read', ?, 'production',"
            " '/bin/p', 'host')",
            ((f"{ID[:24]}{i + 16:012x}", i % groups + 2, now_ms - i, now_ms,
              f"1.{i % 50}") for i in range(count)))
        db.execute("COMMIT")
        db.close()
        collector.start()
        result = {}
        for path in ("/", "/api/v1/groups", "/api/v1/reports", "/?release=1.7",
                     "/?q=f4999", f"/groups/{7:032x}"):
            best = []
            for _ in range(5):
                began = time.monotonic()
                status, _, _ = collector.request("GET", path)
                best.append(time.monotonic() - began)
            result[path] = f"{status} in {sorted(best)[2] * 1000:.1f} ms"
        return result


def main():
    build = sys.argv[1]
    if "--lists" in sys.argv:
        print(json.dumps(lists(build, 1_000_000), indent=1))
        return
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    data = body()
    with tempfile.TemporaryDirectory(prefix="crashhook-bench-") as folder:
        path = os.path.join(folder, "report.json")
        with open(path, "wb") as file:
            file.write(data)
        print(f"{count} reports of {len(data)} bytes, {os.cpu_count()} processors")
        for batch in (1, 64):
            print(f"bare SQLite, {batch} a commit: {bare(folder, data, batch, count):.0f}/s")
        for clients in (1, 8, 64, 512):
            print(f"collector, {clients} clients: {collect(build, path, clients, count)}")
        for batch in (1, 64):
            print(f"bare SQLite, {batch} a commit: {bare(folder, data, batch, count):.0f}/s")
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"most memory of a child: {usage.ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
