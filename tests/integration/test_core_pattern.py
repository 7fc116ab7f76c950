# SPDX-License-Identifier: Apache-2.0
#
# Cores that the kernel pipes to us, and the command that has it do so. The kernel's own
# setting is changed where the full counts run: it is one for the whole machine.

import os
import pwd
import shutil
import subprocess
import sys
import time
import unittest

import harness
from harness import Scene, crashed_thread, names_of, program, wait_for

SCRIPT = os.path.join(harness.SOURCE, "packaging", "crashhook-core-pattern")
# The kernel takes no path with a blank.
# The kernel takes 127 bytes, with all arguments.
COMMAND = harness.through_link(harness.CRASHHOOK)
PATTERN = "/proc/sys/kernel/core_pattern"


def run(*arguments):
    return subprocess.run([SCRIPT, *arguments], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


class Machine(Scene):
    """A folder that stands for a machine's /, with the kernel's two settings in it."""

    def __init__(self, pattern="|/usr/share/apport/apport %p"):
        super().__init__()
        self.kernel = os.path.join(self.folder, "proc/sys/kernel")
        os.makedirs(self.kernel)
        for name, value in (("core_pattern", pattern), ("core_pipe_limit", "3")):
            with open(os.path.join(self.kernel, name), "w", encoding="ascii") as file:
                file.write(value + "\n")
        self.boot = os.path.join(self.folder,
                                 "etc/sysctl.d/60-crashhook-core-pattern.conf")

    def setting(self, name):
        return read(os.path.join(self.kernel, name))

    def install(self, *options):
        return run("install", "--root", self.folder, "--command", COMMAND, *options)


class CorePatternCommand(unittest.TestCase):
    def test_install_sets_it_now_and_for_the_next_start(self):
        with Machine() as machine:
            done = machine.install()
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            wanted = (f"|{COMMAND} core - --store --spool /var/lib/crashhook "
                      "--pid %P")
            self.assertEqual(machine.setting("core_pattern"), wanted)
            self.assertEqual(machine.setting("core_pipe_limit"), "16")
            boot = read(machine.boot).splitlines()
            self.assertIn("kernel.core_pattern=" + wanted, boot)
            self.assertIn("kernel.core_pipe_limit=16", boot)
            status = run("status", "--root", machine.folder)
            self.assertEqual(status.returncode, 0)
            self.assertIn("before: |/usr/share/apport/apport %p", status.stdout)

    def test_remove_gives_back_what_was_before_the_first_install(self):
        with Machine() as machine:
            machine.install()
            machine.install("--spool", "/srv/crashes")
            self.assertIn("/srv/crashes", machine.setting("core_pattern"))
            done = run("remove", "--root", machine.folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(machine.setting("core_pattern"), "|/usr/share/apport/apport %p")
            self.assertEqual(machine.setting("core_pipe_limit"), "3")
            self.assertFalse(os.path.exists(machine.boot))
            status = run("status", "--root", machine.folder)
            self.assertEqual(status.returncode, 1)
            self.assertIn("not installed", status.stdout)

    def test_remove_leaves_alone_what_somebody_set_since(self):
        with Machine() as machine:
            machine.install()
            with open(os.path.join(machine.kernel, "core_pattern"), "w",
                      encoding="ascii") as file:
                file.write("core.%p\n")
            done = run("remove", "--root", machine.folder)
            self.assertEqual(done.returncode, 0)
            self.assertIn("somebody else's", done.stderr)
            self.assertEqual(machine.setting("core_pattern"), "core.%p")

    def test_what_the_kernel_would_cut_or_split_is_refused(self):
        with Machine("core") as machine:
            for spool in ("/" + "x" * 120, "/var/lib/two words", "/var/%p"):
                done = machine.install("--spool", spool)
                self.assertEqual(done.returncode, 1, spool)
                self.assertEqual(machine.setting("core_pattern"), "core")
            self.assertEqual(run("install", "--what").returncode, 2)
            self.assertEqual(run().returncode, 2)


def owner_of_nothing():
    """The numbers of the user that reads cores of root's processes."""
    try:
        user = pwd.getpwnam("crashhook")
    except KeyError:
        return ("65534", "65534")
    return (str(user.pw_uid), str(user.pw_gid))


def confined_child(pid):
    """What /proc says of the child of pid once it is confined, else None."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    for child in children:
        with open(f"/proc/{child}/status", encoding="utf-8") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file
                          if ":\t" in line)
        # Nobody has written yet, so once confined it can only wait for the first byte.
        if status.get("Seccomp") == "2" and status["State"].startswith("S"):
            return status
    return None


def run_where_all_may_read(scene):
    """Crashes a copy of the program that the core's reader, who owns nothing, may open."""
    os.chmod(scene.folder, 0o755)
    return scene.run([shutil.copy(program("core_threads_pie"), scene.folder), "3"], core=True)


class StoredCores(unittest.TestCase):
    def check(self, scene, pid):
        reports = scene.reports()
        self.assertEqual(len(reports), 1, os.listdir(scene.spool))
        report = reports[0]
        self.assertEqual(report["revision"], 1)
        self.assertEqual(report["crash"]["name"], "SIGSEGV")
        self.assertEqual(report["process"]["pid"], pid)
        self.assertEqual(len(report["threads"]), 4)
        self.assertEqual(names_of(crashed_thread(report))[:2], ["crash", "descend"])
        return report

    def test_a_piped_core_is_stored_and_finished_like_a_crash(self):
        with Scene() as scene:
            scene.preload = None
            ended = run_where_all_may_read(scene)
            with open(scene.core(ended.pid), "rb") as core:
                # As the kernel starts it: no stdout, no stderr.
                done = subprocess.run(
                    ["/bin/sh", "-c", 'exec "$0" core - --store --spool "$1" >&- 2>&-',
                     harness.CRASHHOOK, scene.spool], stdin=core, check=False,
                    env=scene.environment({}))
            self.assertEqual(done.returncode, 0)
            report = self.check(scene, ended.pid)
            if os.geteuid() == 0:  # which user's it is, is not known
                self.assertEqual(report["process"]["read_as"]["uid"], 65534)
            self.assertEqual(len(os.listdir(scene.spool)), 1)
            shown = scene.command("show", scene.report_paths()[0])
            self.assertIn("core_threads.c", shown.stdout)

    def read_core_of(self, scene, core, **identity):
        """Has the core read as that of a process with that identity, and gives the lines
        of /proc/PID/status of whoever waits for its first byte."""
        dying = subprocess.Popen(["sleep", "infinity"], **identity)
        reader = subprocess.Popen(
            [harness.CRASHHOOK, "core", "-", "--store", "--spool", scene.spool, "--pid",
             str(dying.pid)], stdin=subprocess.PIPE, env=scene.environment({}))
        try:
            status = wait_for(lambda: confined_child(reader.pid))
            with open(core, "rb") as file:
                shutil.copyfileobj(file, reader.stdin)
            reader.stdin.close()
            self.assertEqual(reader.wait(timeout=60), 0)
        finally:
            reader.kill()
            dying.kill()
            dying.wait()
        return status

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_no_byte_of_a_core_is_read_with_more_rights_than_its_process_had(self):
        nobody = owner_of_nothing()
        cases = [({"user": 4711, "group": 4712, "extra_groups": [4713]},
                  ("4711", "4712", "4713")),
                 ({}, (*nobody, "")),  # of root's
                 ({"preexec_fn": lambda: os.setresuid(4711, 0, 0)}, (*nobody, ""))]
        with Scene() as scene:
            scene.preload = None
            ended = run_where_all_may_read(scene)
            for number, (identity, wanted) in enumerate(cases):
                with self.subTest(identity):
                    status = self.read_core_of(scene, scene.core(ended.pid), **identity)
                    self.assertEqual(set(status["Uid"].split()), {wanted[0]})
                    self.assertEqual(set(status["Gid"].split()), {wanted[1]})
                    self.assertEqual(status["Groups"].strip(), wanted[2])
                    for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                        self.assertEqual(int(status[kind], 16), 0)
                    self.assertEqual(status["NoNewPrivs"], "1")
                    self.assertEqual(status["Seccomp"], "2")
                    reports = scene.reports()
                    self.assertEqual(len(reports), number + 1)
                    for report in reports:
                        self.assertEqual(names_of(crashed_thread(report))[:2],
                                         ["crash", "descend"])
                    file = os.stat(scene.report_paths()[-1])
                    self.assertEqual((file.st_uid, file.st_mode & 0o777), (0, 0o600))

    @unittest.skipUnless(harness.FULL and os.geteuid() == 0 and os.access(PATTERN, os.W_OK),
                         "changes a setting of the whole machine")
    def test_the_kernel_hands_over_a_crash(self):
        before = read(PATTERN)
        with Scene() as scene:
            scene.preload = None
            installed = run("install", "--command", COMMAND, "--spool", scene.spool)
            try:
                self.assertEqual(installed.stderr, "")
                # Without a limit's leave there is no core file, but there is a pipe.
                ended = scene.run([program("core_threads_pie"), "3"])
                os.chmod(scene.folder, 0o755)
                worker = subprocess.Popen([program("core_threads_pie"), "3"], user=4711,
                                          group=4711, cwd="/", env=scene.environment({}))
                worker.wait(timeout=60)
                deadline = time.monotonic() + 30
                wanted = {ended.pid, worker.pid}
                while time.monotonic() < deadline and not wanted <= {
                        report["process"]["pid"] for report in scene.reports()}:
                    time.sleep(0.05)
            finally:
                removed = run("remove")
            self.assertEqual(removed.stderr, "")
            self.assertEqual(read(PATTERN), before)
            by_pid = {r["process"]["pid"]: r for r in scene.reports()}
            # Others on this machine may crash meanwhile.
            self.assertLessEqual({ended.pid, worker.pid}, set(by_pid))
            self.assertEqual(by_pid[worker.pid]["process"]["uid"], 4711)
            for pid in (ended.pid, worker.pid):
                found = by_pid[pid]
                self.assertEqual(names_of(crashed_thread(found))[:2], ["crash", "descend"])
            report = by_pid[ended.pid]
            # What the core does not have comes from /proc.
            self.assertEqual(report["process"]["working_directory"], scene.folder)
            self.assertEqual(report["host"]["hostname"], os.uname().nodename)
            self.assertEqual({t["name"] for t in report["threads"]}, {"core_threads_pi"})
            self.assertEqual(report["problems"], [])


if __name__ == "__main__":
    if not harness.cores_land_in_folder():
        print("test_core_pattern: kernel.core_pattern sends cores elsewhere, needs root")
        sys.exit(77)
    harness.main()
