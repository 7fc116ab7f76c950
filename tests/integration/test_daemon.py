# SPDX-License-Identifier: Apache-2.0
#
# CRASHHOOK_MODE=daemon: the agent is there before the crash, for a program that has
# given up the right to start one. The program has no child of it, no process is left
# when the program and those it forked are gone, and where the agent is lost a crash
# starts one, or leaves a record, as without it.

import os
import signal
import subprocess
import unittest

import harness
from harness import Scene, crashed_thread, names_of, program, wait_for
from place import needs_freedom_of_calls


def daemons(scene):
    """The agents that wait for programs of this scene."""
    found = []
    wanted = f"CRASHHOOK_SPOOL={scene.spool}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"crashhook-agent", b"--daemon"] and wanted in variables:
            found.append(int(pid))
    return found


def lives(scene):
    names = os.listdir(scene.spool) if os.path.isdir(scene.spool) else []
    return [name for name in names if name.startswith("life-")]


def is_kept(scene):
    """Whether the waiting agent has signed the life of the program."""
    files = lives(scene)
    if not files:
        return False
    with open(os.path.join(scene.spool, files[0]), "rb") as file:
        file.seek(4096)
        page = file.read()
    return any(pid.to_bytes(4, "little") in page for pid in daemons(scene))


class Daemon(unittest.TestCase):
    def run_way(self, scene, way, **variables):
        ended = scene.run([program("confined"), way], CRASHHOOK_MODE="daemon", **variables)
        wait_for(lambda: not daemons(scene))
        return ended

    def reported(self, way, tier="ptrace", count=1, **variables):
        with Scene() as scene:
            ended = self.run_way(scene, way, **variables)
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assert_reported(scene, tier, count)
            return ended

    def assert_reported(self, scene, tier="ptrace", count=1):
        scene.command("list")
        reports = scene.reports()
        self.assertEqual(len(reports), count)
        for report in reports:
            self.assertEqual(report["agent"]["tier"], tier)
            self.assertEqual(report["crash"]["signal"], signal.SIGSEGV)
            self.assertIn("crash", names_of(crashed_thread(report)))

    def test_a_crash_is_reported_where_no_process_may_be_made(self):
        self.reported("refused")

    def test_nor_when_making_one_would_end_the_program(self):
        self.reported("killed")
        self.reported("trapped")

    def test_a_crash_is_reported_where_kills_are(self):
        self.reported("refused", CRASHHOOK_KILLS="yes")

    def test_a_child_that_outlives_the_program_is_reported_where_kills_are(self):
        with Scene() as scene:
            process = scene.start([program("confined"), "outlives"], CRASHHOOK_MODE="daemon",
                                  CRASHHOOK_KILLS="yes")
            child = int(process.stdout.readline())
            wait_for(lambda: is_kept(scene))
            process.send_signal(signal.SIGUSR1)
            self.assertEqual(process.wait(), 0)
            wait_for(lambda: not lives(scene))  # its supervisor has seen that
            os.kill(child, signal.SIGUSR1)
            wait_for(lambda: not daemons(scene))
            process.communicate()
            self.assert_reported(scene)

    def test_it_sleeps_until_there_is_something_to_do(self):
        with Scene() as scene:
            process = scene.start([program("lives"), "waits"], CRASHHOOK_MODE="daemon")
            agent, = wait_for(lambda: daemons(scene))
            wait_for(lambda: harness.state_of(agent) == "S")
            process.kill()
            process.communicate()

    def test_without_it_such_a_program_leaves_a_record_unless_it_is_killed(self):
        for way, count in (("refused", 1), ("trapped", 1), ("killed", 0)):
            with self.subTest(way), Scene() as scene:
                ended = scene.run([program("confined"), way])
                number = signal.SIGSYS if way == "killed" else signal.SIGSEGV
                self.assertEqual(ended.signal, number)
                scene.command("list")
                self.assertEqual(len(scene.reports()), count)

    def crash(self, scene, process):
        """Crashes the program, and waits until its agent has ended as well."""
        process.send_signal(signal.SIGSEGV)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGSEGV)
        wait_for(lambda: not daemons(scene))

    def test_the_program_has_no_child_of_it(self):
        ended = self.reported("waits")
        self.assertEqual(ended.stdout, "no child\n")

    def test_forked_children_share_it(self):
        ended = self.reported("forks", count=9)
        self.assertEqual(ended.stdout, "8 crashed\n")

    def test_the_one_that_has_reported_a_child_waits_again(self):
        with Scene() as scene:
            process = scene.start([program("confined"), "outlives"], CRASHHOOK_MODE="daemon")
            child = int(process.stdout.readline())
            agent, = wait_for(lambda: daemons(scene))
            os.kill(child, signal.SIGUSR1)
            wait_for(scene.report_paths)
            self.assertEqual(len(scene.reports()), 1)  # which is complete
            wait_for(lambda: daemons(scene) == [agent])
            self.crash(scene, process)
            tiers = [report["agent"]["tier"] for report in scene.reports()]
            self.assertEqual(tiers, ["ptrace", "ptrace"])

    @needs_freedom_of_calls
    def test_a_program_that_closes_every_descriptor_is_reported_all_the_same(self):
        self.reported("closes")

    @needs_freedom_of_calls
    def test_nothing_is_sent_to_what_has_the_number_of_its_socket(self):
        ended = self.reported("reuses", count=2)
        self.assertEqual(ended.stdout, "nothing\n")

    def test_it_ends_with_a_program_that_does_not_crash(self):
        for way in ("ends", "executes"):
            with self.subTest(way), Scene() as scene:
                self.assertEqual(self.run_way(scene, way).status, 0)
                self.assertEqual(scene.report_paths(), [])

    def test_a_spool_that_is_made_anew_while_it_waits_gets_the_report(self):
        with Scene() as scene:
            os.mkdir(scene.spool, 0o700)
            process = scene.start([program("tells"), "hangs"], CRASHHOOK_MODE="daemon",
                                  CRASHHOOK_KILLS="no")
            wait_for(lambda: daemons(scene))
            self.assertEqual(os.listdir(scene.spool), [])
            os.rename(scene.spool, scene.spool + ".old")
            os.mkdir(scene.spool, 0o700)
            self.crash(scene, process)
            self.assertEqual(len(scene.reports()), 1)
            self.assertEqual(os.listdir(scene.spool + ".old"), [])

    def test_a_spool_that_is_on_another_disk_by_then_gets_the_report(self):
        with Scene() as scene:
            os.mkdir(scene.spool, 0o700)
            process = scene.start([program("tells"), "hangs"], CRASHHOOK_MODE="daemon",
                                  CRASHHOOK_KILLS="no")
            wait_for(lambda: daemons(scene))
            if subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "other", scene.spool],
                              check=False, stderr=subprocess.DEVNULL).returncode != 0:
                process.kill()
                self.skipTest("mounting is not allowed")
            try:
                self.crash(scene, process)
                report, = scene.reports()
                self.assertEqual(report["agent"]["tier"], "ptrace")
                self.assertNotIn("not in the spool", str(report["problems"]))
            finally:
                # Whoever names the report may still be at work there.
                wait_for(lambda: subprocess.run(["umount", scene.spool], check=False,
                                                stderr=subprocess.DEVNULL).returncode == 0)
            self.assertEqual(os.listdir(scene.spool), [])

    @needs_freedom_of_calls
    def test_a_killed_one_is_replaced_in_the_crash(self):
        with Scene() as scene:
            process = scene.start([program("tells"), "hangs"], CRASHHOOK_MODE="daemon")
            wait_for(lambda: daemons(scene))
            for pid in daemons(scene):
                os.kill(pid, signal.SIGKILL)
            process.send_signal(signal.SIGSEGV)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, -signal.SIGSEGV)
            reports = [r for r in scene.reports() if "crash" in r]
            self.assertEqual(len(reports), 1)

    def test_a_missing_one_is_as_none(self):
        with Scene() as scene:
            ended = self.run_way(scene, "", CRASHHOOK_AGENT="/nonexistent/agent")
            self.assertEqual(ended.signal, signal.SIGSEGV)
            scene.command("list")
            self.assertEqual(scene.reports()[0]["agent"]["tier"], "record")


if __name__ == "__main__":
    harness.main()
