# SPDX-License-Identifier: Apache-2.0
#
# What the unit tests expect of AArch64's instructions is what they do under qemu-user.

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

COMPILER = "aarch64-linux-gnu-gcc"
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
PROGRAMS = os.path.join(harness.SOURCE, "tests", "integration", "programs", "aarch64")
PROGRAM = os.path.join(PROGRAMS, "accesses.c")
BULK_PROGRAM = os.path.join(PROGRAMS, "bulk.c")
BULK = os.path.join(harness.SOURCE, "tests", "symbolizer", "aarch64_bulk.txt")
# cpyfp, cpyfprtwn, cpyp, cpyprn with hints, setp, setpn, setgp
BULK_FIRST = ("19010440", "19017440", "1d010440", "1d01e440", "19c10440", "19c12440", "1dc10440")
FAULT = 5  # its column depends on qemu's host
EXPECTED = os.path.join(harness.SOURCE, "tests", "symbolizer", "aarch64_accesses.txt")
COLUMNS = 5


def execute(source, codes):
    """What a program says of instructions under qemu."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "accesses")
        subprocess.run([COMPILER, "-O1", "-static", "-o", program, source], check=True)
        done = subprocess.run([QEMU, "-cpu", "max", program], input=codes, check=True,
                              capture_output=True, text=True, timeout=60)
    return done.stdout.splitlines()


class AccessesOfAarch64(unittest.TestCase):
    def test_copies_have_left_what_is_expected_when_they_fault(self):
        with open(BULK, encoding="ascii") as file:
            expected = [line.split() for line in file.read().split("# By option B")[0].splitlines()
                        if not line.startswith("#")]
        found = [line.split() for line in execute(BULK_PROGRAM, "\n".join(BULK_FIRST) + "\n")]
        if all(row[-1] == "fault" for row in found):
            self.skipTest("this qemu does not have these instructions")
        for row in (*expected, *found):
            row[FAULT] = ""
        self.assertEqual(found, expected)

    def test_each_is_as_expected_when_it_is_executed_to_a_fault(self):
        with open(EXPECTED, encoding="ascii") as file:
            expected = [" ".join(line.split()[:COLUMNS]) for line in file
                        if not line.startswith("#")]
        codes = "".join(line.split()[0] + "\n" for line in expected)
        self.assertEqual(execute(PROGRAM, codes), expected)
        self.assertGreater(len(expected), 310)


if __name__ == "__main__":
    if QEMU is None or shutil.which(COMPILER) is None:
        print("test_aarch64_accesses: no qemu-user or no cross compiler here")
        sys.exit(77)
    harness.main()
