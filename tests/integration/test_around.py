#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What a report has of the code, the pointers and the memory around a crash, and that
# each view shows it.

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import unittest

import harness

sys.path.insert(0, os.path.join(harness.SOURCE, "tests", "report"))
import secret_forms  # noqa: E402

SOURCE = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char table[64];
static char *volatile other_stack;
static void *idle(void *unused)
{
    char mine[64] = "of a thread";
    other_stack = mine;
    for (;;)
        pause();
    return unused;
}
__attribute__((noinline, noclone)) size_t measure(const char *text)
{
    return strlen(text) + 1;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_create(&thread, 0, idle, 0);
    char *kept = strcpy(malloc(40), "password=hunter2 kept");
    char *freed = malloc(72);
    char *gone = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    free(freed);
    munmap(gone, 4096);
    while (other_stack == 0)
        usleep(1000);
    register char *r12 __asm__("r12") = kept + 16;
    register char *r13 __asm__("r13") = freed;
    register char *r14 __asm__("r14") = argc > 1 ? gone : table + 3;
    register char *rbx __asm__("rbx") = other_stack;
    __asm__ volatile("" : "+r"(r12), "+r"(r13), "+r"(r14), "+r"(rbx));
    size_t size = measure(argv[argc]);
    __asm__ volatile("" : : "r"(r12), "r"(r13), "r"(r14), "r"(rbx));
    return (int)size;
}
"""


def line_of(part):
    number, = [i for i, line in enumerate(SOURCE.splitlines(), 1) if part in line]
    return number


@unittest.skipUnless(platform.machine() == "x86_64", "registers of x86-64 are set")
class Around(unittest.TestCase):
    def setUp(self):
        self.scene = self.enterContext(harness.Scene())
        self.source = os.path.join(self.scene.folder, "around.c")
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        self.program = os.path.join(self.scene.folder, "around")

    def crash(self, *arguments, flags=("-g", "-O1"), **variables):
        subprocess.run(["gcc", *flags, "-fno-builtin", "-pthread", "-o", self.program,
                        self.source], check=True)
        ended = self.scene.run([self.program, *arguments], **variables)
        self.assertEqual(ended.signal, 11)
        return self.scene.reports()[-1]

    def pointers(self, report):
        return {p["register"]: p for p in report["crash"]["pointers"]}

    def starts(self, report):
        """The addresses at which objdump has instructions of the program."""
        if shutil.which("objdump") is None:
            self.skipTest("objdump is missing")
        image, = [i for i in report["images"] if i["name"] == "around"]
        said = subprocess.run(["objdump", "-d", "--no-show-raw-insn", self.program],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        return {int(at, 16) + int(image["base"], 16)
                for at in re.findall(r"^ +([0-9a-f]+):", said, re.M)}

    def test_code_of_the_fault_and_of_its_caller_is_listed_with_lines(self):
        report = self.crash()
        listings = report["crash"].get("disassembly")
        if listings is None:
            self.skipTest("Zydis is missing")
        frames = harness.frames_of(harness.crashed_thread(report))
        fault, caller = listings
        current, = [i for i in fault["instructions"] if i.get("current")]
        self.assertEqual(current["address"], frames[0]["address"])
        self.assertEqual(caller["function"], "measure")
        call, = [i for i in caller["instructions"] if i.get("current")]
        self.assertTrue(call["text"].startswith("call "))
        self.assertEqual(call["line"], line_of("strlen(text)"))
        self.assertTrue(caller["file"].endswith("around.c"))
        starts = self.starts(report)
        for one in caller["instructions"]:
            self.assertIn(int(one["address"], 16), starts)
        before = caller["instructions"].index(call)
        self.assertLessEqual(before, 12)
        self.assertGreater(before, 0)
        self.assertLessEqual(len(caller["instructions"]) - before - 1, 12)

    def test_without_a_start_of_the_function_nothing_before_the_fault_is_listed(self):
        report = self.crash(flags=("-O1", "-s"))
        if "disassembly" not in report["crash"]:
            self.skipTest("Zydis is missing")
        for listing in report["crash"]["disassembly"]:
            frame = harness.frames_of(harness.crashed_thread(report))[listing["frame"]]
            self.assertIn("function_offset", frame)

    def test_registers_say_what_they_point_to(self):
        report = self.crash()
        tids = {t["tid"] for t in report["threads"]}
        crashed = harness.crashed_thread(report)["tid"]
        other, = tids - {crashed}
        pointers = self.pointers(report)
        self.assertEqual((pointers["rsp"]["to"], pointers["rsp"]["thread"]),
                         ("stack", crashed))
        self.assertEqual((pointers["rbx"]["to"], pointers["rbx"]["thread"]),
                         ("stack", other))
        kept = pointers["r12"]
        self.assertEqual((kept["to"], kept["block_bytes"]), ("heap", 40))
        self.assertEqual(int(kept["address"], 16) - int(kept["block"], 16), 16)
        freed = pointers["r13"]
        self.assertEqual((freed["to"], freed["block"], freed["block_bytes"]),
                         ("freed", freed["address"], 72))
        self.assertEqual((pointers["r14"]["symbol"], pointers["r14"]["symbol_offset"]),
                         ("table", 3))
        self.assertTrue(pointers["rip"]["path"].endswith("libc.so.6"))
        self.assertNotIn("rdi", pointers)
        self.assertNotIn("memory", report)

    def test_every_view_shows_code_pointers_and_memory(self):
        report = self.crash(CRASHHOOK_MEMORY="yes")
        path = self.scene.report_paths()[-1]
        shown = self.scene.command("show", "--preset", "full", path).stdout
        self.assertRegex(shown, r"rbx 0x\w+ +stack of thread \d+")
        self.assertIn("16 bytes into a block of malloc of 40 bytes", shown)
        self.assertIn("a freed block of malloc of 72 bytes", shown)
        self.assertRegex(shown, r"r14 0x\w+ +table \+ 3 in around")
        self.assertRegex(shown, r"\nMemory:\n(?s:.*)  r12:\n    0x")
        self.assertNotIn("hunter2", shown)
        if "disassembly" in report["crash"]:
            self.assertRegex(shown, r"around.c:\d+  return strlen\(text\) \+ 1;\n"
                                    r"(?s:.*)  => 0x\w+  call 0x")
        windows = {w["register"]: bytes.fromhex(w["bytes"]) for w in report["memory"]}
        self.assertEqual(len(windows["rsp"]), 32 + 256)
        self.assertEqual(len(windows["r12"]), 32 + 96)
        if shutil.which("gdb") is None:
            return
        said = self.scene.command("debug", path, "--", "-batch", "-ex",
                                  "crashhook-around").stdout
        self.assertIn("a freed block of malloc of 72 bytes", said)
        self.assertRegex(said, r"\nr12:\n  0x")

    def test_what_the_process_had_is_in_the_report(self):
        report = self.crash(CRASHHOOK_DESCRIPTORS="yes", LANG="C", AROUND_MODE="fast",
                            OTHER_MODE="slow")
        around = report["surroundings"]
        self.assertEqual(around["environment"]["LANG"], "C")
        self.assertEqual(around["environment"]["AROUND_MODE"], "fast")
        self.assertNotIn("OTHER_MODE", around["environment"])
        self.assertNotIn("environment_at", around)
        self.assertIn("SIGSEGV", around["signals"]["handled"])
        self.assertIn("descriptors", around["limits"])
        self.assertEqual(around["descriptors"][0]["number"], 0)
        self.assertGreaterEqual(around["descriptor_count"], 3)
        self.assertEqual(around["namespaces"]["pid"],
                         int(os.readlink("/proc/self/ns/pid")[5:-1]))
        shown = self.scene.command("show", "--preset", "full",
                                   self.scene.report_paths()[-1]).stdout
        self.assertIn("    AROUND_MODE=fast\n", shown)
        self.assertRegex(shown, r"descriptor 0 \S+")

    def test_descriptors_of_a_fault_are_listed_where_that_is_asked_for(self):
        self.assertNotIn("descriptors", self.crash()["surroundings"])

    def test_planted_secrets_are_in_no_part_of_the_report(self):
        planted = [(text, secrets) for kind, text, secrets in secret_forms.forms(11)
                   if kind == "s" and "\0" not in text and len(text) < 64][:200]
        self.assertEqual(len(planted), 200)
        report = self.crash(CRASHHOOK_MEMORY="yes", CRASHHOOK_DESCRIPTORS="yes",
                            **{f"AROUND_{i}": text for i, (text, _) in enumerate(planted)})
        environment = report["surroundings"]["environment"]
        kept = [i for i in range(200) if f"AROUND_{i}" in environment]
        self.assertEqual(len(kept), 200)
        written = json.dumps(report, ensure_ascii=False)
        left = [(text, secret) for text, secrets in planted for secret in secrets
                if len(secret) >= 8 and secret in written]
        self.assertEqual(left, [])

    def test_memory_that_was_unmapped_is_said_to_be(self):
        pointers = self.pointers(self.crash("x"))
        self.assertEqual(pointers["r14"]["to"], "unmapped")


if __name__ == "__main__":
    harness.main()
