# SPDX-License-Identifier: Apache-2.0
#
# The index or the length that explains where a program crashed: named with its value and
# with what it is too large for, and never where none is to blame.

import os
import platform
import subprocess
import unittest

import harness
from harness import Scene

SOURCE = os.path.join(harness.SOURCE, "tests", "cases", "types", "indexes.cc")
BESIDE = os.path.join(os.path.dirname(SOURCE), "beside.c")
FREED = os.path.join(os.path.dirname(SOURCE), "freed.c")
FAR = 1 << 42
WILD = 60 if harness.FULL else 6
# By number: the index, its value, what it is an index of, the kind and the elements.
WANTED = [
    ("at", FAR // 2, "numbers", "vector", 3),
    ("line", -1000000000, "o->lines", "vector", 4),
    ("position", FAR, "name", "string", 26),
    ("row", FAR, "table", None, 64),
    ("which", -FAR, "all", "vector", 3),
    ("place", FAR, "sizes", "block", 200700),
    ("slot", -FAR, "s->sizes", None, 16),
    ("at", FAR, "numbers", None, 8),
    ("back", -1000000000, "orders", "vector", 3),
    ("wanted", FAR, "buffer", None, 64),
    ("p->size", FAR, "p->data", "block", 802800),
    ("bytes", FAR, "text", None, 100),
]
LENGTHS = 9  # the first number of a length


@unittest.skipUnless(platform.machine() == "x86_64", "code of x86-64 is followed")
class Indexes(unittest.TestCase):
    def compiled(self, scene, level):
        path = os.path.join(scene.folder, "indexes")
        subprocess.run(["g++", "-w", "-g", "-fno-builtin", level, SOURCE, "-o", path], check=True)
        self.assertEqual(int(subprocess.run([path], check=True, stdout=subprocess.PIPE).stdout),
                         len(WANTED))
        return path

    def crash(self, scene, *command):
        scene.run(list(command))
        report, = scene.reports()
        for each in scene.report_paths():
            os.unlink(each)
        self.assertIn("of_", "".join(harness.names_of(harness.crashed_thread(report))))
        return report["crash"]

    def variable(self, scene, *command):
        """The variable at fault and the sentence."""
        crash = self.crash(scene, *command)
        return crash.get("variable"), crash["summary"]

    def check(self, level, numbers, least):
        named = 0
        with Scene() as scene:
            path = self.compiled(scene, level)
            for number in numbers:
                variable, sentence = self.variable(scene, path, str(number))
                if variable is None:
                    continue
                named += 1
                index, value, array, container, elements = WANTED[number]
                self.assertEqual(
                    (variable["expression"], variable["value"], variable.get("array"),
                     variable.get("container"), variable.get("elements")),
                    (index, value, array, container, elements))
                self.assertIn(f"`{index}`", sentence)
                self.assertIn(f"{elements:,}", sentence)
                self.assertEqual(" bytes" in sentence.rsplit(f"{elements:,}", maxsplit=1)[1],
                                 number >= LENGTHS)
        self.assertGreaterEqual(named, least)

    def test_an_index_outside_of_a_container_is_named_with_what_that_has(self):
        self.check("-O0", range(LENGTHS), LENGTHS)

    def test_with_optimization_most_are_named_and_none_wrongly(self):
        self.check("-O2", range(len(WANTED)) if harness.FULL else range(0, LENGTHS, 3), 3)

    def test_a_length_past_the_end_is_named_with_the_bytes_that_there_are(self):
        self.check("-O0", range(LENGTHS, len(WANTED)), len(WANTED) - LENGTHS)

    def test_an_address_that_no_index_explains_is_what_a_function_returned(self):
        for level in ("-O0", "-O2") if harness.FULL else ("-O0",):
            with Scene() as scene:
                path = self.compiled(scene, level)
                for seed in range(harness.SEED, harness.SEED + WILD):
                    variable, _ = self.variable(scene, path, "wild", str(seed))
                    self.assertEqual(variable["role"], "returned", variable)
                    self.assertRegex(variable["expression"], r"^anywhere\(")

    def test_an_address_beside_an_object_is_told_with_the_distance(self):
        with Scene() as scene:
            path = os.path.join(scene.folder, "beside")
            subprocess.run(["gcc", "-w", "-g", "-O0", BESIDE, "-o", path], check=True)
            for how, name, size, function in (("block", "numbers", 401392, "of_block"),
                                              ("array", "table", 5000, "fill")):
                crash = self.crash(scene, path, how)
                nearest = crash["nearest"]
                self.assertEqual((nearest["container"], nearest["object"], nearest["bytes"],
                                  nearest["side"], nearest["function"]),
                                 (how, name, size, "after", function))
                self.assertLess(nearest["distance"], 4096)
                self.assertEqual(nearest["distance"] == 0, how == "block")
                self.assertIn(f"`{name}` ({size:,} bytes)", crash["summary"])
            self.assertNotIn("nearest", self.crash(scene, path, "none"))

    def test_a_block_that_malloc_refuses_is_named_with_what_is_wrong(self):
        with Scene() as scene:
            path = os.path.join(scene.folder, "freed")
            subprocess.run(["gcc", "-w", "-g", "-O0", FREED, "-o", path], check=True)
            for how, expression, state in (("twice", "user->name", None),
                                           ("stack", "user->name", "stack"),
                                           ("image", "user->name", "image"),
                                           ("inner", "user->name + 8", "misaligned"),
                                           ("overrun", "next", "text"),
                                           ("moved", "user->name + 4", "misaligned")):
                crash = self.crash(scene, path, how)
                variable = crash["variable"]
                self.assertEqual((variable["expression"], variable.get("state"),
                                  variable["function"], variable["passed_as"]),
                                 (expression, state, "of_" + how, "block"))
                self.assertIn(f"`{expression}`", crash["summary"])
                self.assertNotIn("text", variable)  # it is masked


if __name__ == "__main__":
    harness.main()
