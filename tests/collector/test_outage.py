#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_outage COLLECTOR: the database's host vanishes, comes back, or leaves its work to
# another address; its server hangs, or ends sessions; nobody waits for ever, and what was
# acknowledged is there once. Packets are dropped in a network namespace of the test's own.

import concurrent.futures
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))

import place
import postgres
import running
import sample_reports
from running import Collector
from sending import all_there_once, await_stored, start_senders

BINARY = None
MARK = "CRASHHOOK_TEST_NETWORK"
RESUMED_S = 15   # from when a database can be reached until a report is stored
STOPPED_S = 20   # from SIGTERM until the collector has ended; main.c has it as STOP_MAX_S
ANSWERED_S = 5   # until an upload is answered
SLACK_S = 10     # for a loaded machine
READERS = 3      # requests at a time
ROUNDS = 60      # of ending all sessions
RULES = """
table inet vanish {
  set gone { type ipv4_addr; }
  chain out { type filter hook output priority 0;
              ip daddr @gone drop; ip saddr @gone drop; }
}
"""


def no_network():
    """Why no network of our own can be had; empty where it can."""
    return (place.no_root() or place.refusal("unshare", "--net", "nft", "list", "tables") or
            place.refusal("unshare", "--net", "ip", "link", "set", "lo", "up"))


def own_network():
    """Runs this program again in a network namespace of its own."""
    why = no_network()
    if why:
        print(f"SKIPPED: no network namespace with packet filter: {why}")
        sys.exit(77)
    os.environ[MARK] = "1"
    os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])


def nft(rules):
    subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)


def vanish(address):
    nft(f"add element inet vanish gone {{ {address} }}")


def come_back():
    nft("flush set inet vanish gone")


