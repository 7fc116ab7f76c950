# SPDX-License-Identifier: Apache-2.0
#
# Starts and clean ends are counted in the spool and sent to the collector once, which says
# how many sessions of a release crash.

import os
import socket
import struct
import unittest

import harness
from harness import Scene, example, program
from test_delivery import Collector

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


def end(process):
    process.communicate(timeout=60)


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
                end(self.live(scene, how))
                begun, ended = counted(scene)
                self.assertEqual((begun[1], ended[1]), (1, 2))
                self.assertEqual(begun[0], ended[0])

    def test_a_crash_and_a_kill_have_no_end_and_a_child_does_not_count(self):
        with Scene() as scene:
            scene.run([example("divide")])
            end(self.live(scene, "crashes"))
            process = self.live(scene, "forks")
            process.kill()
            end(process)
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
                end(self.live(scene, how))
            process = self.live(scene, "waits")
            process.kill()
            end(process)
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
            end(self.live(scene, "exits"))
            scene.command("upload", "--url", "http://127.0.0.1:1", CRASHHOOK_TIMEOUT="1s")
            self.assertEqual(len(counted(scene)), 2)
            collector = Collector(scene.folder)
            self.addCleanup(collector.kill)
            scene.command("upload", "--url", collector.url)
            self.assertEqual(collector.get("/api/v1/starts")["starts"][0]["starts"], 1)


if __name__ == "__main__":
    harness.main()
