#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_senders COLLECTOR CRASHHOOK: very many `crashhook upload --watch`, each with a report,
# wait for a collector that is down. When it is back they deliver all, and do not come in
# packs: how many come in each second is printed. A reduced number; CRASHHOOK_FULL=1: 1,000.

import collections
import json
import os
import resource
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))

import sample_reports  # noqa: E402
from ports import held_port  # noqa: E402
from running import Collector  # noqa: E402

BINARY, CRASHHOOK = None, None
FULL = os.environ.get("CRASHHOOK_FULL") == "1"
SENDERS = 1000 if FULL else 24
OUTAGE_S = 30 if FULL else 3
PATIENCE_S = 300


class Arrivals(threading.Thread):
    """Reads a collector's log until so many reports were stored: when requests came."""

    def __init__(self, log, count):
        super().__init__(daemon=True)
        self.log, self.count = log, count
        self.seconds = collections.Counter()
        self.answers = collections.Counter()
        self.began = time.monotonic()
        self.took = None

    def run(self):
        while self.answers[201] < self.count:
            line = self.log.readline()
            if not line:
                return
            seen = json.loads(line)
            if seen["path"] == "/api/v1/reports" and seen["method"] == "POST":
                self.seconds[int(time.monotonic() - self.began)] += 1
                self.answers[seen["status"]] += 1
        self.took = time.monotonic() - self.began


class Senders(unittest.TestCase):
    def make_spool(self, collector, number):
        report = sample_reports.null_write(number)
        spool = collector.path(f"spool{number}")
        os.mkdir(spool, 0o700)
        with open(f"{spool}/{report['id']}.json", "w", encoding="utf-8") as file:
            json.dump(report, file)
        return spool, report["id"]

    def begin(self, spool, url):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("CRASHHOOK_")}
        return subprocess.Popen([CRASHHOOK, "upload", "--watch", "--spool", spool, "--url",
                                 url], env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self, processes):
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()

    def test_after_an_outage_all_is_delivered_and_nobody_comes_in_packs(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        port = held_port()
        with Collector(BINARY, extra=["--listen", f"127.0.0.1:{port}",
                                      "--log", "requests"]) as collector:
            collector.stop()
            spools = [self.make_spool(collector, i) for i in range(SENDERS)]
            processes = []
            try:
                for spool, _ in spools:
                    processes.append(self.begin(spool, f"http://127.0.0.1:{port}"))
                time.sleep(OUTAGE_S)  # senders find nobody, and wait longer each time
                collector.start()
                arrivals = Arrivals(collector.process.stderr, SENDERS)
                arrivals.start()
                arrivals.join(PATIENCE_S)
            finally:
                self.end(processes)
            self.assertIsNotNone(arrivals.took, "not all was delivered")
            found, cursor = set(), ""
            while cursor is not None:
                _, page = collector.json("GET", "/api/v1/reports?limit=200" +
                                         (f"&cursor={cursor}" if cursor else ""))
                found |= {row["id"] for row in page["reports"]}
                cursor = page["next"]
            self.assertEqual(found, {identity for _, identity in spools})
        seconds = [arrivals.seconds[i] for i in range(int(arrivals.took) + 1)]
        print(f"{SENDERS} senders after {OUTAGE_S} s: {sum(arrivals.answers.values())} requests"
              f" in {arrivals.took:.1f} s, at most {max(seconds)} in a second: {seconds}",
              flush=True)


if __name__ == "__main__":
    BINARY, CRASHHOOK = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
