# SPDX-License-Identifier: Apache-2.0
#
# One thread crashes, and another one ends the process in a different way meanwhile: the
# process still dies of the crash, and there is one report of it. The figures are of real-time
# priority, because at another one the scheduler may keep the crashed thread from running
# at all before the process has ended; that happens to programs without a handler, too.
#
# CRASHHOOK_FULL=1: 100 runs for each cell, and cells at normal priority.

import glob
import os
import signal
import subprocess
import time
import unittest

import harness
from harness import AGENT, CRASHHOOK, FULL, Scene, example, program

RUNS = 100 if FULL else 1
# What may be lost of a cell's runs in full, where the machine itself may stop for a while;
# of a way's runs else.
LOST = 0.03 if FULL else 0.05
AT_MOST = 10  # seconds; a process that waits for CRASHHOOK_TIMEOUT takes 30

# Those by calls of libc, from 50 microseconds on.
HOOKED = ("return", "exit", "_exit", "_Exit", "quick_exit", "vfork", "execve", "execv", "execvp",
          "execl", "execlp", "execle", "kill", "sigkill", "raise", "pthread_kill", "abort",
          "handler", "outside")
# Those that no hook sees, from 300 on.
DIRECT = ("raw_kill", "raw_exec", "raw_exit")
DELAYS = (50, 100, 300, 1000) if FULL else (100,)
DIRECT_DELAYS = (300, 1000) if FULL else (300,)
SPINS = (0, 5, 50, 500, 5000) if FULL else (0, 500)
TOLD_DELAYS = (5, 10, 20, 40, 60, 80, 100)
RUNS_TOLD = 100 if FULL else 2
CUT_OFF = "crashed, and before that was reported it ended"


def real_time():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))


def may_be_real_time():
    try:
        subprocess.run(["true"], preexec_fn=real_time, check=True)
    except (subprocess.SubprocessError, PermissionError):
        return False
    return True


class Way:
    """How the program gets its handler."""

    def __init__(self, binary="races", prefix=(), preload=False, **variables):
        self.command = [*prefix, program(binary)]
        self.variables = variables
        self.preload = harness.HANDLER if preload else ""


WAYS = {
    "linked": Way("races_linked"),
    "preloaded": Way(preload=True),
    "daemon": Way(preload=True, CRASHHOOK_MODE="daemon"),
    "run": Way(prefix=(CRASHHOOK, "run", "--via", "preload", "--")),
    "traced": Way(prefix=(CRASHHOOK, "run", "--via", "trace", "--")),
}


