#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# searches.py BUILD [COUNT]: how long a collector over SQLite takes for each of 60 searches,
# lists of groups and of reports and aggregations, of up to COUNT reports (1,024,000). These
# are of the planted fleet: 16,000 are sent, and copied by SQL as bench/fleet.py does. Each
# search is made three times, and the slowest is shown. One that is refused has to say why,
# within 5 s.

import json
import os
import sys
import tempfile
import time
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "collector"))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import figures  # noqa: E402
import fleet  # noqa: E402
import stored  # noqa: E402

TURNS = 3
SENT = 16000
LIST_MS, AGGREGATION_MS, REFUSED_MS, REFUSED_PART = 300, 2000, 5000, 0.05
GROUPS = """
timeout
shopd_step_5
"where nothing is mapped"
null pointer
program:shopd
program:shopd release:4.10.0
program:shopd release:4.10.* -host:node-07
release:4.10.0 OR release:4.3.0
(program:shopd OR program:mailer) kind:abort
program:shopd -release:4.10.0 environment:production
host:node-13
host:node-13 machines:1
host:node-1*
host:node-01 OR host:node-02 OR host:node-03
-host:node-07 program:ledgerd
kind:assertion
kind:null-dereference release:26.9
signal:SIGSEGV program:imgtool
signal:11
kernel:6.12.3-odd
kernel:6.1.0-2*
frame:shopd_step
frame:mailer_loop release:c4e5d610
file:src/gatewayd.c:46
file:ledgerd.c
tag:user:#*
user:1@example.org
time:2026-11-01..2026-11-07
since:7d program:shopd
since:24h
reports:>1000
machines:10..20 program:gatewayd
machines:>30
users:>20 is:open
first_seen:>2026-11-01
last_seen:<7d
is:new
is:rising
is:regressed
is:unassigned
assignee:kim
first_release:1.10
status:resolved
project:none
environment:staging
uptime:"1 h to 1 day" program:mailer
address:"near null"
thread:ingest-# release:aspen
""".strip().split("\n")
REPORTS = ("host:node-13", "program:shopd release:4.10.0", "since:24h", "frame:ledgerd_step_6")
COUNTS = ("by=program", "by=kernel&then=release", "by=day&q=program:shopd",
          "by=host&q=release:4.10.0", "by=frame&q=kind:abort", "by=release&then=host&most=20000",
          "by=tag&q=program:mailer", "q=program:gatewayd")


def asked():
    """What is asked for: whether it is an aggregation, and the address."""
    for number, query in enumerate(GROUPS):
        sort = ("last_seen", "count", "machines", "first_seen")[number % 4]
        yield False, "/api/v1/groups?" + urllib.parse.urlencode({"q": query, "sort": sort})
    for query in REPORTS:
        yield False, "/api/v1/reports?" + urllib.parse.urlencode({"q": query})
    for query in COUNTS:
        yield True, "/api/v1/facets?" + query


def measure(collector, path):
    """The slowest of some turns in ms, the status and, of a refusal, its reason."""
    slowest = 0
    for _ in range(TURNS):
        began = time.monotonic()
        status, _, answer = collector.request("GET", path)
        slowest = max(slowest, (time.monotonic() - began) * 1000)
    return slowest, status, json.loads(answer).get("error", "")


def p95(times):
    return sorted(times)[(len(times) * 95 + 99) // 100 - 1]


def main():
    build = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_024_000
    lists, aggregations, refused = [], [], []
    with tempfile.TemporaryDirectory(prefix="crashhook-bench-") as folder:
        store = fleet.Fleet(build, folder)
        with store.run() as collector:
            store.stored = min(count, SENT)
            stored.send_all(collector, stored.planted_bodies(), store.stored)
        while store.stored * 2 <= count:
            store.double()
        with store.run() as collector:
            print(f"{store.stored:,} reports", flush=True)
            for aggregates, path in asked():
                ms, status, why = measure(collector, path)
                print(f"{ms:7.0f} ms  {status}  {urllib.parse.unquote_plus(path)}  {why}",
                      flush=True)
                if status != 200:
                    refused.append(ms)
                    assert why, path
                elif aggregates:
                    aggregations.append(ms)
                else:
                    lists.append(ms)
    part = len(refused) / (len(lists) + len(aggregations) + len(refused))
    figures.record("searches", "lists, p95", p95(lists), "ms", ("<=", LIST_MS))
    figures.record("searches", "aggregations, slowest", max(aggregations), "ms",
                   ("<=", AGGREGATION_MS))
    figures.record("searches", "refused", part, "ratio", ("<=", REFUSED_PART))
    figures.record("searches", "refused, slowest", max(refused, default=0), "ms",
                   ("<=", REFUSED_MS))
    print(f"lists p95 {p95(lists):.0f} ms, slowest {max(lists):.0f}; aggregations slowest"
          f" {max(aggregations):.0f} ms; {len(refused)} refused")


if __name__ == "__main__":
    main()
