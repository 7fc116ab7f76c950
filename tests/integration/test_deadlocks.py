# SPDX-License-Identifier: Apache-2.0
#
# Threads that wait for one another are told as a deadlock, by the locks and the threads
# that hold them: of a live process, of one that was ended for it, and in its core. What
# has no owner, and what ends by itself, is no deadlock.

import json
import os
import shutil
import signal
import subprocess
import unittest

import harness
from harness import Scene

# What the program does: what the waiting threads wait for, and how the sentence goes.
DEADLOCKS = {
    "mutex": "mutex", "recursive": "mutex", "errorcheck": "mutex", "robust": "mutex",
    "rwlock": "rwlock",
}
LOCK = "(ledger|journal|pages|lines)"
MUSL_DEADLOCKS = ("recursive", "errorcheck", "robust")
MUSL_OTHERS = ("mutex", "rwlock", "self")
HARMLESS = ("timeout", "semaphore", "condition")


# The number of the call that a thread waits in.
FUTEX = "202" if os.uname().machine == "x86_64" else "98"


def wait_until_blocked(process, count):
    """Waits until that many threads of the process sleep on a futex, and stay there: at its
    start a thread may sleep on another for a moment."""
    before = None
    looks = 0
    for _ in range(20000):
        blocked = []
        for tid in sorted(os.listdir(f"/proc/{process.pid}/task")):
            try:
                with open(f"/proc/{process.pid}/task/{tid}/syscall", encoding="ascii") as file:
                    blocked.append((tid, file.read()))
            except OSError:
                pass
        asleep = sum(call.startswith(FUTEX + " ") for _, call in blocked)
        looks = looks + 1 if asleep >= count and blocked == before else 0
        before = blocked
        if looks == 100:
            return
        os.sched_yield()
        process.poll()
    raise AssertionError("the threads do not come to wait")


