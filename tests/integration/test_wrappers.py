#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# One death, one report: programs that start another one and wait for it. Many end as that
# ended, some by sending themselves its signal. The report is of the program that crashed,
# and the status is what it is without us.

import os
import pwd
import shutil
import signal
import subprocess
import sys
import unittest

import harness
from harness import Scene, crashed_thread, example, names_of

CRASH = example("null_write")
# `{}` is the program that crashes, as a word of a shell; other words are as they are.
PYTHON_RUN = """import os, subprocess
ended = subprocess.run([os.environ["CRASH"]])
os.kill(os.getpid(), -ended.returncode)"""
PYTHON_SPAWN = """import os, signal
pid = os.posix_spawn(os.environ["CRASH"], [os.environ["CRASH"]], os.environ)
signal.raise_signal(os.WTERMSIG(os.waitpid(pid, 0)[1]))"""
PYTHON_FORK = """import os
pid = os.fork()
if pid == 0:
    os.execv(os.environ["CRASH"], [os.environ["CRASH"]])
os.kill(os.getpid(), os.WTERMSIG(os.wait()[1]))"""
NODE = """const ended = require("child_process").spawnSync(process.env.CRASH);
process.kill(process.pid, ended.signal); setTimeout(() => 0, 10000)"""
PERL = """system($ENV{CRASH}); kill($? & 127, $$); sleep 10"""
WRAPPERS = [
    ["timeout", "20", "{}"],
    ["timeout", "--foreground", "20", "{}"],
    ["timeout", "20", "timeout", "20", "timeout", "20", "{}"],
    ["timeout", "20", "sh", "-c", "{}; exit 3"],
    ["timeout", "20", "sh", "-c", "{}; kill -SEGV $$"],
    ["unshare", "--fork", "{}"],
    ["unshare", "--fork", "--pid", "--mount-proc", "{}"],
    ["timeout", "20", "unshare", "--fork", "{}"],
    ["setsid", "--wait", "{}"],
    ["setsid", "{}"],
    ["nohup", "{}"],
    ["env", "A=b", "{}"],
    ["nice", "-n", "0", "{}"],
    ["ionice", "-c2", "{}"],
    ["chrt", "--other", "0", "{}"],
    ["taskset", "-c", "0", "{}"],
    ["setpriv", "--reuid", "0", "{}"],
    ["setarch", "-R", "{}"],
    ["prlimit", "--nofile=200", "{}"],
    ["choom", "-n", "0", "--", "{}"],
    ["stdbuf", "-o0", "{}"],
    ["/usr/bin/time", "{}"],
    ["eatmydata", "{}"],
    ["fakeroot", "{}"],
    ["flock", "lock", "{}"],
    ["runuser", "-u", "root", "--", "{}"],
    ["su", "root", "-c", "{}"],
    ["dash", "-c", "{}"],
    ["dash", "-c", "{}; exit 0"],
    ["dash", "-c", "{}; kill -SEGV $$"],
    ["bash", "-c", "{}; true"],
    ["bash", "-c", "{} | cat"],
    ["bash", "-c", "{} & wait $!"],
    ["bash", "-c", "{}; kill -SEGV $$"],
    ["script", "-qec", "{}", "/dev/null"],
    ["sh", "-c", "echo | xargs {}"],
    ["parallel", "{}", ":::", ""],
    ["make", "-s", "--eval", "all:; {}"],
    ["strace", "-f", "-o", "/dev/null", "{}"],
    ["dbus-run-session", "--", "{}"],
    ["start-stop-daemon", "--start", "--exec", "{}"],
    ["nsenter", "--mount=/proc/self/ns/mnt", "{}"],
    ["perf", "stat", "-o", "/dev/null", "{}"],
    [sys.executable, "-c", PYTHON_RUN],
    [sys.executable, "-c", PYTHON_SPAWN],
    [sys.executable, "-c", PYTHON_FORK],
    ["node", "-e", NODE],
    ["perl", "-e", PERL],
]
# What is traced cannot trace.
NOT_TRACED = {"strace"}
LEAST = 40
SENDS = """import os, signal, subprocess, sys
subprocess.run([sys.argv[1]])
os.kill(os.getpid(), int(sys.argv[2]))"""
ABORTS = """import os, subprocess, sys
subprocess.run([sys.argv[1]])
os.abort()"""


def filled(wrapper):
    return [word.replace("{}", CRASH) for word in wrapper]


