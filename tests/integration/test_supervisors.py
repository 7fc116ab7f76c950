# SPDX-License-Identifier: Apache-2.0
#
# What a program dies of in a container, in front of each supervisor: `crashhook run`, its
# tracer, the agent that waits, and that agent where it traces too. Each has a report with
# the last breadcrumbs, the memory of the last minute and the cause.

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import harness
from harness import Scene, program, wait_for
from place import needs_root
from test_daemon import daemons
from test_kills import child_of

LIVES = program("lives")
MEMORY = "/sys/fs/cgroup/memory"
LIMIT = 60_000_000
DISK = 16 << 20
DAEMON = {"CRASHHOOK_KILLS": "yes", "CRASHHOOK_MODE": "daemon"}
SEIZE = {"CRASHHOOK_KILLS": "seize"}
HAS_CGROUPS = unittest.skipUnless(os.access(MEMORY + "/memory.limit_in_bytes", os.R_OK),
                                  "there are no cgroups of version 1")


def said(*command):
    """What a command complains of; empty where it worked."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return (done.stdout.strip() or f"{command[0]} ended with {done.returncode}") \
        if done.returncode else ""


def number_of(pid, name):
    """A line of the process's status."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(file.read().split(f"\n{name}:", 1)[1].split()[0])


class Kept:
    """A program of a scene of its own, and who keeps it. One that tells its number may be
    killed before anybody looks for it."""

    def __init__(self, supervisor, *command, tells_number=False):
        self.supervisor = supervisor
        self.scene = Scene()
        variables = {"run": {"LD_PRELOAD": ""}, "trace": {"LD_PRELOAD": ""},
                     "daemon": DAEMON, "seize": SEIZE}[supervisor]
        before = {"run": [harness.CRASHHOOK, "run", "--"],
                  "trace": [harness.CRASHHOOK, "run", "--via", "trace", "--"]}.get(supervisor, [])
        self.process = self.scene.start([*before, *command], **variables)
        assert self.process.stdout.readline() == b"ready\n", self.process.stderr.read()
        self.victim = self.process.pid
        if tells_number:
            self.victim = int(self.process.stderr.readline())
        elif supervisor == "run":
            self.victim = child_of(self.process)

    def end(self):
        """The status, and the report of the end, once there is one."""
        self.process.communicate(timeout=60)
        wait_for(self.scene.report_paths)  # an agent that waits is nobody's child
        report, = self.scene.reports()
        listed = json.loads(self.scene.command("list", "--json").stdout)
        assert len(listed) == 1, listed
        return self.process.returncode, report

    def await_look(self):
        """Until its supervisor has looked at the program, or traces it."""
        wait_for(self.is_seen)

    def is_seen(self):
        if self.supervisor in ("trace", "seize"):
            with open(f"/proc/{self.victim}/status", encoding="ascii") as file:
                return "TracerPid:\t0\n" not in file.read()
        life = self.life()
        if life is None:
            return False
        with open(os.path.join(self.scene.spool, life), "rb") as file:
            file.seek(4096)
            page = file.read()
        own = [self.process.pid] if self.supervisor == "run" else daemons(self.scene)
        return any(pid.to_bytes(4, "little") in page for pid in own)

    def life(self):
        names = os.listdir(self.scene.spool) if os.path.isdir(self.scene.spool) else []
        return next((n for n in names if n.startswith("life-")), None)


SUPERVISORS = ("run", "trace", "daemon", "seize")