class Deadlocks(unittest.TestCase):
    def start(self, scene, how, count, program=None, **options):
        process = scene.start([program or harness.program("deadlocks"), how], **options)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        wait_until_blocked(process, count)
        return process

    def end(self, process, number=signal.SIGKILL):
        process.send_signal(number)
        process.communicate(timeout=60)

    def test_samples_say_who_waits_for_whom_in_each(self):
        with Scene() as scene:
            scene.preload = None
            process = self.start(scene, "mutex", 2)
            arguments = ("attach", "--samples", "2", "--every", "10")
            sampled = json.loads(scene.command(*arguments, "--json", str(process.pid)).stdout)
            text = scene.command(*arguments, str(process.pid)).stdout
            self.end(process)
        self.assertEqual([each["sample"] for each in sampled["waits"]], [1, 2])
        for each in sampled["waits"]:
            held = {wait["tid"]: wait["owner"] for wait in each["waits"] if "owner" in wait}
            self.assertTrue(any(held.get(owner) == tid for tid, owner in held.items()), each)
        self.assertRegex(text, r"\nSample 2:\n    thread \d+ waits for a ")
        self.assertRegex(text, r"waits for a mutex\n        that thread \d+ holds\n")

    def attached(self, how, count, program=None):
        """The report of a live process, and what people read of it."""
        with Scene() as scene:
            scene.preload = None
            process = self.start(scene, how, count, program)
            try:
                report = scene.command("attach", "--json", str(process.pid))
                text = scene.command("attach", str(process.pid))
            finally:
                self.end(process)
        self.assertEqual(report.returncode, 0, report.stderr)
        return json.loads(report.stdout), text.stdout

    def expect_circle(self, waits, object_kind):
        """Two threads that wait for each other."""
        circle = [wait for wait in waits if wait["object"] == object_kind]
        self.assertEqual(len(circle), 2, waits)
        self.assertEqual({wait["tid"] for wait in circle},
                         {wait["owner"] for wait in circle})
        return circle

    def test_two_threads_that_wait_for_each_other_are_a_deadlock_when_attached_to(self):
        for how, kind in DEADLOCKS.items():
            with self.subTest(how):
                report, text = self.attached(how, 3)
                self.expect_circle(report["waits"], kind)
                self.assertNotIn("crash", report)
                self.assertRegex(text, rf"(?m)^Deadlock: thread \d+ '(writer|reader)' holds "
                                       rf"{LOCK} and waits for {LOCK}, which thread \d+ "
                                       r"holds$")

    @unittest.skipUnless(shutil.which("musl-gcc"), "musl is not installed")
    def test_locks_of_musl_are_told_where_they_hold_an_owner(self):
        source = os.path.join(harness.SOURCE, "tests", "integration", "programs",
                              "deadlocks.c")
        with Scene() as scene:
            program = os.path.join(scene.folder, "deadlocks_musl")
            subprocess.run(["musl-gcc", "-O1", "-g", "-o", program, source], check=True)
            for how in MUSL_DEADLOCKS:
                with self.subTest(how):
                    report, text = self.attached(how, 3, program)
                    self.expect_circle(report["waits"], "mutex")
                    self.assertIn("Deadlock: thread ", text)
            for how in MUSL_OTHERS:
                with self.subTest(how):
                    report, text = self.attached(how, 1 if how == "self" else 3, program)
                    self.assertEqual([wait for wait in report["waits"]
                                      if "owner" in wait and wait["object"] != "thread"], [])
                    self.assertNotIn("Deadlock", text)

    def test_a_thread_that_waits_for_its_own_lock_is_a_deadlock(self):
        report, text = self.attached("self", 1)
        self.assertEqual(report["waits"][0]["owner"], report["waits"][0]["tid"])
        self.assertRegex(text, r"Deadlock: thread \d+ 'deadlocks' waits for .*, which it "
                               "holds itself")

    def test_a_thread_that_joins_one_that_waits_for_it_is_a_deadlock(self):
        report, text = self.attached("join", 2)
        kinds = {wait["object"] for wait in report["waits"]}
        self.assertEqual(kinds, {"thread", "mutex"})
        self.assertRegex(text, r"Deadlock: thread \d+ 'deadlocks' holds .* and waits for the "
                               r"end of thread \d+")

    def test_what_ends_by_itself_or_has_no_owner_is_no_deadlock(self):
        for how in HARMLESS:
            with self.subTest(how):
                report, text = self.attached(how, 3 if how == "timeout" else 1)
                self.assertNotIn("Deadlock", text)
                waits = report["waits"]
                if how == "timeout":
                    self.assertEqual([wait.get("timeout") for wait in waits].count(True), 1)
                else:
                    self.assertNotIn("owner", waits[0])
                    self.assertEqual(waits[0]["name"],
                                     "paid" if how == "condition" else "copies")

    def test_a_deadlock_that_is_ended_from_outside_is_told_as_one(self):
        with Scene() as scene:
            process = self.start(scene, "mutex", 3)
            self.end(process, signal.SIGABRT)
            crash = scene.reports()[0]["crash"]
        self.assertEqual(process.returncode, -signal.SIGABRT)
        self.assertEqual(crash["kind"], "deadlock")
        self.expect_circle(crash["waits"], "mutex")
        self.assertRegex(crash["summary"], rf"^Deadlock: thread \d+ '\w+' holds {LOCK} and "
                                          rf"waits for {LOCK}, which thread \d+ holds; "
                                          r"SIGABRT sent by ")

    def test_the_thread_that_gets_the_signal_takes_part_however_it_is_watched(self):
        said = {
            "self": r"^Deadlock: thread (\d+) 'deadlocks' waits for ledger, which it holds",
            "left": r"^Deadlock: thread (\d+) 'deadlocks' waits for ledger, which thread \d+ "
                    r"held when it ended; ",
            "join": r"^Deadlock: thread \d+ .* waits for the end of thread \d+",
        }
        for how, words in said.items():
            for traced in (False, True):
                with self.subTest(how, traced=traced), Scene() as scene:
                    process = self.start_watched(scene, how, traced)
                    crash = scene.reports()[0]["crash"]
                    self.assertEqual(process.returncode, -signal.SIGABRT)
                    self.assertEqual(crash["kind"], "deadlock")
                    self.assertRegex(crash["summary"], words)

    def start_watched(self, scene, how, traced):
        """Sends SIGABRT to the first thread of the program once it waits."""
        command = [harness.program("deadlocks"), how]
        if traced:
            scene.preload = None
            command = [harness.CRASHHOOK, "run", "--via", "trace", "--", *command]
        process = scene.start(command)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        wait_until_blocked(process, 2 if how == "join" else 1)
        self.end(process, signal.SIGABRT)
        return process

    @unittest.skipUnless(harness.cores_land_in_folder(), "cores go elsewhere")
    def test_a_core_tells_a_deadlock_as_well(self):
        with Scene() as scene:
            scene.preload = None
            process = self.start(scene, "mutex", 3, core=True)
            self.end(process, signal.SIGQUIT)
            done = scene.command("core", "--json", scene.core(process.pid))
        crash = json.loads(done.stdout)["crash"]
        self.assertEqual(crash["kind"], "deadlock")
        self.expect_circle(crash["waits"], "mutex")


if __name__ == "__main__":
    harness.main()