class Wrappers(unittest.TestCase):
    def run_wrapped(self, scene, via, command):
        return scene.run([harness.CRASHHOOK, "run", "--via", via, "--", *command],
                         LD_PRELOAD="", CRASH=CRASH)

    def check(self, via, wrapper):
        with Scene() as scene:
            alone = scene.run(filled(wrapper), LD_PRELOAD="", CRASH=CRASH,
                              CRASHHOOK_ENABLE="no")
            ended = self.run_wrapped(scene, via, filled(wrapper))
            self.assertEqual((ended.signal, ended.status), (alone.signal, alone.status),
                             ended.stderr)
            if wrapper[0] == "setsid":  # it does not wait
                harness.wait_for(scene.report_paths)
            reports = scene.reports()
            self.assertEqual([report["crash"]["summary"] for report in reports],
                             [reports[0]["crash"]["summary"]] if reports else ["one"])
            # Some wrappers set HOME, by which the report shortens paths.
            executable = reports[0]["process"]["executable"]
            if executable.startswith("~"):
                executable = pwd.getpwuid(os.getuid()).pw_dir + executable[1:]
            self.assertEqual(executable, CRASH)
            self.assertIn("main", names_of(crashed_thread(reports[0])))

    def check_all(self, via, wrappers):
        there = [wrapper for wrapper in wrappers if shutil.which(wrapper[0])]
        for wrapper in there:
            with self.subTest(wrapper=wrapper):
                self.check(via, wrapper)
        print(f"{len(there)} of {len(wrappers)} wrappers")
        return len(there)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_wrapper_with_the_handler_is_not_reported_as_crashed(self):
        self.assertGreaterEqual(self.check_all("preload", WRAPPERS), LEAST)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_wrapper_that_is_traced_is_not_reported_as_crashed(self):
        traced = [wrapper for wrapper in WRAPPERS if wrapper[0] not in NOT_TRACED]
        self.assertGreaterEqual(self.check_all("trace", traced), LEAST)

    def summaries(self, scene, *command):
        self.run_wrapped(scene, "preload", command)
        return [report["crash"]["summary"] for report in scene.reports()]

    @unittest.skipUnless(shutil.which("sudo") and os.geteuid() == 0, "needs sudo and root")
    def test_a_child_without_the_handler_is_told_of_by_its_wrapper(self):
        with Scene() as scene:
            said = self.summaries(scene, "sudo", CRASH)
            self.assertEqual(said, ["SIGSEGV raised by the program itself, or passed on: a "
                                    "child of it had ended"])

    def test_a_signal_that_no_child_died_of_is_a_crash(self):
        with Scene() as scene:
            said = self.summaries(scene, sys.executable, "-c", SENDS, CRASH,
                                  str(int(signal.SIGBUS)))
            self.assertEqual(len(said), 2, said)
            self.assertIn("SIGBUS raised by the program itself", said[1])

    def test_a_signal_that_another_programs_child_died_of_is_a_crash(self):
        with Scene() as scene:
            self.assertEqual(len(self.summaries(scene, CRASH)), 1)
            said = self.summaries(scene, sys.executable, "-c", SENDS, "true",
                                  str(int(signal.SIGSEGV)))
            self.assertEqual(len(said), 2, said)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_child_whose_report_takes_seconds_is_told_of_once(self):
        for wrapper in (["unshare", "--fork", "--pid", "--mount-proc"], ["timeout", "20"]):
            with self.subTest(wrapper=wrapper), Scene() as scene:
                slow = os.path.join(scene.folder, "slow")
                with open(slow, "w", encoding="utf-8") as file:
                    file.write(f'#!/bin/sh\nsleep 3\n'
                               f'exec {harness.AGENT} "$@"\n')
                os.chmod(slow, 0o700)
                ended = self.run_wrapped(scene, "preload", [*wrapper, "env",
                                                            f"CRASHHOOK_AGENT={slow}", CRASH])
                self.assertGreater(ended.seconds, 3)
                report, = scene.reports()
                self.assertEqual(report["process"]["executable"], CRASH)

    def test_an_abort_after_that_of_a_child_is_a_crash(self):
        with Scene() as scene:
            said = self.summaries(scene, sys.executable, "-c", ABORTS, example("heap_abort"))
            self.assertEqual(len(said), 2, said)

    def test_an_abort_that_is_passed_on_is_told_once(self):
        with Scene() as scene:
            said = self.summaries(scene, "timeout", "20", example("heap_abort"))
            self.assertEqual(len(said), 1, said)

    def test_a_fault_after_that_of_a_child_is_a_crash(self):
        with Scene() as scene:
            faults = ("import subprocess, ctypes, sys; subprocess.run([sys.argv[1]]); "
                      "ctypes.string_at(8)")
            said = self.summaries(scene, sys.executable, "-c", faults, CRASH)
            self.assertEqual(len(said), 2, said)


if __name__ == "__main__":
    harness.main()
