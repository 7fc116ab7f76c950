#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_large COLLECTOR: what large reports and large debug files do to others: while they
# are opened, viewed and read, small reports are stored and everybody else is answered, in
# bounded memory; and who waits for the store holds up nobody else. A reduced number; CRASHHOOK_FULL=1: 16 first views of reports of a
# 120 MB debug file, 12 views of a 34 MiB report.

import contextlib
import gzip
import http.client
import json
import os
import sqlite3
import sys
import tempfile
import threading
import time
import unittest

import debug_program
import sample_reports
from running import Collector

BINARY = None
FULL = os.environ.get("CRASHHOOK_FULL") == "1"
MEMORY_MIB = 512  # MemoryMax of packaging/systemd/crashhook-collector.service
UPLOADS = 8 if FULL else 2
VIEWS = 12 if FULL else 3
FIRST_VIEWS = 16 if FULL else 4
THREADS = 3000 if FULL else 200
DEBUG_FILE = (120 if FULL else 30) << 20
FRAMES = 40
PATIENCE_S = 200  # with what takes its turn among many
WRITERS = 12       # more than the collector has threads of any kind


def large_report(number):
    """A report of very many threads, compressed as senders do it."""
    report = sample_reports.null_write(number)
    frame = sample_reports.frame("ledger::queue<ledger::transaction>::take_batch(unsigned)",
                                 "src/include/ledger/queue.hpp:188:9", 0, 0x41C0)
    for i in range(THREADS):
        frames = [dict(frame, address=hex(0x55D2C4A04000 + i * 256 + k))
                  for k in range(FRAMES)]
        report["threads"].append({"tid": 10000 + i, "name": "worker", "state": "S",
                                  "crashed": False,
                                  "backtrace": {"cbf": "AA==", "ended": "end-of-stack",
                                                "frames": frames}})
    text = json.dumps(report).encode()
    return report["id"], len(text), gzip.compress(text, 6)


def debug_file(folder):
    """A debug file of that size, its build ID and where a function of it is."""
    ballast = os.path.join(folder, "ballast")
    with open(ballast, "wb") as file:
        file.truncate(DEBUG_FILE)
    debug, build_id, symbols = debug_program.build(
        folder, "big", "int sink(volatile int *p)\n{\n    return *p + 1;\n}\n"
                       "int main(int argc, char **argv)\n{\n    (void)argv;\n"
                       "    volatile int x = argc;\n    return sink(&x);\n}\n",
        "--add-section", ".debug_ballast=" + ballast)
    return debug, build_id, symbols["sink"]


def family(pid):
    """A process and its children."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return []
    found = [pid]
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
        except FileNotFoundError:
            pass
    return found


def resident_mib(pids):
    """What these processes have of their own: shared pages of a fork count once."""
    kib = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                lines = dict(line.split(":", 1) for line in file if ":" in line[:20])
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        for name in ("Pss_Anon", "Pss_Shmem"):
            kib += int(lines.get(name, "0 kB").split()[0])
    return kib / 1024


class Watch(threading.Thread):
    """The most memory that a collector and its children took."""

    def __init__(self, pid):
        super().__init__()
        self.pid, self.most, self.enough = pid, 0, threading.Event()

    def run(self):
        while not self.enough.wait(0.05):
            self.most = max(self.most, resident_mib(family(self.pid)))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.enough.set()
        self.join()


class Crowd:
    """Requests that run at the same time, each on a connection of its own."""

    def __init__(self, collector, requests):
        self.answers = []
        self.threads = [threading.Thread(target=self.run, args=(collector, request))
                        for request in requests]
        for thread in self.threads:
            thread.start()

    def run(self, collector, request):
        began = time.monotonic()
        connection = http.client.HTTPConnection(collector.host, collector.port,
                                                timeout=PATIENCE_S)
        connection.request(*request)
        answer = connection.getresponse()
        self.answers.append((answer.status, answer.read(), time.monotonic() - began))
        connection.close()

    def left(self):
        return sum(thread.is_alive() for thread in self.threads)

    def join(self):
        for thread in self.threads:
            thread.join()
        return [status for status, _, _ in self.answers]


class Others:
    """What somebody else's requests took, in milliseconds."""

    def __init__(self, collector):
        self.collector, self.number = collector, 100000
        self.times = {"/healthz": [], "reports": [], "/groups": []}

    def ask(self, test):
        for name, times in self.times.items():
            began = time.monotonic()
            if name == "reports":
                self.number += 1
                status = self.collector.post(sample_reports.raw(self.number))[0]
            else:
                status = self.collector.request("GET", name)[0]
            times.append((time.monotonic() - began) * 1000)
            test.assertIn(status, (200, 201))

    def beside(self, test, crowd):
        """Asks while the crowd is served, and says how often it was answered meanwhile."""
        rounds = 0
        while True:
            self.ask(test)
            if crowd.left() == 0:
                return rounds
            rounds += 1

    def show(self, what, rounds, watch):
        shown = ", ".join(
            f"{name} p50 {sorted(times)[len(times) // 2]:.0f} p99"
            f" {sorted(times)[len(times) * 99 // 100]:.0f} ms"
            for name, times in self.times.items())
        print(f"{what}: {rounds} rounds beside them, {shown}; {watch.most:.0f} MiB",
              flush=True)


