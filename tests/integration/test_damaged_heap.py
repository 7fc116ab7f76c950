# SPDX-License-Identifier: Apache-2.0
#
# Aborts of glibc's malloc and free: which chunk of the heap is damaged, what it has in
# place of its size, and the block before it.

import os
import platform
import signal
import subprocess
import unittest

import harness
from harness import Scene

SOURCE = os.path.join(harness.SOURCE, "tests", "cases", "types", "damaged_heap.c")
TEXT = int.from_bytes(b"AAAAAAAA", "little")


def crash_of(scene, program, way, sanitize="no"):
    ended = scene.command("run", "--", program, way, CRASHHOOK_SANITIZE=sanitize)
    report, = scene.reports()
    assert ended.returncode == -signal.SIGABRT, ended.stderr
    assert report["crash"]["kind"] == "heap-corruption", report["crash"]
    shown = scene.command("show", scene.report_paths()[-1]).stdout
    return report["crash"], shown


@unittest.skipUnless(platform.machine() == "x86_64", "the program's layout is of 64 bits")
class DamagedHeap(unittest.TestCase):
    def check(self, *flags):
        with Scene() as scene:
            program = os.path.join(scene.folder, "damaged")
            subprocess.run(["gcc", "-w", "-g", "-O1", "-pthread", *flags, SOURCE, "-o", program],
                           check=True)
            found = {}
            for way in "top", "number", "copy", "thread", "twice", "freed", "list":
                with Scene() as scene_of_one:
                    crash, shown = crash_of(scene_of_one, program, way)
                    found[way] = crash.get("chunk")
                    if way == "twice" and "-static" not in flags:
                        self.assertEqual(crash["variable"]["block_bytes"], 40)
                        self.assertRegex(shown, "`kept\\[0\\]` is 0x[0-9a-f]+, a block of 40 bytes")
                    if way == "freed":
                        self.assertRegex(shown, "the block of 40 bytes at 0x[0-9a-f]+ was written "
                                                "to after it was freed: its first 8 bytes")
                    if way == "thread":
                        self.assertIn('("LONGNAME"), after the 40 bytes at ', shown)
                        self.assertIn('whose text runs on over it: "customer namexx', shown)
            top = found["top"]
            self.assertEqual((top["field"], int(top["value"], 16)), ("size", TEXT))
            self.assertEqual(top["text"], "AAAAAAAA")
            self.assertEqual(top["before"]["size"], 24)
            self.assertTrue(top["before"]["runs_on"])
            number = found["number"]
            self.assertEqual((number["field"], number["value"]), ("size", "0x7"))
            self.assertEqual(number["before"]["size"], 2008)
            self.assertNotIn("runs_on", number["before"])
            self.assertEqual(int(number["address"], 16) - int(number["before"]["address"], 16),
                             2016)
            copy = found["copy"]
            self.assertEqual((copy["field"], copy["value"]), ("previous-size", "0x30"))
            self.assertEqual(found["thread"]["text"], "LONGNAME")
            self.assertIsNone(found["twice"])
            freed = found["freed"]
            self.assertEqual((freed["field"], freed["size"], freed["text"]),
                             ("next-free", 40, "customer"))
            self.assertEqual((found["list"]["size"], found["list"]["text"]), (72, "supplier"))

    def test_the_damaged_chunk_and_the_block_before_it_are_named(self):
        self.check()

    def test_a_static_program_has_the_same(self):
        self.check("-static")

    def test_contents_are_left_out_where_texts_are_masked(self):
        with Scene() as scene:
            program = os.path.join(scene.folder, "damaged")
            subprocess.run(["gcc", "-w", "-g", "-O1", "-pthread", SOURCE, "-o", program],
                           check=True)
            crash, shown = crash_of(scene, program, "thread", "yes")
            self.assertTrue(crash["chunk"]["is_text"])
            self.assertNotIn("text", crash["chunk"])
            self.assertNotIn("customer name", shown)
            self.assertIn("whose text runs on over it", shown)


if __name__ == "__main__":
    harness.main()
