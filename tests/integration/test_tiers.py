# SPDX-License-Identifier: Apache-2.0
#
# What a report uses is refused: tracing, reading memory, or stopping a thread. The
# report is made by the next best way and says which and why; the program dies as it
# would have, in time, and nothing is left behind.

import os
import signal
import subprocess
import unittest

import harness
from harness import Scene, crashed_thread, names_of
from place import needs_root

PROGRAM = harness.program("sandboxed")
SECONDS = 10


# The names under which an agent runs, first as itself and then as what finishes the report.
AGENT_PROGRAMS = {os.path.basename(harness.AGENT), os.path.basename(harness.CRASHHOOK)}


def agents_of(spool):
    """The pids of the agents, and of what they became, that work for this spool."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read()
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read()
        except OSError:
            continue
        name = os.path.basename(line.split(b"\0")[0].decode(errors="replace"))
        if name in AGENT_PROGRAMS and spool.encode() in line + environment:
            found.append(int(pid))
    return found


class Tiers(unittest.TestCase):
    def crash(self, command, scene, **variables):
        """The one report of the program, which died in time and left nobody."""
        ended = scene.run(command, **variables)
        reports = scene.reports()
        self.assertLess(ended.seconds, SECONDS)
        self.assertEqual(len(reports), 1, ended.stderr)
        for agent in agents_of(scene.spool):
            self.assertTrue(harness.await_end(agent), agent)
        return ended, reports[0]

    def is_whole(self, report):
        """The crashed thread is there with its stack, the other with its name."""
        names = names_of(crashed_thread(report))
        self.assertEqual(names[:2], ["crash_here", "main"])
        self.assertEqual(crashed_thread(report)["backtrace"]["ended"], "end-of-stack")
        self.assertEqual(report["crash"]["kind"], "null-dereference")
        self.assertEqual(len(report["threads"]), 2)

    def problem(self, report, stage):
        return [p["status"] for p in report["problems"] if p["stage"] == stage]

    def crashes_by_tier(self, how, tier, words):
        with Scene() as scene:
            ended, report = self.crash([PROGRAM, how], scene)
        self.assertEqual(ended.signal, signal.SIGSEGV)
        self.assertEqual(report["agent"]["tier"], tier)
        self.is_whole(report)
        problems = self.problem(report, "stop")
        self.assertEqual(len(problems), 1 if words else 0)
        if words:
            self.assertIn(words, problems[0])
        return report

    def test_a_filter_that_refuses_ptrace_leaves_the_crashed_thread_and_says_so(self):
        report = self.crashes_by_tier("ptrace", "readv", "a seccomp filter is in force")
        other = [t for t in report["threads"] if not t.get("crashed")][0]
        self.assertEqual((other["state"], other["name"]), ("S", "sandboxed"))
        self.assertNotIn("registers", other)
        self.assertEqual(other["backtrace"]["frames"], [])

    def test_memory_is_read_through_proc_where_only_that_is_allowed(self):
        self.crashes_by_tier("ptrace,process_vm_readv", "procmem", "seccomp filter")
        self.crashes_by_tier("process_vm_readv", "procmem", None)

    def test_a_filter_that_kills_for_what_is_refused_elsewhere_costs_no_more(self):
        for answer in ("kill", "trap"):
            with self.subTest(answer):
                self.crashes_by_tier(f"{answer},ptrace", "readv", "seccomp filter")
                self.crashes_by_tier(f"{answer},process_vm_readv", "procmem", None)
                self.crashes_by_tier(f"{answer},ptrace,process_vm_readv", "procmem",
                                     "seccomp filter")

    def test_memory_is_peeked_at_where_nothing_reads_it_in_bulk(self):
        with Scene() as scene:
            ended, report = self.crash([PROGRAM, "process_vm_readv,pread64"], scene)
            named = os.path.join(scene.folder, "named.json")
            scene.command("symbolize", scene.report_paths()[0], "-o", named)
            with open(named, "rb") as file:
                report = harness.expanded(file.read())
        self.assertEqual(ended.signal, signal.SIGSEGV)
        self.assertEqual(report["agent"]["tier"], "ptrace")
        self.is_whole(report)
        other = [t for t in report["threads"] if not t.get("crashed")][0]
        self.assertEqual(other["backtrace"]["ended"], "end-of-stack")

    def test_memory_is_asked_for_where_the_kernel_lets_nobody_read_it(self):
        with Scene() as scene:
            ended, report = self.crash([PROGRAM, "ptrace,process_vm_readv,pread64"], scene)
            # What names frames needs pread as well: here, outside of the filter, it has it.
            named = os.path.join(scene.folder, "named.json")
            scene.command("symbolize", scene.report_paths()[0], "-o", named)
            with open(named, "rb") as file:
                report = harness.expanded(file.read())
        self.assertEqual(ended.signal, signal.SIGSEGV)
        self.assertEqual(report["agent"]["tier"], "server")
        self.is_whole(report)

    def test_libunwind_finds_the_same_frames_where_it_is_asked_to(self):
        stacks = {}
        for way in ("dwarf", "libunwind"):
            with Scene() as scene:
                _, report = self.crash([PROGRAM, "no_new_privs"], scene,
                                       CRASHHOOK_UNWIND=way)
            self.is_whole(report)
            self.assertEqual(self.problem(report, "unwind"), [])
            stacks[way] = [names_of(thread) for thread in report["threads"]]
        self.assertEqual(stacks["libunwind"], stacks["dwarf"])

    def test_a_program_that_gains_no_privileges_is_reported_in_full(self):
        self.crashes_by_tier("no_new_privs", "ptrace", None)

    def test_a_program_that_is_not_dumpable_is_reported_in_full_and_dumps_no_core(self):
        with Scene() as scene:
            ended, report = self.crash([PROGRAM, "undumpable"], scene, core=True)
            self.assertIsNone(scene.core(ended.pid))
        self.assertEqual(ended.signal, signal.SIGSEGV)
        self.assertEqual(report["agent"]["tier"], "ptrace")
        self.is_whole(report)

    @needs_root
    def test_a_program_that_gave_up_root_is_reported_in_full(self):
        with Scene() as scene:
            scene.admit_nobody()
            ended, report = self.crash([scene.copy(PROGRAM), "drop_root"], scene)
        self.assertEqual(ended.signal, signal.SIGSEGV)
        self.assertEqual(report["agent"]["tier"], "ptrace")
        self.assertEqual(report["process"]["uid"], 65534)
        self.is_whole(report)

    def test_a_program_under_strace_is_reported_and_says_who_traces_it(self):
        with Scene() as scene:
            scene.preload = None
            log = os.path.join(scene.folder, "strace.log")
            ended, report = self.crash(
                ["strace", "-f", "-o", log, "-E", f"LD_PRELOAD={harness.HANDLER}", PROGRAM],
                scene)
            with open(log, encoding="utf-8", errors="replace") as file:
                self.assertIn("+++ killed by SIGSEGV", file.read())
        # strace ends itself by the signal of what it ran.
        self.assertEqual(ended.signal, signal.SIGSEGV)
        self.assertEqual(report["agent"]["tier"], "readv")
        self.assertRegex(self.problem(report, "stop")[0],
                         r"^traced already by process \d+ \('strace'\)$")
        self.is_whole(report)

    def test_a_program_under_gdb_is_reported_and_dies_under_it(self):
        with Scene() as scene:
            scene.preload = None
            done = subprocess.run(
                ["gdb", "-q", "-nx", "-batch", "-ex", "set startup-with-shell off",
                 "-ex", f"set environment LD_PRELOAD {harness.HANDLER}",
                 "-ex", "run", "-ex", "continue", PROGRAM],
                env=scene.environment({}), cwd=scene.folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                check=False)
            reports = scene.reports()
        self.assertEqual(len(reports), 1, done.stdout)
        self.assertEqual(reports[0]["agent"]["tier"], "readv")
        self.assertIn("'gdb'", self.problem(reports[0], "stop")[0])
        self.is_whole(reports[0])

    def test_a_thread_that_nothing_stops_is_left_out_and_holds_nobody_up(self):
        with Scene() as scene:
            ended, report = self.crash([PROGRAM, "vfork"], scene)
            os.kill(int(ended.stdout), signal.SIGKILL)
        self.assertEqual(ended.signal, signal.SIGSEGV)
        self.assertEqual(report["agent"]["tier"], "ptrace")
        self.is_whole(report)
        self.assertEqual(self.problem(report, "stop"), ["thread did not stop in time"])
        other = [t for t in report["threads"] if not t.get("crashed")][0]
        self.assertEqual(other["state"], "D")


if __name__ == "__main__":
    harness.main()
