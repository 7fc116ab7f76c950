# SPDX-License-Identifier: Apache-2.0
#
# tests/skipped.py, of whose lines tests/check makes its list and its count.

import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "skipped.py")
SUMMARY = """\
97% tests passed, 1 tests failed out of 4

The following tests did not run:
\t  3 - integration.musl (Skipped)
"""
LOG = """\
1/4 Test: report.spool
Output:
----------
[ RUN      ] the_first
[       OK ] the_first
[ RUN      ] the_second
skipped 'not root'
[  SKIPPED ] the_second
<end of output>
Test Passed.
2/4 Test: integration.survival
Output:
----------
test_one (__main__.Survival.test_one) ... ok
test_two (__main__.Survival.test_two) ... skipped "unshare: it's refused"
<end of output>
3/4 Test: integration.musl
Output:
----------
musl-gcc is not installed: musl is not tested
<end of output>
4/4 Test: integration.runtimes
Output:
----------
skipped: node: node is not installed
<end of output>
"""


class Skipped(unittest.TestCase):
    def test_each_test_left_out_is_a_line_with_its_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("summary", SUMMARY), ("log", LOG)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, SCRIPT, f"{folder}/summary", f"{folder}/log"],
                                  check=True, text=True, stdout=subprocess.PIPE)
        self.assertEqual(done.stdout.splitlines(), [
            "report.spool: the_second: not root",
            "integration.survival: test_two: unshare: it's refused",
            "integration.musl: musl-gcc is not installed: musl is not tested",
            "integration.runtimes: node: node is not installed"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
