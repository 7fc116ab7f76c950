# SPDX-License-Identifier: Apache-2.0
#
# Starts and clean ends are counted in the spool and sent to the collector once, which says
# how many sessions of a release crash.

import os
import socket
import struct
import unittest

import harness
from harness import Scene, example, program, wait_for
from test_daemon import daemons
from test_delivery import Collector, bodies, fault_server

LIVES = program("lives")


def counted(scene):
    """The records of all day files: (session, kind)."""
    found = []
    for name in sorted(os.listdir(scene.spool)):
        if name.startswith("starts-"):
            with open(os.path.join(scene.spool, name), "rb") as file:
                found += [(session, kind) for session, _, kind in
                          struct.iter_unpack("=QII", file.read())]
    return found


def end(scene, process):
    """Ends it, and waits until its supervisor has counted that."""
    process.communicate(timeout=60)
    wait_for(lambda: not daemons(scene))


class Starts(unittest.TestCase):
    def live(self, scene, how, **variables):
        process = scene.start([LIVES, how], CRASHHOOK_STARTS="yes", CRASHHOOK_RELEASE="1.2/b",
                              **variables)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def test_a_start_and_a_clean_end_are_two_records_of_one_session(self):
        for how in ("exits", "leaves"):
            with self.subTest(how=how), Scene() as scene:
                scene.run([example("divide")])  # makes the spool
                end(scene, self.live(scene, how))
                # Different processes write them.
                begun, ended = sorted(counted(scene), key=lambda one: one[1])
                self.assertEqual((begun[1], ended[1]), (1, 2))
                self.assertEqual(begun[0], ended[0])

    def test_a_crash_and_a_kill_have_no_end_and_a_child_does_not_count(self):
        with Scene() as scene:
            scene.run([example("divide")])
            end(scene, self.live(scene, "crashes"))
            process = self.live(scene, "forks")
            process.kill()
            end(scene, process)
            records = counted(scene)
            self.assertEqual([kind for _, kind in records], [1, 1])
            sessions = {f"{session:016x}" for session, _ in records}
            reports = [r for r in scene.reports() if "session" in r]
            self.assertEqual(len(reports), 1)
            self.assertIn(reports[0]["session"], sessions)

    def test_nothing_is_counted_where_nobody_asked(self):
        with Scene() as scene:
            scene.run([example("divide")])
            self.assertEqual(counted(scene), [])

    def test_the_collector_says_how_many_sessions_crash_and_counts_once(self):
        with Scene() as scene:
            collector = Collector(scene.folder)
            self.addCleanup(collector.kill)
            scene.run([example("divide")])
            for how in ("exits", "exits", "leaves", "crashes"):
                end(scene, self.live(scene, how))
            process = self.live(scene, "waits")
            process.kill()
            end(scene, process)
            scene.reports()  # once nobody works on them, all are sent
            for _ in range(2):
                self.assertEqual(scene.command("upload", "--url", collector.url).returncode, 0)
            self.assertEqual(counted(scene), [])
            rows = collector.get("/api/v1/starts?release=1.2/b")["starts"]
            self.assertEqual(rows, [{"release": "1.2/b", "host": socket.gethostname(),
                                     "starts": 5, "ends": 3, "crashes": 1, "unknown": 1,
                                     "crash_free": 0.8}])

    def test_a_batch_that_no_collector_took_waits(self):
        with Scene() as scene:
            scene.run([example("divide")])
            end(scene, self.live(scene, "exits"))
            scene.command("upload", "--url", "http://127.0.0.1:1", CRASHHOOK_TIMEOUT="1s")
            self.assertEqual(len(counted(scene)), 2)
            collector = Collector(scene.folder)
            self.addCleanup(collector.kill)
            scene.command("upload", "--url", collector.url)
            self.assertEqual(collector.get("/api/v1/starts")["starts"][0]["starts"], 1)


    def sessions_of(self, server):
        """The sessions that began and those that crashed, as a Sentry was told."""
        begun, crashed = [], []
        for request in server.requests:
            if b'"type":"sessions"' in request.plain():
                begun.append(bodies.read_sessions(request.plain()))
            else:
                bodies.read_event(request.plain())
                crashed.append(bodies.read_crashed_session(request.plain()))
        return begun, crashed

    def sentry(self, server):
        return "sentry+" + server.url.replace("//", "//k@") + "/7"

    def test_sentry_is_told_of_each_session_once_and_of_the_one_that_crashed(self):
        taken = fault_server.answer(200, b"{}")
        with Scene() as scene, fault_server.FaultServer(taken) as server:
            collector = Collector(scene.folder)
            self.addCleanup(collector.kill)
            scene.run([example("divide")], CRASHHOOK_RELEASE="1.2/b")
            for how in ("exits", "leaves", "crashes"):
                end(scene, self.live(scene, how))
            days = {name.split("-")[1] for name in os.listdir(scene.spool)
                    if name.startswith("starts-")}
            scene.reports()  # once nobody works on them, all are sent
            for _ in range(2):
                done = scene.command("upload", "--url",
                                     f"{collector.url} {self.sentry(server)}")
                self.assertEqual(done.returncode, 0, done.stderr)
            begun, crashed = self.sessions_of(server)
            # Midnight may have come in between, or an hour have ended.
            self.assertEqual(len(begun), len(days))
            self.assertEqual({release for release, _ in begun}, {"1.2/b"})
            self.assertEqual(sum(count for _, sums in begun for _, count in sums), 3)
            self.assertEqual(len(crashed), 2)
            ended, = [session for session in crashed if session is not None]
            report, = [r for r in scene.reports() if "session" in r]
            digits = ended["sid"].replace("-", "")
            self.assertEqual(digits, 2 * report["session"])
            self.assertEqual((ended["attrs"], ended["timestamp"]),
                             ({"release": "1.2/b"}, report["time"]))
            self.assertEqual(ended["started"], report["process"]["started"])
            rows = collector.get("/api/v1/starts")["starts"]
            self.assertEqual(sum(row["starts"] for row in rows), 3)
            self.assertEqual([name for name in os.listdir(scene.spool)
                              if name.startswith("starts-")], [])

    def test_sessions_wait_for_a_sentry_that_refuses_and_for_no_other_target(self):
        behaviours = fault_server.answer(503), fault_server.answer(200, b"{}")
        with Scene() as scene, fault_server.FaultServer(behaviours[0]) as server:
            scene.run([example("divide")])
            scene.command("upload", "--url", "http://127.0.0.1:1", CRASHHOOK_TIMEOUT="1s")
            end(scene, self.live(scene, "exits"))
            scene.command("upload", "--url", self.sentry(server), CRASHHOOK_TIMEOUT="1s")
            self.assertEqual(len(counted(scene)), 2)
            server.behaviours[:] = behaviours[1:]
            server.requests.clear()
            for _ in range(2):
                scene.command("upload", "--url", self.sentry(server))
            begun, _ = self.sessions_of(server)
            self.assertEqual([sum(count for _, count in sums) for _, sums in begun], [1])
            self.assertEqual(counted(scene), [])


if __name__ == "__main__":
    harness.main()
