# SPDX-License-Identifier: Apache-2.0
#
# Every way to crash is told from the others: what the report says of it in a word and in
# a sentence, in which function, and that the program died of it as it would have.

import contextlib
import json
import os
import signal
import time
import unittest

import jsonschema

import harness
from harness import Scene, crashed_thread, names_of

with open(os.path.join(harness.SOURCE, "docs", "report-1.schema.json"), encoding="utf-8") as file:
    SCHEMA = json.load(file)
SEGV, BUS, FPE = signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE
ADDRESS = r"0x[0-9a-f]+"
# A call that finds no room for its return address names no register that it writes by.
PUSHED = r"( \(write .*)?"

# What faults.c does: its signal, the report's kind and a pattern for its summary.
FAULTS = {
    "null_member": (SEGV, "null-dereference",
                    r"Read from 0x18, through a null pointer "
                    r"\(read 8 bytes at r\w+\+0x18, r\w+ = 0x0\)"),
    "null_far": (SEGV, "null-dereference",
                 r"Write to 0x400000, through a null pointer "
                 r"\(write 1 byte at r\w+\+0x400000, r\w+ = 0x0\)"),
    "null_call": (SEGV, "null-dereference", r"Jump to 0x0, through a null pointer"),
    "stack_main": (SEGV, "stack-overflow",
                   rf"Stack overflow in thread 'faults' at {ADDRESS}: its stack has \d+ KiB"
                   + PUSHED),
    "stack_thread": (SEGV, "stack-overflow",
                     rf"Stack overflow in thread 'digger' at {ADDRESS}: its stack has 25\d KiB"
                     + PUSHED),
    "stack_array": (SEGV, "stack-overflow",
                    rf"Stack overflow in thread 'faults' at {ADDRESS}: its stack has \d+ KiB.*"),
    "lost_stack": (SEGV, "unknown", r"Write to 0x12345677fff8, where nothing is mapped.*"),
    "bad_frame": (BUS, "non-canonical-address",
                  r"Read from 0x7777777777777770, an address that no memory can have "
                  r"\(read 8 bytes at rbp, rbp = 0x7777777777777770\)"),
    "write_constant": (SEGV, "write-to-read-only",
                       rf"Write to {ADDRESS}, which is read-only memory '.*/faults' "
                       rf"\(write 1 byte at r\w+, r\w+ = {ADDRESS}\)"),
    "write_protected": (SEGV, "unknown",
                        rf"Write to {ADDRESS}, which may not be accessed \(write 1 byte .*"),
    "call_data": (SEGV, "execute-of-data",
                  rf"Jump to {ADDRESS}, which is data and not code \(r\w+ = {ADDRESS}\)"),
    "call_garbage": (SEGV, "wild-jump",
                     r"Jump to 0x123456789000, where nothing is mapped "
                     r"\(r\w+ = 0x123456789000\)"),
    "read_garbage": (SEGV, "unknown",
                     r"Read from 0x123456789008, where nothing is mapped \(read 8 bytes .*"),
    "non_canonical": (SEGV, "non-canonical-address",
                      r"Read from 0xdeadbeefdeadbee8, an address that no memory can have "
                      r"\(read 8 bytes at r\w+\+0x8, r\w+ = 0xdeadbeefdeadbee0\)"),
    "unmapped": (SEGV, "use-after-unmap",
                 rf"Read from {ADDRESS}, where nothing is mapped; probably memory that was "
                 rf"unmapped or moved \(read 1 byte at .*\)"),
    "closed_library": (SEGV, "use-after-unmap",
                       rf"Jump to {ADDRESS}, where nothing is mapped; probably code that "
                       rf"was unmapped \(r\w+ = {ADDRESS}\); libplugin\.so was there, "
                       r"and was unloaded"),
    "truncated_file": (BUS, "file-truncated",
                       rf"Read from {ADDRESS}, past the end of the file mapped there "
                       rf"'.*/table\.dat' \(read 1 byte at .*\)"),
    "divide_by_zero": (FPE, "divide-by-zero",
                       r"Integer division by zero \(idiv (\w+), \1 = 0x0\)"),
    "divide_least": (FPE, "division-overflow",
                     r"Integer division whose result is too large "
                     r"\(idiv (\w+), \1 = 0xffffffff\)"),
    "illegal": (signal.SIGILL, "illegal-instruction",
                rf"Illegal instruction at {ADDRESS} \(ud2, .*__builtin_trap.*\)"),
    "breakpoint": (signal.SIGTRAP, "trap", rf"Trap at {ADDRESS}"),
    "privileged": (SEGV, "illegal-instruction",
                   rf"Instruction 'hlt', which programs may not execute, at {ADDRESS}"),
    "unaligned_vector": (SEGV, "misaligned",
                         rf"Read from {ADDRESS}, which is not aligned as the instruction "
                         rf"needs it \(read 16 bytes at .*\)"),
    "smashed_return": (SEGV, "overwritten-return",
                       r"Return to 0x4141414141414141, an address that no memory can have: "
                       r"the return address was overwritten; the return address holds text, "
                       r'"AAAAAAAA"'),
    "smashed_return_low": (SEGV, "overwritten-return",
                           r"Jump to 0x414141414141, where nothing is mapped; a return led "
                           r"there: its address was overwritten.*"),
    "forbidden_call": (signal.SIGSYS, "seccomp",
                       r"System call 140 \(getpriority\) refused by a seccomp filter"),
    "out_of_memory": (signal.SIGABRT, "memory-limit",
                      r"The program aborted; 2\d\d MiB of the 256 MiB that RLIMIT_AS "
                      r"allows are in use"),
    "null_memory": (SEGV, "null-dereference",
                    r"Write to 0x18, through a null pointer; 2\d\d MiB of the 256 MiB that "
                    r"RLIMIT_AS allows are in use \(write 8 bytes at .*"),
    "raise_it": (SEGV, "sent-by-process", r"SIGSEGV raised by the program itself"),
}
# The clause about the variable at fault, which integration.arguments looks at.
VARIABLE = "(; `.*)?"
# Who jumped away left no frame of its own.
NAMELESS = {"smashed_return_low"}

