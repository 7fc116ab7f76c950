# SPDX-License-Identifier: Apache-2.0
#
# Cores that the kernel pipes to us, and the command that has it do so. The kernel's own
# setting is changed where the full counts run: it is one for the whole machine.

import os
import subprocess
import sys
import time
import unittest

import harness
from harness import Scene, crashed_thread, names_of, program

SCRIPT = os.path.join(harness.SOURCE, "packaging", "crashhook-core-pattern")
# The kernel takes no path with a blank.
COMMAND = harness.without_blanks(harness.CRASHHOOK)
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
            ended = scene.run([program("core_threads_pie"), "3"], core=True)
            with open(scene.core(ended.pid), "rb") as core:
                # As the kernel starts it: no stdout, no stderr.
                done = subprocess.run(
                    ["/bin/sh", "-c", 'exec "$0" core - --store --spool "$1" >&- 2>&-',
                     harness.CRASHHOOK, scene.spool], stdin=core, check=False,
                    env=scene.environment({}))
            self.assertEqual(done.returncode, 0)
            self.check(scene, ended.pid)
            self.assertEqual(len(os.listdir(scene.spool)), 1)
            shown = scene.command("show", scene.report_paths()[0])
            self.assertIn("core_threads.c", shown.stdout)

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
                deadline = time.monotonic() + 30
                while not scene.report_paths() and time.monotonic() < deadline:
                    time.sleep(0.05)
            finally:
                removed = run("remove")
            self.assertEqual(removed.stderr, "")
            self.assertEqual(read(PATTERN), before)
            report = self.check(scene, ended.pid)
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
