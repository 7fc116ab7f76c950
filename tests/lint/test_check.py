# SPDX-License-Identifier: Apache-2.0
#
# What tests/check makes of tests that fail: with a ctest that fails as it is told.

import os
import shutil
import subprocess
import tempfile
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
CTEST = """\
#!/bin/sh
mkdir -p "build/$2/Testing/Temporary"
: >"build/$2/Testing/Temporary/LastTest.log"
case "$*" in
*--rerun-failed*) failed=$FAILED_AGAIN ;;
*) failed=$FAILED ;;
esac
for test in $failed; do echo "1/9 Test   #1: $test ....***Failed"; done
# shellcheck disable=SC2086
set -- $failed
echo "0% tests passed, $# tests failed out of 9"
[ $# -eq 0 ] && exit 0
printf '\\nThe following tests FAILED:\\n'
for test; do printf '\\t  1 - %s (Failed)\\n' "$test"; done
exit 8
"""


class Check(unittest.TestCase):
    def check(self, failed, failed_again):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "tests"))
            for name in ("check", "skipped.py"):
                shutil.copy(os.path.join(TESTS, name), os.path.join(folder, "tests"))
            for name, text in (("ctest", CTEST), ("cmake", "#!/bin/sh\n")):
                with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                    file.write(text)
                os.chmod(file.name, 0o755)
            variables = dict(os.environ, FAILED=" ".join(failed),
                             FAILED_AGAIN=" ".join(failed_again),
                             PATH=folder + ":" + os.environ["PATH"])
            return subprocess.run([os.path.join(folder, "tests", "check"), "release", "1"],
                                  env=variables, text=True, stdout=subprocess.PIPE)

    def test_a_test_that_passes_when_run_again_counts_and_is_listed(self):
        done = self.check(["room.one", "room.two"], [])
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("--- room.two:", done.stdout)
        self.assertTrue(done.stdout.endswith("unsteady, passed when run again:\n"
                                             "  release: room.one\n  release: room.two\n"
                                             "10 passed, 0 failed, 0 skipped\n"), done.stdout)

    def test_a_test_that_fails_twice_fails(self):
        done = self.check(["room.one", "room.two"], ["room.two"])
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertTrue(done.stdout.endswith("unsteady, passed when run again:\n"
                                             "  release: room.one\n"
                                             "9 passed, 1 failed, 0 skipped\n"), done.stdout)

    def test_many_failures_are_no_chance_and_are_not_run_again(self):
        done = self.check([f"room.number_{number}" for number in range(6)], [])
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertTrue(done.stdout.endswith("4 passed, 6 failed, 0 skipped\n"), done.stdout)
        self.assertNotIn("again", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