# The folder of the memory controller, of either version.
GROUPS = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup")
# What a deep recursion is seen in.
SEEN_IN = {"stack_main": "deeper", "stack_thread": "deeper"}

def remove_group(folder):
    """Removes a control group once the last of its processes is gone, which nothing tells."""
    until = time.monotonic() + 30
    while True:
        try:
            os.rmdir(folder)
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


class Diagnosis(unittest.TestCase):
    def crash(self, how, number):
        """The one report of faults.c's crash by how, which the signal ended."""
        with Scene() as scene:
            ended = scene.run([harness.program("faults"), how])
            reports = scene.reports()
        self.assertEqual(ended.signal, number, ended.stderr)
        self.assertLess(ended.seconds, 10)
        self.assertEqual(len(reports), 1, ended.stderr)
        jsonschema.validate(reports[0], SCHEMA)
        return reports[0]

    def test_each_way_to_crash_is_told_by_kind_sentence_and_function(self):
        for how, (number, kind, summary) in FAULTS.items():
            with self.subTest(how):
                report = self.crash(how, number)
                self.assertEqual(report["crash"]["kind"], kind)
                self.assertRegex(report["crash"]["summary"], f"^{summary}{VARIABLE}$")
                if how not in NAMELESS:
                    self.assertIn(SEEN_IN.get(how, how), names_of(crashed_thread(report)))

    def test_the_failed_access_is_there_for_programs_too(self):
        crash = self.crash("null_member", SEGV)["crash"]
        access = crash["access"]
        register = access["expression"].split("+")[0]
        self.assertEqual(access, {"operation": "read", "size": 8, "address": "0x18",
                                  "expression": f"{register}+0x18",
                                  "registers": {register: "0x0"}})
        self.assertTrue(crash["instruction"]["text"].startswith("mov "))

    @contextlib.contextmanager
    def memory_group(self, limit):
        """A control group that allows so much memory; None where none can be made."""
        for root, name in zip(GROUPS, ("memory.limit_in_bytes", "memory.max")):
            folder = os.path.join(root, f"crashhook-test-{os.getpid()}")
            try:
                os.mkdir(folder)
            except OSError:
                continue
            try:
                with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                    file.write(str(limit))
            except OSError:
                os.rmdir(folder)
                continue
            try:
                yield folder
            finally:
                remove_group(folder)
            return
        yield None

    def test_a_memory_limit_of_a_control_group_is_named(self):
        with Scene() as scene, self.memory_group(64 << 20) as folder:
            if folder is None:
                self.skipTest("no control group can be made here")
            # The group is entered by the shell, which becomes the program.
            ended = scene.run(
                ["sh", "-c", 'echo $$ >"$1/cgroup.procs"; exec "$2" group_memory', "sh",
                 folder, harness.program("faults")])
            reports = scene.reports()
            self.leave(folder)
        self.assertEqual(ended.signal, signal.SIGABRT)
        crash = reports[0]["crash"]
        self.assertEqual(crash["kind"], "memory-limit")
        self.assertEqual(crash["memory_limit"]["limit_bytes"], 64 << 20)
        self.assertIn("of its cgroup allows are in use", crash["summary"])

    def leave(self, folder):
        """Waits until nobody is in the group: who finishes the report was in it."""
        def members():
            with open(os.path.join(folder, "cgroup.procs"), encoding="ascii") as file:
                return [int(line) for line in file]
        for pid in members():
            self.assertTrue(harness.await_end(pid), pid)

    def test_a_signal_from_outside_names_its_sender(self):
        with Scene() as scene:
            process = scene.start([harness.program("faults"), "wait_for_signal"])
            process.stdout.readline()
            os.kill(process.pid, SEGV)
            process.communicate(timeout=60)
            reports = scene.reports()
        self.assertEqual(process.returncode, -SEGV)
        crash = reports[0]["crash"]
        with open("/proc/self/comm", encoding="utf-8") as file:
            name = file.read().strip()
        self.assertEqual(crash["kind"], "sent-by-process")
        self.assertEqual(crash["sender"], {"pid": os.getpid(), "uid": os.getuid(), "name": name})
        self.assertEqual(
            crash["summary"],
            f"SIGSEGV sent by process {os.getpid()} ('{name}', user {os.getuid()})")
        self.assertIn("wait_for_signal", names_of(crashed_thread(reports[0])))

if __name__ == "__main__":
    harness.main()
