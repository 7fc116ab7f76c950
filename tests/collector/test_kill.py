#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_kill COLLECTOR ROUNDS: the collector is killed with SIGKILL while many clients
# upload, and started again; then the same over PostgreSQL, with a second collector that
# goes on over the same database. Every report answered with 201 is there, once, whole.

import http.client
import json
import sys
import threading
import time

import postgres
import sample_reports
from running import Collector
from sending import stored_ids

CLIENTS = 40
REPORTS_A_ROUND = 1000


def upload(collector, reports, acknowledged, killed):
    """Sends reports on one connection until the collector is gone."""
    connection = collector.connection()
    try:
        for report in reports:
            connection.request("POST", "/api/v1/reports", json.dumps(report))
            answer = connection.getresponse()
            body = answer.read()
            if answer.status == 201:
                acknowledged.append(json.loads(body)["id"])
            elif not killed.is_set():
                raise SystemExit(f"unexpected answer {answer.status}: {body}")
    except (OSError, http.client.HTTPException):
        if not killed.is_set():
            raise
    finally:
        connection.close()


def run_round(collector, number, others=()):
    """Uploads to all collectors, kills the first: what was sent, what acknowledged."""
    reports = [sample_reports.raw(number * REPORTS_A_ROUND + i)
               for i in range(REPORTS_A_ROUND)]
    acknowledged, killed, never = [], threading.Event(), threading.Event()
    at = [(collector, killed)] + [(other, never) for other in others]
    threads = [threading.Thread(target=upload,
                                args=(at[i % len(at)][0], reports[i::CLIENTS],
                                      acknowledged, at[i % len(at)][1]))
               for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    while len(acknowledged) < REPORTS_A_ROUND // 4:
        time.sleep(0.001)
    killed.set()
    collector.kill()
    for thread in threads:
        thread.join()
    return {report["id"]: report for report in reports}, set(acknowledged)


def check(name, collector, rounds, others=()):
    """True when nothing was lost, twice, strange or damaged after so many kills."""
    expected, everything, left = set(), {}, 0
    for number in range(rounds):
        reports, acknowledged = run_round(collector, number, others)
        everything.update(reports)
        expected |= acknowledged
        left += len(reports) - len(acknowledged)
        collector.start()
    found = stored_ids(collector)
    lost = expected - set(found)
    twice = len(found) - len(set(found))
    strange = set(found) - set(everything)
    damaged = [i for i in expected - lost
               if collector.json("GET", "/api/v1/reports/" + i)[1] != everything[i]]
    _, groups = collector.json("GET", "/api/v1/groups?limit=200")
    for report_id, report in everything.items():  # the senders try again
        status, _ = collector.post(report)
        if status != (200 if report_id in set(found) else 201):
            raise SystemExit(f"{report_id} was answered {status} when sent again")
    complete = sorted(stored_ids(collector)) == sorted(everything)
    print(f"{name}: {rounds} kills: {len(expected)} acknowledged, {left} not,"
          f" {len(found)} stored, {len(lost)} lost, {twice} twice,"
          f" {len(damaged)} damaged")
    counted = sum(group["count"] for group in groups["groups"])
    if groups["next"] is None and counted != len(found):
        raise SystemExit(f"groups count {counted} reports")
    return not (lost or twice or strange or damaged or not complete or left == 0)


def main():
    binary, rounds = sys.argv[1], int(sys.argv[2])
    with Collector(binary) as collector:
        good = check("SQLite", collector, rounds)
    if not good:
        raise SystemExit(1)
    postgres.require()
    with postgres.Postgres() as server:
        store = server.database()
        with Collector(binary, store=store) as first, \
                Collector(binary, store=store) as second:
            good = check("PostgreSQL, two collectors", first, rounds, [second])
    if not good:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