class Large(unittest.TestCase):
    def sanitized(self, collector):
        with open(f"/proc/{collector.process.pid}/maps", encoding="ascii") as file:
            return "asan" in file.read()

    def check_memory(self, collector, watch):
        if not self.sanitized(collector):
            self.assertLess(watch.most, MEMORY_MIB)

    def test_others_are_served_while_large_reports_are_taken_and_viewed(self):
        with Collector(BINARY) as collector:
            reports = [large_report(i) for i in range(UPLOADS)]
            print(f"{reports[0][1] >> 20} MiB, {len(reports[0][2]) >> 10} KiB as sent",
                  flush=True)
            with Watch(collector.process.pid) as watch:
                others = Others(collector)
                crowd = Crowd(collector, [("POST", "/api/v1/reports", body,
                                           {"Content-Encoding": "gzip"})
                                          for _, _, body in reports])
                rounds = others.beside(self, crowd)
                self.assertEqual(crowd.join(), [201] * UPLOADS)
            others.show(f"{UPLOADS} large reports", rounds, watch)
            self.check_memory(collector, watch)
            with Watch(collector.process.pid) as watch:
                others = Others(collector)
                crowd = Crowd(collector, [("GET", "/reports/" + reports[0][0])] * VIEWS)
                rounds = others.beside(self, crowd)
                self.assertEqual(crowd.join(), [200] * VIEWS)
            others.show(f"{VIEWS} views", rounds, watch)
            self.check_memory(collector, watch)
            for path in (f"/api/v1/reports/{reports[0][0]}?form=sent",
                         f"/api/v1/reports/{reports[0][0]}"):
                status, _, body = collector.request("GET", path)
                self.assertEqual(status, 200)
                self.assertEqual(json.loads(body)["id"], reports[0][0])

    def test_who_waits_to_write_holds_up_nobody_who_reads(self):
        with Collector(BINARY) as collector:
            report = sample_reports.null_write(1)
            self.assertEqual(collector.post(report)[0], 201)
            other = sqlite3.connect(collector.path("store.db"), isolation_level=None)
            other.execute("BEGIN IMMEDIATE")  # nothing is written from now on
            batch = {"release": "1", "host": "h", "day": int(time.time()) // 86400,
                     "starts": 1, "ends": 1}
            writers = Crowd(collector, [
                ("POST", "/api/v1/starts",
                 json.dumps(dict(batch, id=sample_reports.report_id(i))).encode())
                for i in range(WRITERS)])
            for path in ("/healthz", "/groups", "/reports/" + report["id"], "/readyz"):
                self.assertEqual(collector.request("GET", path)[0], 200)
            waiting = writers.left()
            other.execute("COMMIT")
            other.close()
            self.assertEqual(writers.join(), [201] * WRITERS)
            self.assertEqual(waiting, WRITERS)

    def test_a_number_of_the_newest_reports_of_a_group_in_a_large_store_says_so(self):
        with Collector(BINARY) as collector:
            self.assertEqual(collector.post(sample_reports.null_write(1))[0], 201)
            path = "groups?q=release:2.14.1+environment:production"
            self.assertNotIn(b"Numbers with +", collector.request("GET", "/" + path)[2])
            with contextlib.closing(sqlite3.connect(collector.path("store.db"))) as database:
                columns = [row[1] for row in database.execute("PRAGMA table_info(reports)")]
                same = [name for name in columns if name not in ("number", "id", "time")]
                database.execute(
                    f"INSERT INTO reports(number, id, time, {', '.join(same)})"
                    " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                    " WHERE i < 1001) SELECT 100001 - i, 'older' || i, time - i,"
                    f" {', '.join(same)} FROM reports, n")
                database.execute("UPDATE groups SET count = 1002, kept = 1002")
                database.commit()
            _, listed = collector.json("GET", "/api/v1/" + path)
            group = listed["groups"][0]
            self.assertEqual((group["filtered_count"], group["filtered_more"]), (1000, True))
            page = collector.request("GET", "/" + path)[2].decode()
            self.assertIn("<b>1\u2009000+</b><span>of 1\u2009002</span>", page)
            self.assertIn("Numbers with + count the newest 1000 reports of a group", page)

    def test_a_first_view_shows_what_is_stored_and_names_follow(self):
        with Collector(BINARY, extra=["--workers", "2"]) as collector, \
                tempfile.TemporaryDirectory() as folder:
            debug, build_id, place = debug_file(folder)
            reports = [debug_program.nameless(i, "big", build_id, [place])
                       for i in range(FIRST_VIEWS)]
            for report in reports:
                self.assertEqual(collector.post(report)[0], 201)
            with open(debug, "rb") as file:
                body = file.read()
            with Watch(collector.process.pid) as watch:
                others = Others(collector)
                crowd = Crowd(collector, [("PUT", "/api/v1/symbols/" + build_id, body)])
                rounds = others.beside(self, crowd)
                self.assertEqual(crowd.join(), [201])
                crowd = Crowd(collector, [("GET", "/api/v1/reports/" + report["id"])
                                          for report in reports])
                rounds += others.beside(self, crowd)
                self.assertEqual(crowd.join(), [200] * FIRST_VIEWS)
                for _, answer, _ in crowd.answers:
                    frame = self.first_frame(json.loads(answer))
                    self.assertTrue(json.loads(answer).get("names") == "pending" or
                                    frame.get("function") == "sink", frame)
                self.await_names(collector, reports)
            others.show(f"{FIRST_VIEWS} first views of {len(body) >> 20} MiB", rounds,
                        watch)
            self.check_memory(collector, watch)

    def first_frame(self, report):
        thread = [thread for thread in report["threads"] if thread.get("crashed")][0]
        return thread["backtrace"]["frames"][0]

    def await_names(self, collector, reports):
        limit = time.monotonic() + PATIENCE_S
        waiting = [report["id"] for report in reports]
        while waiting:
            _, report = collector.json("GET", "/api/v1/reports/" + waiting[-1])
            if self.first_frame(report).get("function") == "sink":
                waiting.pop()
                continue
            self.assertLess(time.monotonic(), limit, "names did not come")
            time.sleep(0.05)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