class Outage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        nft(RULES)
        cls.server = cls.enterClassContext(postgres.Postgres(
            options=["listen_addresses=127.0.0.2,127.0.0.3"]))

    def setUp(self):
        self.addCleanup(come_back)
        self.name = self.server.database().split("/")[3].split("?")[0]

    def address(self, hosts):
        return f"postgresql://crashhook@{hosts}/{self.name}"

    def await_ready(self, collector, wanted, patience):
        limit = time.monotonic() + patience
        while collector.request("GET", "/readyz")[0] != wanted:
            self.assertLess(time.monotonic(), limit, f"/readyz did not become {wanted}")
            time.sleep(0.1)

    def assert_alive(self, collector):
        self.assertEqual(collector.json("GET", "/healthz"), (200, {"status": "ok"}))

    def test_a_host_that_vanishes_and_comes_back_is_used_again(self):
        with Collector(BINARY, store=self.address("127.0.0.2:5432")) as collector:
            senders, end = start_senders(self, collector)
            await_stored(self, senders, time.monotonic(), 30)
            vanish("127.0.0.2,127.0.0.3")
            self.await_ready(collector, 503, RESUMED_S + SLACK_S)
            self.assert_alive(collector)
            come_back()
            resumed = await_stored(self, senders, time.monotonic(), RESUMED_S + SLACK_S)
            self.await_ready(collector, 200, RESUMED_S)
            await_stored(self, senders, time.monotonic(), RESUMED_S)
            end()
            count = all_there_once(self, collector, senders)
        print(f"back: stored again after {resumed:.1f} s, {count} reports", flush=True)

    def test_another_host_takes_over_from_one_that_vanished(self):
        hosts = "127.0.0.2:5432,127.0.0.3:5432"
        with Collector(BINARY, store=self.address(hosts)) as collector:
            senders, end = start_senders(self, collector)
            await_stored(self, senders, time.monotonic(), 30)
            vanish("127.0.0.2")
            gone = time.monotonic() + 0.5  # what was on its way has arrived
            resumed = await_stored(self, senders, gone, RESUMED_S + SLACK_S) + 0.5
            end()
            all_there_once(self, collector, senders)
        print(f"another host: stored again after {resumed:.1f} s", flush=True)

    def test_a_collector_ends_though_its_database_has_vanished(self):
        with Collector(BINARY, store=self.address("127.0.0.2:5432")) as collector:
            senders, end = start_senders(self, collector)
            await_stored(self, senders, time.monotonic(), 30)
            vanish("127.0.0.2")
            began = time.monotonic()
            status, said = collector.stop()
            took = time.monotonic() - began
            end()
        print(f"stopped without a database after {took:.1f} s", flush=True)
        self.assertEqual(status, 0, said)
        self.assertLess(took, STOPPED_S + SLACK_S)

    def test_a_collector_ends_while_it_cannot_reach_its_database_yet(self):
        vanish("127.0.0.2")
        process = subprocess.Popen([BINARY, "--listen", "127.0.0.1:0", "--store",
                                    self.address("127.0.0.2:5432")])
        while self.is_connecting(process.pid) is False:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=SLACK_S), -signal.SIGTERM)

    def is_connecting(self, pid):
        with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
            # A connection to port 5432 in the state SYN_SENT.
            return any(":1538 02 " in line for line in file)

    def test_a_server_that_hangs_keeps_nobody_for_ever(self):
        with Collector(BINARY, store=self.address("127.0.0.2:5432")) as collector:
            senders, end = start_senders(self, collector)
            await_stored(self, senders, time.monotonic(), 30)
            self.server.signal(signal.SIGSTOP)
            try:
                self.await_ready(collector, 503, RESUMED_S + SLACK_S)
                self.assert_alive(collector)
                began = time.monotonic()
                status, said = collector.stop()
                took = time.monotonic() - began
            finally:
                self.server.signal(signal.SIGCONT)
            end()
        print(f"stopped beside a server that hangs after {took:.1f} s", flush=True)
        self.assertEqual(status, 0, said)
        self.assertLess(took, STOPPED_S + SLACK_S)

    def test_an_upload_is_answered_soon_while_the_server_hangs(self):
        report = sample_reports.raw(2)
        with Collector(BINARY, store=self.address("127.0.0.2:5432")) as collector:
            self.assertEqual(collector.post(sample_reports.raw(1))[0], 201)
            self.server.signal(signal.SIGSTOP)
            try:
                began = time.monotonic()
                answers = [collector.post(report)[0] for _ in range(2)]
                took = time.monotonic() - began
            finally:
                self.server.signal(signal.SIGCONT)
            running.wait_for(lambda: collector.post(report)[0] in (200, 201),
                             "the report is stored")
            self.assertEqual(len(collector.json("GET", "/api/v1/reports")[1]["reports"]), 2)
        print(f"two uploads beside a server that hangs answered within {took:.1f} s",
              flush=True)
        self.assertEqual(answers, [503, 503])
        self.assertLess(took, 2 * ANSWERED_S)

    def test_a_server_that_is_killed_and_started_again_is_used_again(self):
        with Collector(BINARY, store=self.address("127.0.0.2:5432")) as collector:
            senders, end = start_senders(self, collector)
            await_stored(self, senders, time.monotonic(), 30)
            self.server.kill()
            self.server.start()
            resumed = await_stored(self, senders, time.monotonic(), RESUMED_S + SLACK_S)
            end()
            all_there_once(self, collector, senders)
        print(f"killed: stored again after {resumed:.1f} s", flush=True)

    def test_sessions_that_the_server_ends_are_opened_again(self):
        with Collector(BINARY, store=self.address("127.0.0.2:5432")) as collector, \
             concurrent.futures.ThreadPoolExecutor(2 * READERS) as pool:
            self.assertEqual(collector.post(sample_reports.raw(1))[0], 201)

            def read():
                return collector.request("GET", "/api/v1/reports")[0]
            answers = []
            for _ in range(ROUNDS):  # while they open, ask and wait
                asked = [pool.submit(read) for _ in range(READERS)]
                self.server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                f" WHERE datname = '{self.name}'")
                asked += [pool.submit(read) for _ in range(READERS)]
                answers += [answer.result() for answer in asked]
            self.assertEqual([read() for _ in range(4 * READERS)], 4 * READERS * [200])
            self.assertEqual(collector.post(sample_reports.raw(2))[0], 201)
        print(f"ended sessions: {answers.count(200)} of {len(answers)} answers were 200",
              flush=True)
        self.assertLessEqual(set(answers), {200, 503})


if __name__ == "__main__":
    postgres.require()
    if MARK not in os.environ:
        own_network()
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
