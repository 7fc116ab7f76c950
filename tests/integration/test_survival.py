# SPDX-License-Identifier: Apache-2.0
#
# Every case of survival_cases.py: a real program crashes; the report says what it must,
# the program ends by the signal it would have ended by, in time, leaves a core file, and
# leaves nothing in this process, its parent, or behind. Some more rows of the fault list
# need a place of their own: a namespace, a control group, a folder that is gone.

import os
import signal
import subprocess
import time
import unittest

import harness
from harness import Scene, crashed_thread, names_of, wait_for
from place import SLOWER, needs_namespaces, needs_root, no_root
from survival_cases import CASES, SEGV, run_case, worst


def still_there(scene):
    """Processes that were started with this scene's spool and are not gone yet."""
    wanted = f"CRASHHOOK_SPOOL={scene.spool}".encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            continue
    return found


class Survival(unittest.TestCase):
    def nothing_is_left(self, scene):
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        # A process that executes something has no environment for a moment.
        wait_for(lambda: not still_there(scene))

    def told(self, case, report):
        crash = report["crash"]
        if case.kind:
            self.assertEqual(crash["kind"], case.kind)
        if case.signal is not None:
            self.assertEqual(crash["signal"], case.signal)
        if case.seen:
            self.assertIn(case.seen, names_of(crashed_thread(report)))
        self.assertGreaterEqual(len(report["threads"]), case.threads)
        self.assertTrue(crash["summary"])
        self.assertEqual(report["agent"]["tier"], case.tier)

    def survives(self, case):
        cores = harness.cores_land_in_folder()  # which keeps a file open
        before = sorted(os.listdir("/proc/self/fd"))
        with Scene() as scene:
            ended, reports = run_case(scene, case)
            if case.signal is not None:
                self.assertEqual(ended.signal, case.signal, ended.stderr)
                if case.core and cores:
                    self.assertIsNotNone(scene.core(ended.pid))
            self.assertLess(ended.seconds, case.seconds * SLOWER)
            if case.reports is not None:
                self.assertEqual(len(reports), case.reports, ended.stderr)
            if reports:
                self.told(case, reports[-1])
            if case.check:
                self.assertTrue(case.check(reports[-1]))
            if case.stdout is not None:
                self.assertEqual(ended.stdout, case.stdout)
            self.nothing_is_left(scene)
        self.assertEqual(sorted(os.listdir("/proc/self/fd")), before)

    def test_each_case_is_survived(self):
        for case in CASES:
            with self.subTest(case.name):
                if case.root and no_root():
                    self.skipTest(no_root())
                self.survives(case)

    def test_a_raw_child_is_reported_under_its_own_pid(self):
        with Scene() as scene:
            ended = scene.run(worst("in-raw-child"))
            pids = [report["process"]["pid"] for report in scene.reports()]
            self.assertEqual(sorted(pids), sorted([ended.pid, int(ended.stdout)]))

    def test_a_spool_that_was_removed_is_made_again(self):
        with Scene() as scene:
            scene.spool = os.path.join(scene.folder, "a", "b", "c")
            self.assertEqual(scene.run(worst("plain")).signal, SEGV)
            self.assertEqual(len(scene.reports()), 1)

    def test_a_spool_that_cannot_be_costs_the_report_and_nothing_else(self):
        with Scene() as scene:
            scene.spool = "/proc/nowhere/spool"
            ended = scene.run(worst("plain"))
            self.assertEqual(ended.signal, SEGV)
            self.assertLess(ended.seconds, 10)

    def test_a_control_group_without_room_for_a_process_leaves_a_record(self):
        group = f"/sys/fs/cgroup/pids/crashhook-test.{os.getpid()}"
        try:
            os.makedirs(group, exist_ok=True)
            with open(f"{group}/pids.max", "w", encoding="ascii") as file:
                file.write("1")
        except OSError as error:
            self.skipTest(f"no control group of processes here: {error}")

        def join():
            with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")

        with Scene() as scene:
            process = subprocess.run(worst("plain"), env=scene.environment({}), check=False,
                                     cwd=scene.folder, preexec_fn=join)
            self.assertEqual(process.returncode, -SEGV)
            scene.command("list")
            reports = scene.reports()
            self.assertEqual([r["agent"]["tier"] for r in reports], ["record"])
        os.rmdir(group)

    @needs_namespaces
    def test_a_program_in_namespaces_of_its_own_is_reported_with_names(self):
        with Scene() as scene:
            # What is mounted here is seen by the program and its agent alone.
            inside = os.path.join(scene.folder, "inside")
            os.mkdir(inside)
            script = ('mount -t tmpfs none "$0" && cp "$1" "$0/worst" && '
                      '"$2" run -- "$0/worst" plain')
            process = subprocess.run(
                # The first process of the namespace waits for the agent, as an init does.
                ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script,
                 inside, worst("")[0], harness.CRASHHOOK],
                env=scene.environment({}), cwd=scene.folder, check=False,
                stderr=subprocess.DEVNULL)
            self.assertEqual(process.returncode, 128 + SEGV)
            reports = [r for r in scene.reports() if "worst" in r["process"]["executable"]]
            self.assertEqual(len(reports), 1)
            self.assertIn("crash", names_of(crashed_thread(reports[0])))

    @needs_root
    def test_a_program_that_may_not_be_read_is_reported(self):
        with Scene() as scene:
            scene.admit_nobody()
            copy = scene.copy(worst("")[0])
            os.chmod(copy, 0o711)
            process = subprocess.run([copy, "plain"], env=scene.environment({}), check=False,
                                     cwd=scene.folder, user=harness.NOBODY, group=harness.NOBODY,
                                     extra_groups=[])
            self.assertEqual(process.returncode, -SEGV)
            self.assertEqual(len(scene.report_paths()), 1)

    def test_a_shell_that_waits_for_all_its_children_sees_none_of_ours(self):
        with Scene() as scene:
            ended = scene.run(["sh", "-c", '"$0" plain & wait; echo $?; wait', worst("")[0]],
                              timeout=60)
            self.assertEqual(ended.stdout, "0\n")
            self.assertEqual(len(scene.reports()), 1)

    def test_ignored_sigchld_stays_without_meaning_for_us(self):
        with Scene() as scene:
            process = subprocess.run(
                worst("plain"), env=scene.environment({}), cwd=scene.folder, check=False,
                preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
            self.assertEqual(process.returncode, -SEGV)
            self.assertEqual(len(scene.reports()), 1)

    def test_a_slow_reader_of_the_printed_report_gets_all_of_it(self):
        with Scene() as scene:
            scene.variables = {"CRASHHOOK_PRINT": "yes", "CRASHHOOK_PRESET": "full"}
            process = scene.start(worst("plain"))
            process.wait(timeout=60)
            time.sleep(0.5)  # a reader that takes its time is what this is about
            printed = b""
            while chunk := process.stderr.read1(64):
                printed += chunk
            process.stdout.close()
            process.stderr.close()
            self.assertIn(b"SIGSEGV in crash", printed)
            self.assertIn(b"Images:", printed)
            self.assertEqual(len(scene.reports()), 1)


if __name__ == "__main__":
    harness.main()
