# SPDX-License-Identifier: Apache-2.0
#
# Many crashes in random states: of a program that allocates, loads libraries, forks, logs
# and locks in several threads; of the same with an agent that is killed at a random
# moment; and of a program that has overwritten what the agent reads. Every one leaves
# one report and ends by its signal in time. CRASHHOOK_FULL=1 runs the full counts;
# CRASHHOOK_SEED begins somewhere else, and the seed is printed.

import os
import random
import signal
import time
import unittest

import harness
from harness import FULL, Scene, program

SEED = harness.SEED
WAYS = {"null": signal.SIGSEGV, "abort": signal.SIGABRT, "divide": signal.SIGFPE,
        "illegal": signal.SIGILL, "raise": signal.SIGBUS, "heap": signal.SIGABRT}
DEADLINE = 30  # seconds, the default of CRASHHOOK_TIMEOUT
HOSTILE_DEADLINE = 30


class Stress(unittest.TestCase):
    def count(self, full, reduced):
        count = full if FULL else reduced
        print(f"seed {SEED}, {count} crashes", flush=True)
        return count

    def crash_often(self, scene, count, variables_of):
        """Crashes count times; the longest, in seconds."""
        longest = 0
        for i in range(count):
            way, number = list(WAYS.items())[i % len(WAYS)]
            seed = (SEED + i) % 2**32
            ended = scene.run([program("stress"), way, str(seed)], timeout=120,
                              CRASHHOOK_SYMBOLIZE="off", **variables_of(i))
            self.assertEqual(ended.signal, number, f"{way} {seed}: {ended.stderr}")
            self.assertLess(ended.seconds, DEADLINE, f"{way} {seed}")
            longest = max(longest, ended.seconds)
        return longest

    def only_whole_reports(self, scene, count):
        listed = scene.command("list", timeout=600)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        reports = scene.reports()
        self.assertEqual(len({(r["process"]["pid"], r["time"]) for r in reports}), count)
        self.assertEqual(len(reports), count)
        self.assertEqual([n for n in os.listdir(scene.spool) if n.endswith(".record")], [])
        return reports

    def test_every_crash_in_a_random_state_is_reported(self):
        count = self.count(1000, 36)
        with Scene() as scene:
            scene.variables["CRASHHOOK_SPOOL_MAX"] = "100000,4G"
            longest = self.crash_often(scene, count, lambda i: {})
            reports = self.only_whole_reports(scene, count)
        tiers = {r["agent"]["tier"] for r in reports}
        self.assertEqual(tiers, {"ptrace"})
        print(f"{count} reports, the longest life {longest * 1000:.0f} ms", flush=True)

    def test_every_crash_leaves_its_traces_when_the_agent_is_killed(self):
        count = self.count(1000, 36)
        chance = random.Random(SEED)

        def killed(_):
            return {"CRASHHOOK_AGENT": program("killed_agent"),
                    "CRASHHOOK_TEST_AGENT": harness.AGENT,
                    "CRASHHOOK_TEST_KILL_US": str(chance.randrange(12000))}

        with Scene() as scene:
            scene.variables["CRASHHOOK_SPOOL_MAX"] = "100000,4G"
            longest = self.crash_often(scene, count, killed)
            reports = self.only_whole_reports(scene, count)
        records = sum(r["agent"]["tier"] == "record" for r in reports)
        self.assertGreater(records, 0)
        print(f"{count} reports, {records} of them from records, the longest life "
              f"{longest * 1000:.0f} ms", flush=True)

    def test_hostile_memory_neither_crashes_nor_holds_the_agent(self):
        count = self.count(10000, 60)
        longest = 0
        for i in range(count):
            seed = (SEED + i) % 2**32
            with Scene() as scene:
                names = {} if i % 10 == 0 else {"CRASHHOOK_SYMBOLIZE": "off"}
                ended = scene.run([program("hostile"), str(seed)], timeout=60,
                                  CRASHHOOK_TIMEOUT=f"{HOSTILE_DEADLINE}s", **names)
                self.assertEqual(ended.signal, signal.SIGSEGV,
                                 f"seed {seed}: exit {ended.status}")
                self.assertLess(ended.seconds, HOSTILE_DEADLINE / 2, f"seed {seed}")
                scene.command("list")
                tiers = [r["agent"]["tier"] for r in scene.reports()]
                self.assertEqual(tiers, ["ptrace"], f"seed {seed}")
                longest = max(longest, ended.seconds)
        print(f"{count} cases, the longest life {longest * 1000:.0f} ms", flush=True)


if __name__ == "__main__":
    harness.main()
