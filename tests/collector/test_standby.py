#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_standby COLLECTOR: a PostgreSQL primary with a synchronous standby: a collector that
# only reads shows what the standby has, the primary is killed, the standby is promoted, and
# collectors go on with it. And lists that take too long, and collectors of two layouts over
# one database.

import subprocess
import sys
import time
import unittest

import postgres
import sample_reports
from running import Collector, wait_for
from sending import all_there_once, await_stored, start_senders

BINARY = None
RESUMED_S = 15   # from when a standby is promoted until a report is stored
SLACK_S = 10     # for a loaded machine


class Promoted(unittest.TestCase):
    def show_report(self, reader, report):
        """Waits until the standby has replayed what it has confirmed."""
        limit = time.monotonic() + 60
        while reader.request("GET", "/reports/" + report)[0] != 200:
            self.assertLess(time.monotonic(), limit, "the standby does not show it")
            time.sleep(0.05)

    def check_reader(self, reader, report):
        self.show_report(reader, report)
        for path in ("/", "/groups", "/api/v1/reports", "/readyz", "/healthz"):
            self.assertEqual(reader.request("GET", path)[0], 200, path)
        status, headers, answer = reader.request("POST", "/api/v1/reports", b"{}")
        self.assertEqual(status, 503)
        self.assertIn(b"only reads", answer)
        self.assertGreaterEqual(int(headers["Retry-After"]), 60)

    def test_a_promoted_standby_has_every_acknowledged_report_once(self):
        with postgres.Postgres() as primary:
            primary.database()
            with postgres.Standby(primary) as standby:
                hosts = f"{primary.folder},{standby.folder}"
                url = f"postgresql://crashhook@/made1?host={hosts}"
                with Collector(BINARY, store=url + "&target_session_attrs=read-write") as \
                        collector:
                    first = sample_reports.raw(30000)
                    self.assertEqual(collector.post(first)[0], 201)
                    standby.follow()
                    with Collector(BINARY, store=standby.address("made1"),
                                   extra=["--read-only", "yes"]) as reader:
                        self.check_reader(reader, first["id"])
                    senders, end = start_senders(self, collector)
                    for _ in range(20):
                        await_stored(self, senders, time.monotonic(), 30)
                    killed = time.monotonic()
                    primary.kill()
                    standby.promote()
                    promoted = time.monotonic()
                    resumed = await_stored(self, senders, promoted, RESUMED_S + SLACK_S)
                    end()
                    count = all_there_once(self, collector, senders, also=1)
        print(f"promoted {promoted - killed:.1f} s after the kill, stored again {resumed:.1f}"
              f" s after that, {count} reports", flush=True)


class Patience(unittest.TestCase):
    def test_a_list_that_takes_too_long_is_refused_before_anybody_gives_up(self):
        with postgres.Postgres() as server:
            with Collector(BINARY, store=server.database()) as collector:
                self.assertEqual(collector.post(sample_reports.raw(1))[0], 201)
                for path in ("/api/v1/groups", "/api/v1/reports", "/groups"):
                    self.assertEqual(collector.request("GET", path)[0], 200)
                with subprocess.Popen(
                        [server.programs + "/psql", "-h", server.folder, "-U", "crashhook",
                         "-At", "made1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                        text=True) as holder:
                    holder.stdin.write("BEGIN; LOCK TABLE groups, reports;"
                                       " SELECT 'held';\n")
                    holder.stdin.flush()
                    wait_for(lambda: holder.stdout.readline() == "held\n", "the lock")
                    for path in ("/api/v1/groups", "/api/v1/reports", "/groups"):
                        began = time.monotonic()
                        status, _, body = collector.request("GET", path)
                        took = time.monotonic() - began
                        self.assertEqual(status, 503)
                        self.assertIn(b"took too long to find", body)
                        self.assertLess(took, 9, path)
                    holder.stdin.close()
                for path in ("/api/v1/groups", "/api/v1/reports", "/groups"):
                    self.assertEqual(collector.request("GET", path)[0], 200)


class Layouts(unittest.TestCase):
    def refused(self, store, *extra, status=1):
        """What a collector says that does not start."""
        done = subprocess.run([BINARY, "--listen", "127.0.0.1:0", "--store", store, *extra],
                              stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, status)
        return done.stderr

    def test_a_collector_that_only_reads_makes_no_backups_and_says_so(self):
        said = self.refused("sqlite:/none", "--read-only", "yes", "--backup", "/none", status=2)
        self.assertIn("--backup is for the collector that writes", said)

    def test_collectors_of_two_layouts_share_one_that_allows_it(self):
        with postgres.Postgres() as server:
            store = server.database()
            self.assertIn("exist", self.refused(store, "--read-only", "yes"))
            with Collector(BINARY, store=store) as old:
                self.assertEqual(old.post(sample_reports.raw(1))[0], 201)
                # A newer collector adds a column, and says who can go on.
                server.ask("ALTER TABLE reports ADD COLUMN later text NOT NULL DEFAULT '';"
                           " UPDATE crashhook_layout SET oldest = version,"
                           " version = version + 1", "made1")
                self.assertEqual(old.post(sample_reports.raw(2))[0], 201)
            with Collector(BINARY, store=store) as old:
                self.assertEqual(old.post(sample_reports.raw(3))[0], 201)
                with Collector(BINARY, store=store, extra=["--read-only", "yes"]) as reader:
                    self.assertEqual(reader.json("GET", "/api/v1/groups")[0], 200)
            version = int(server.ask("SELECT version FROM crashhook_layout", "made1"))
            server.ask("UPDATE crashhook_layout SET oldest = version", "made1")
            self.assertIn(f"the database has layout {version}", self.refused(store))


if __name__ == "__main__":
    postgres.require()
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