class Keepers(unittest.TestCase):
    def kept(self, *command, supervisors=SUPERVISORS, **options):
        all_kept = []
        for supervisor in supervisors:
            one = Kept(supervisor, *command, **options)
            self.addCleanup(shutil.rmtree, one.scene.folder, ignore_errors=True)
            all_kept.append(one)
        return all_kept

    def assert_killed(self, one, cause, kind="killed"):
        status, report = one.end()
        self.assertEqual(status, -signal.SIGKILL)
        self.assertEqual(report["crash"]["kind"], kind)
        death = report["crash"]["death"]
        self.assertEqual(death["cause"], cause)
        self.assertEqual(death["keeper"], "daemon" if one.supervisor == "seize" else one.supervisor)
        self.assertEqual(report["breadcrumbs"][-1]["message"], "step 199")
        self.assertEqual(report["tags"], {"shard": "8"})
        self.assertGreater(report["process"]["memory"][-1]["rss_bytes"], 0)
        self.assertEqual(report["process"]["pid"], one.victim)
        # An agent in a full cgroup gets no memory while it holds the process.
        if one.supervisor == "trace" or (one.supervisor == "seize" and kind == "killed"):
            names = harness.names_of(harness.crashed_thread(report))
            # None, where a loaded machine has not read the stack in the second it is held.
            self.assertTrue("main" in names or not names, names)
        return report

    def test_a_kill_by_another_process(self):
        for one in self.kept(LIVES, "waits"):
            with self.subTest(one.supervisor):
                one.await_look()
                os.kill(one.victim, signal.SIGKILL)
                report = self.assert_killed(one, "signal")
                self.assertTrue(report["crash"]["summary"].startswith("Killed by SIGKILL, which a "
                                                                      "process sent"))

    def test_a_record_that_is_looked_for_while_its_supervisor_replaces_it(self):
        """strace holds the supervisor before it ends its copier, and before the rename."""
        one, = self.kept(LIVES, "waits", supervisors=("daemon",))
        one.await_look()
        wait_for(lambda: one.life() is not None)  # the copier's
        agents = daemons(one.scene)  # it, and its copier
        supervisor, = (pid for pid in agents if number_of(pid, "PPid") not in agents)
        calls = "pidfd_send_signal,renameat"
        held = subprocess.Popen(["strace", "-o", "/dev/null", "-p", str(supervisor), "-e",
                                 f"trace={calls}", "-e", f"inject={calls}:delay_enter=1500000"],
                                stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: number_of(supervisor, "TracerPid") == held.pid)
        os.kill(one.victim, signal.SIGKILL)
        one.process.communicate(timeout=60)
        while held.poll() is None:
            one.scene.command("list")
        wait_for(lambda: one.life() is None)
        self.assertEqual(len(one.scene.report_paths()), 1)

    def test_a_liveness_kill(self):
        """As Kubernetes does: SIGTERM, a grace, SIGKILL."""
        # Nothing of a program that ignores SIGTERM tells an agent that does not trace it.
        deaf = self.kept(LIVES, "deaf", supervisors=("run", "trace", "seize"))
        slow = self.kept(LIVES, "slow")
        for one in deaf + slow:
            one.await_look()
            # `crashhook run` is what is sent signals; it stands for the program.
            one.process.send_signal(signal.SIGTERM)
        time.sleep(2)
        for one in deaf + slow:
            with self.subTest(one.supervisor):
                os.kill(one.victim, signal.SIGKILL)
                report = self.assert_killed(one, "did-not-end")
                asked = report["crash"]["death"]["asked"]
                self.assertEqual((asked["name"], asked["pid"]), ("SIGTERM", os.getpid()))
                self.assertGreater(asked["before_ms"], 1000)
                self.assertRegex(report["crash"]["summary"],
                                 r"^Killed by SIGKILL, \d+\.\d s after SIGTERM from process \d+")

    def frozen_disk(self):
        missing = [tool for tool in ("mkfs.ext4", "fsfreeze") if not shutil.which(tool)]
        if missing:
            self.skipTest(f"no {missing[0]} here")
        folder = tempfile.mkdtemp(prefix="crashhook-test.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        image, place = os.path.join(folder, "image"), os.path.join(folder, "disk")
        os.mkdir(place)
        with open(image, "wb") as file:
            file.truncate(DISK)
        for command in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, place]):
            why = said(*command)
            if why:
                self.skipTest(f"{command[0]}: {why}")
        self.addCleanup(said, "umount", "-l", place)
        self.assertEqual(said("fsfreeze", "-f", place), "")
        self.addCleanup(said, "fsfreeze", "-u", place)
        return place

    @needs_root
    def test_a_program_that_hangs_in_the_kernel(self):
        place = self.frozen_disk()
        all_kept = self.kept(LIVES, "writes", os.path.join(place, "file"))
        for one in all_kept:
            one.await_look()
            one.process.send_signal(signal.SIGTERM)
        time.sleep(4)  # no signal ends them, and each second they are looked at
        for one in all_kept:
            os.kill(one.victim, signal.SIGKILL)
        self.assertEqual(said("fsfreeze", "-u", place), "")
        for one in all_kept:
            with self.subTest(one.supervisor):
                report = self.assert_killed(one, "did-not-end")
                death = report["crash"]["death"]
                self.assertEqual(death["asked"]["name"], "SIGTERM")
                self.assertGreaterEqual(death["stuck"]["for_ms"], 1000)
                self.assertIn("its first thread had been stuck in the kernel for",
                              report["crash"]["summary"])
                self.assertRegex(death["stuck"].get("function", ""), r"^$|^\w+$")

    @needs_root
    @HAS_CGROUPS
    def test_a_full_cgroup(self):
        for supervisor in SUPERVISORS:
            with self.subTest(supervisor):
                report = self.report_of_a_full_cgroup(supervisor)
                death = report["crash"]["death"]
                self.assertLess(abs(death["limit_bytes"] - LIMIT), 4096)
                self.assertGreater(death["peak_bytes"], LIMIT // 2)
                memory = report["process"]["memory"]
                self.assertLess(memory[0]["rss_bytes"], memory[-1]["rss_bytes"])
                self.assertGreater(len(memory), 2)

    @needs_root
    @HAS_CGROUPS
    def test_a_full_cgroup_whose_program_is_emptied_before_its_supervisor_looks(self):
        """The kernel does so 2 s after the kill, where a busy machine holds the program so long."""
        for supervisor in ("trace", "seize"):
            with self.subTest(supervisor):
                report = self.report_of_a_full_cgroup(supervisor, self.empty, 4 * LIMIT)
                memory = report["process"]["memory"]
                self.assertEqual(report["crash"]["death"]["cause"], "memory-cgroup")
                self.assertLess(memory[0]["rss_bytes"], memory[-1]["rss_bytes"])
                self.assertGreater(memory[-1]["rss_bytes"], LIMIT // 2)

    def empty(self, one):
        # It grows, so no stop of it awaits the tracer, and it is not the shell's any more.
        wait_for(lambda: number_of(one.victim, "VmRSS") > 10 << 10)
        one.await_look()
        tracer = number_of(one.victim, "TracerPid")
        os.kill(tracer, signal.SIGSTOP)
        try:
            wait_for(lambda: number_of(one.victim, "ShdPnd") == 100)  # SIGKILL, in base 16
            wait_for(lambda: number_of(one.victim, "VmRSS") < 1 << 10)
        finally:
            os.kill(tracer, signal.SIGCONT)

    def report_of_a_full_cgroup(self, supervisor, meanwhile=None, limit=LIMIT):
        group = os.path.join(MEMORY, f"crashhook-test.{os.getpid()}.{supervisor}")
        os.mkdir(group)
        try:
            with open(os.path.join(group, "memory.limit_in_bytes"), "w", encoding="ascii") as file:
                file.write(str(limit))
            one, = self.kept("/bin/sh", "-c", f"echo $$ >{group}/cgroup.procs; echo $$ >&2; "
                             'exec "$@"', "sh", LIVES, "fills", supervisors=(supervisor,),
                             tells_number=True)
            if meanwhile is None:
                return self.assert_killed(one, "memory-cgroup", "out-of-memory")
            meanwhile(one)
            return one.end()[1]
        finally:
            while said("rmdir", group) and os.path.exists(group):
                time.sleep(0.01)  # the last process has not left


if __name__ == "__main__":
    harness.main()
