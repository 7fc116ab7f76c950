# SPDX-License-Identifier: Apache-2.0
#
# Whatever a seccomp filter answers to whichever call of the handler or the agent, the
# program is gone within CRASHHOOK_TIMEOUT and a second, by its own signal wherever the
# kernel lets it, and the handler has started no more than two processes. A sample of the
# rows is run, which CRASHHOOK_SEED chooses, or all with CRASHHOOK_FULL=1.

import glob
import os
import random
import unittest

import filters
import harness
from filters import Row

SAMPLE = 72
SEED = int(os.environ.get("CRASHHOOK_SEED", "1505"))
# Rows that once started processes without end, or never ended, are in every sample.
ONCE_BROKEN = [
    Row(call, answer, "spawn", threads)
    for answer, threads in (("TRAP", 1), ("KILL_THREAD", 3))
    for call in ("rt_sigaction", "rt_sigprocmask", "prctl", "clone", "rt_sigreturn")
]


def chosen():
    every = filters.rows()
    if harness.FULL:
        return every
    sample = random.Random(SEED).sample(every, SAMPLE)
    return sample + [row for row in ONCE_BROKEN if row not in sample]


class Filters(unittest.TestCase):
    def test_the_list_of_calls_is_what_a_crash_is_seen_to_make(self):
        # Some of the handler's, of its children's and of the agent's.
        for call in ("timer_create", "rt_sigreturn", "close_range", "setpgid",
                     "process_vm_readv", "ptrace", "sendmsg", "execve"):
            self.assertIn(call, filters.calls())

    def test_no_answer_to_any_call_keeps_the_program_or_starts_many(self):
        wanted = chosen()
        runner = filters.Runner()
        print(f"{len(wanted)} of {len(filters.rows())} rows, seed {SEED}; processes are "
              f"{'counted' if runner.events.ok else 'not counted here'}; room: "
              f"{filters.Seatbelt.root or 'a limit of another user'}", flush=True)
        for row, seen in runner.run_all(wanted).items():
            with self.subTest(row):
                self.assertEqual(filters.problems(row, seen), [], seen)


    def test_a_large_program_whose_filter_kills_for_a_move_to_a_processor_is_reported(self):
        row = Row("sched_setaffinity", "KILL_PROCESS", "spawn", 1, memory_mb=96)
        seen = filters.Runner().run_all([row])[row]
        self.assertEqual((seen.signal, seen.spool), ("SIGSEGV", "report"))
        self.assertEqual(filters.problems(row, seen), [], seen)

    def test_a_refused_question_for_the_user_changes_no_place(self):
        runner = filters.Runner()
        rows = [Row("geteuid", answer, mode, 1) for answer in ("EPERM", "ENOSYS")
                for mode in ("spawn", "daemon")]
        for row, seen in runner.run_all(rows).items():
            with self.subTest(row):
                self.assertEqual((seen.signal, seen.spool), ("SIGSEGV", "report"))
        self.assertEqual(glob.glob("/tmp/crashhook-42949*"), [])


if __name__ == "__main__":
    harness.main()