class Run:
    """One run in a spool of its own, and what became of it."""

    def __init__(self, scene, way, how, delay, idle=2, priority=real_time):
        for path in glob.glob(os.path.join(scene.spool, "*")):
            os.unlink(path)
        self.what = f"{how} after {delay} us"
        began = time.monotonic()
        done = subprocess.run(
            [*way.command, how, str(delay), str(idle)], check=False, timeout=120,
            cwd=scene.folder, preexec_fn=priority,
            env=scene.environment({"LD_PRELOAD": way.preload, **way.variables}),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.seconds = time.monotonic() - began
        self.status = done.returncode
        self.stderr = done.stderr.decode(errors="replace")

    def crashed(self):
        return self.status == -signal.SIGSEGV


class Races(unittest.TestCase):
    def setUp(self):
        if not may_be_real_time():
            self.skipTest("no real-time priority may be set")

    def is_reported_once(self, scene, run):
        """A report has the frame that crashed, in the test's own source."""
        reports = scene.reports()
        self.assertEqual(len(reports), 1, run.what)
        frame = harness.frames_of(harness.crashed_thread(reports[0]))[0]
        self.assertIn(frame["function"], ("crash_worker", "use_table"), run.what)
        self.assertEqual(os.path.basename(frame["file"]), "races.c", run.what)

    def run_cells(self, name, cells):
        """Runs the cells of a way, each a tuple of how, delay and runs."""
        way = WAYS[name]
        count = 0
        lost = []
        with Scene() as scene:
            os.mkdir(scene.spool, 0o700)
            for how, delay, runs in cells:
                lost_before = len(lost)
                for _ in range(runs):
                    run = Run(scene, way, how, delay)
                    count += 1
                    self.assertLess(run.seconds, AT_MOST, run.what)
                    if run.crashed():
                        self.is_reported_once(scene, run)
                    else:
                        scene.reports()  # once it is written the next run removes it
                        lost.append((run.what, run.status))
                if FULL:
                    self.assertLessEqual(len(lost) - lost_before, LOST * runs, lost)
        print(f"\n{name}: {count} runs, {len(lost)} ended differently: {lost[:9]}", flush=True)
        self.assertLessEqual(len(lost), max(1, LOST * count), lost)

    def test_a_process_ends_by_its_crash_linked(self):
        self.run_cells("linked", [(how, delay, RUNS) for how in HOOKED for delay in DELAYS] +
                       [(how, delay, RUNS) for how in DIRECT for delay in DIRECT_DELAYS])

    def test_a_process_ends_by_its_crash_preloaded(self):
        self.run_cells("preloaded", [(how, delay, RUNS) for how in HOOKED for delay in DELAYS] +
                       [(how, delay, RUNS) for how in DIRECT for delay in DIRECT_DELAYS])

    def test_a_process_ends_by_its_crash_with_a_waiting_agent(self):
        self.run_cells("daemon", [(how, delay, RUNS) for how in HOOKED for delay in DELAYS] +
                       [(how, delay, RUNS) for how in DIRECT for delay in DIRECT_DELAYS])

    def test_a_process_ends_by_its_crash_traced(self):
        self.run_cells("traced", [(how, delay, RUNS) for how in HOOKED + DIRECT
                                  for delay in (DIRECT_DELAYS if FULL else (500,))])

    def test_a_crash_during_the_shutdown_ends_the_process(self):
        for name in ("linked", "preloaded", "daemon"):
            with self.subTest(name):
                self.run_cells(name, [("shutdown", spin, 100 if FULL else 5) for spin in SPINS])

    def test_what_ends_a_crashed_process_differently_is_told_by_run(self):
        # Until about 10 microseconds after the fault the kernel is busy with it.
        silent = {}
        told = 0
        with Scene() as scene:
            os.mkdir(scene.spool, 0o700)
            for delay in TOLD_DELAYS:
                silent[delay] = 0
                for _ in range(RUNS_TOLD):
                    run = Run(scene, WAYS["run"], "raw_exit", delay)
                    self.assertLess(run.seconds, AT_MOST)
                    if run.crashed():
                        continue
                    self.assertEqual(run.status, 0)
                    silent[delay] += CUT_OFF not in run.stderr
                    if CUT_OFF in run.stderr:
                        told += 1
                        report, = scene.reports()
                        self.assertEqual(report["crash"]["name"], "SIGSEGV", run.what)
        print(f"\nrun: {told} of {RUNS_TOLD * len(TOLD_DELAYS)} told, silent: {silent}", flush=True)
        self.assertGreater(told, 0)
        lost = sum(count for delay, count in silent.items() if delay >= 20)
        self.assertLessEqual(lost, max(1, LOST * RUNS_TOLD * len(TOLD_DELAYS)), silent)

    def test_the_supervisor_of_a_linked_program_reports_that_it_crashed(self):
        with Scene() as scene:
            os.mkdir(scene.spool, 0o700)
            way = Way("races_linked", CRASHHOOK_KILLS="yes")
            Run(scene, way, "raw_exit", 30)
            harness.wait_for(scene.report_paths)
            report, = scene.reports()
            self.assertEqual(report["crash"]["name"], "SIGSEGV")

    @unittest.skipUnless(FULL, "at normal priority a busy machine decides")
    def test_a_crash_ends_the_process_at_normal_priority_beside_busy_loops(self):
        # Loops of the tests' own real-time priority would leave the machine to nobody.
        busy = [subprocess.Popen(["chrt", "--other", "0", "sh", "-c", "while :; do :; done"])
                for _ in range(6)]
        self.addCleanup(lambda: [(loop.kill(), loop.wait()) for loop in busy])
        seen = {}
        with Scene() as scene:
            os.mkdir(scene.spool, 0o700)
            for how, delays in (("shutdown", SPINS), ("exit", (300,)), ("execl", (300,)),
                                ("kill", (300,))):
                for delay in delays:
                    runs = [Run(scene, WAYS["run"], how, delay, priority=None)
                            for _ in range(100)]
                    # Where no handler began, the thread that was to crash had no processor
                    # before the process ended. Alone, the kernel sees no fault then, either.
                    began = [run for run in runs if run.crashed() or CUT_OFF in run.stderr]
                    died = sum(run.crashed() for run in began)
                    seen[how, delay] = f"{died} of {len(began)}"
                    self.assertGreaterEqual(died, 0.9 * max(1, len(began)), seen)
        print(f"\ndied of their crash, of those with one: {seen}", flush=True)


class WithoutCrash(unittest.TestCase):
    def test_a_healthy_program_ends_as_it_would_alone(self):
        with Scene() as scene:
            for how in HOOKED + DIRECT:
                if how == "outside":
                    continue
                alone = scene.run([program("races"), how, "-1"], LD_PRELOAD="")
                for name in ("linked", "preloaded"):
                    with self.subTest(how=how, way=name):
                        ended = scene.run([*WAYS[name].command, how, "-1"],
                                          LD_PRELOAD=WAYS[name].preload)
                        self.assertEqual((ended.signal, ended.status, ended.stdout),
                                         (alone.signal, alone.status, alone.stdout))


class Signals(unittest.TestCase):
    def test_a_signal_from_outside_waits_until_the_crash_is_reported(self):
        # The crashed process is the parent of the agent's parent.
        sends = "".join(f"kill -{name} $(ps -o ppid= -p $PPID); " for name in
                        ("TERM", "INT", "HUP", "USR1", "ALRM", "RTMIN"))
        with Scene() as scene:
            agent = harness.agent_script(scene, f"{sends} exec {AGENT}")
            ended = scene.run([example("null_write")], CRASHHOOK_AGENT=agent)
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertEqual(len(scene.reports()), 1)

    def test_a_process_that_continues_ignores_no_signal(self):
        def ignored(pid):
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                return [line for line in file if line.startswith("SigIgn:")][0].split()[1]

        with Scene() as scene:
            process = scene.start([program("tells"), "answers", "2"])
            with open(f"/proc/{os.getpid()}/status", encoding="ascii"):
                harness.wait_for(lambda: harness.state_of(process.pid) == "S")
                self.assertEqual(int(ignored(process.pid), 16) & 1 << (signal.SIGTERM - 1), 0)
            out, _ = process.communicate(timeout=60)
            self.assertIn(b"went on", out)

    def test_what_a_killed_process_leaves_is_a_record_of_its_crash(self):
        # The process ends while the agent is at work, in a way that nothing can hold up.
        with Scene() as scene:
            agent = harness.agent_script(
                scene, f"program=$(ps -o ppid= -p $PPID); kill -KILL $program; "
                       f"while kill -0 $program; do sleep 0.01; done; exec {AGENT}")
            ended = scene.run([example("null_write")], CRASHHOOK_AGENT=agent)
            self.assertEqual(ended.signal, signal.SIGKILL)
            harness.wait_for(lambda: glob.glob(os.path.join(scene.spool, "crash-*.record")))
            scene.command("list")
            report, = scene.reports()
            self.assertEqual(report["crash"]["name"], "SIGSEGV")
            self.assertEqual(report["agent"]["tier"], "record")
            frame = harness.frames_of(harness.crashed_thread(report))[0]
            self.assertEqual(os.path.basename(frame["file"]), "shop_pricing.c")


if __name__ == "__main__":
    harness.main()
