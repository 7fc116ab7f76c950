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
PROGRAM = os.path.join(harness.SOURCE, "tests", "integration", "programs",
                       "aarch64_accesses.c")
EXPECTED = os.path.join(harness.SOURCE, "tests", "symbolizer", "aarch64_accesses.txt")
COLUMNS = 5


class AccessesOfAarch64(unittest.TestCase):
    def test_each_is_as_expected_when_it_is_executed_to_a_fault(self):
        with open(EXPECTED, encoding="ascii") as file:
            expected = [" ".join(line.split()[:COLUMNS]) for line in file
                        if not line.startswith("#")]
        codes = "".join(line.split()[0] + "\n" for line in expected)
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "accesses")
            subprocess.run([COMPILER, "-O1", "-static", "-o", program, PROGRAM], check=True)
            done = subprocess.run([QEMU, "-cpu", "max", program], input=codes, check=True,
                                  capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout.splitlines(), expected)
        self.assertGreater(len(expected), 310)


if __name__ == "__main__":
    if QEMU is None or shutil.which(COMPILER) is None:
        print("test_aarch64_accesses: no qemu-user or no cross compiler here")
        sys.exit(77)
    harness.main()
