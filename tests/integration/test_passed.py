# SPDX-License-Identifier: Apache-2.0
#
# What the program's source calls the bad pointer that it passed to a function of the C or
# C++ library: crashes inside of 64 calls of such functions.

import os
import platform
import subprocess
import unittest

import harness
from harness import Scene

SOURCE = os.path.join(harness.SOURCE, "tests", "cases", "types", "passed.cc")
STEP = 1 if harness.FULL else 4
BAD = "0x12345678010"


@unittest.skipUnless(platform.machine() == "x86_64", "code of x86-64 is followed")
class Passed(unittest.TestCase):
    def names(self, level):
        """The variable at fault of every call, by number; None: none is named."""
        found = {}
        with Scene() as scene:
            path = os.path.join(scene.folder, "passed")
            subprocess.run(["g++", "-w", "-g", level, "-fno-builtin", SOURCE, "-o", path],
                           check=True)
            count = int(subprocess.run([path], check=True, capture_output=True,
                                       text=True).stdout)
            self.assertGreaterEqual(count, 60)
            for number in range(0, count, STEP):
                scene.run([path, str(number), BAD])
                report, = scene.reports()
                for each in scene.report_paths():
                    os.unlink(each)
                found[number] = report["crash"].get("variable")
        return found

    def check(self, found, least):
        """Names of the library's own source are right, but are not counted."""
        ours = [v for v in found.values() if v is not None and "passed_to" in v]
        self.assertEqual({v["expression"] for v in ours}, {"box->bad"})
        self.assertEqual({v["value"] for v in ours}, {BAD})
        self.assertGreaterEqual(len(ours), len(found) * least // 100)

    def test_the_pointer_that_a_library_failed_at_has_its_name(self):
        found = self.names("-O0")
        self.check(found, 92)
        self.assertEqual((found[0]["passed_to"], found[0]["passed_as"]), ("strlen", "text"))

    def test_with_optimization_fewer_have_one_and_none_has_a_wrong_one(self):
        self.check(self.names("-O1"), 15)


if __name__ == "__main__":
    harness.main()
