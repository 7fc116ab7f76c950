# SPDX-License-Identifier: Apache-2.0
#
# Live stacks that need more than a table in memory: images without .eh_frame_hdr, with
# .debug_frame alone, deleted from disk; code made at run time; a million calls.

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import BUILD, state_of, wait_for

DEEP = r"""
#include <stdlib.h>
#include <unistd.h>
static volatile int finished;
__attribute__((noinline)) static long go(long depth)
{
    if (depth == 0) {
        write(1, "x", 1);
        while (!finished)
            pause();
        return 1;
    }
    return go(depth - 1) + depth;
}
int main(int argc, char **argv) { return (int)go(argc > 1 ? atol(argv[1]) : 5); }
"""

# A function made at run time: push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret.
MADE = r"""
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile int finished;
static void wait_here(void)
{
    write(1, "x", 1);
    while (!finished)
        pause();
}
int main(void)
{
    static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof(code));
    ((void (*)(void (*)(void)))page)(wait_here);
    return finished;
}
"""

CALLS = ["-O2", "-fno-optimize-sibling-calls"]


class Unwinding(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, source, *options):
        path = os.path.join(self.folder, "program")
        subprocess.run(["gcc", "-w", *options, "-x", "c", "-", "-o", path], check=True,
                       input=source, text=True)
        return path

    def start(self, *command):
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.read(1), b"x")
        wait_for(lambda: state_of(process.pid) == "S")  # in pause
        return process

    def backtrace(self, process, *options):
        command = [os.path.join(BUILD, "bin/crashhook"), "attach", "--json", "--symbolize",
                   "off", *options, str(process.pid)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["threads"][0]["backtrace"]

    def trusts(self, process, *options):
        backtrace = self.backtrace(process, *options)
        self.assertEqual(backtrace["ended"], "end-of-stack")
        return [frame["trust"] for frame in backtrace["frames"]]

    def expect_rules_alone(self, process):
        for how in ("auto", "dwarf", "precise"):
            trusts = self.trusts(process, "--unwind", how)
            # pause, write's five callers and itself, main, two of the C library, _start;
            # from glibc 2.41 on, pause calls two functions
            self.assertIn(len(trusts), (11, 13))
            self.assertEqual(trusts, ["context"] + ["cfi"] * (len(trusts) - 1))

    def test_an_image_without_eh_frame_hdr_is_indexed(self):
        self.expect_rules_alone(self.start(
            self.build(DEEP, *CALLS, "-Wl,--no-eh-frame-hdr")))

    def test_an_image_with_debug_frame_alone_is_unwound_by_that(self):
        self.expect_rules_alone(self.start(
            self.build(DEEP, *CALLS, "-g", "-fno-asynchronous-unwind-tables",
                       "-Wl,--no-eh-frame-hdr")))

    def test_an_image_deleted_from_disk_is_read_from_memory(self):
        path = self.build(DEEP, *CALLS)
        process = self.start(path)
        os.unlink(path)
        self.expect_rules_alone(process)

    def test_code_made_at_run_time_is_left_by_its_frame_pointer(self):
        process = self.start(self.build(MADE, *CALLS))
        trusts = self.trusts(process)
        self.assertEqual(trusts.count("fp"), 1)
        self.assertNotIn("scan", trusts)
        self.assertEqual(trusts[-1], "cfi")

    def test_sframe_steps_where_there_is_sframe(self):
        process = self.start(self.build(DEEP, *CALLS, "-Wa,--gsframe"))
        trusts = self.trusts(process)
        self.assertEqual(trusts.count("sframe"), 7)

    def test_a_recorded_stack_holds_what_its_walk_reads(self):
        process = self.start(self.build(DEEP, *CALLS))
        kept = os.path.join(self.folder, "case")
        os.mkdir(kept)
        subprocess.run([os.path.join(BUILD, "bin/crashhook"), "record", str(process.pid),
                        kept], check=True)
        with open(os.path.join(kept, "case.json"), encoding="utf-8") as file:
            case = json.load(file)
        pointer = int(case["registers"][7], 16)
        blocks = [(int(block["address"], 16), block["size"]) for block in case["memory"]]
        self.assertEqual(case["arch"], "amd64")
        self.assertTrue(any(start <= pointer < start + size for start, size in blocks))
        self.assertEqual(sum(size for _, size in blocks),
                         os.path.getsize(os.path.join(kept, "memory.bin")))
        self.assertGreaterEqual(len(case["images"]), 3)

    def test_a_million_calls_cost_no_memory(self):
        resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY,) * 2)
        process = self.start(self.build(DEEP, *CALLS), "1000000")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        backtrace = self.backtrace(process)
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        omitted = [frame["count"] for frame in backtrace["frames"]
                   if frame["kind"] == "omit"]
        self.assertEqual(backtrace["ended"], "end-of-stack")
        self.assertEqual(len(backtrace["frames"]), 64)
        self.assertIn(omitted, [[1000005 + inside - 63] for inside in (1, 3)])
        # The compiler was larger.
        self.assertEqual(before, after)


if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        sys.exit(77)
    harness.main()
