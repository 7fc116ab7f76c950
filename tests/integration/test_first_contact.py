# SPDX-License-Identifier: Apache-2.0
#
# What somebody sees who has just cloned the tree: what is missing and the command that
# gets it, a build without tests, and the demo.

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import BUILD, SOURCE

PACKAGING = os.path.join(SOURCE, "packaging")
TOOLS = ["sh", "dirname", "id", "sed"]


def build_needs():
    """The rows of build-needs.txt: what is looked for, and each distribution's package."""
    with open(os.path.join(PACKAGING, "build-needs.txt"), encoding="utf-8") as file:
        return [line.split() for line in file if line.strip() and not line.startswith("#")]


def packages_to_build():
    """The first part of debian-packages.txt."""
    with open(os.path.join(PACKAGING, "debian-packages.txt"), encoding="utf-8") as file:
        part = re.search(r"^# to build, .*\n((?:[^#].*\n)+)", file.read(), re.MULTILINE)
    return part.group(1).split()


class FirstContact(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-first.")
        self.addCleanup(shutil.rmtree, self.folder)

    def on_a_bare(self, distribution):
        """What build-needs says where nothing is installed and no package manager knows better."""
        release = os.path.join(self.folder, "os-release")
        with open(release, "w", encoding="ascii") as file:
            file.write(f'NAME="Some Linux"\nID={distribution}\n')
        for tool in TOOLS:
            link = os.path.join(self.folder, tool)
            if not os.path.exists(link):
                os.symlink(shutil.which(tool), link)
        return subprocess.run([os.path.join(PACKAGING, "build-needs")], check=False, text=True,
                              env={"PATH": self.folder, "OS_RELEASE": release},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_what_is_missing_is_one_line_with_the_command_that_gets_it(self):
        for distribution, column, command in (
                ("debian", 1, "apt-get install --no-install-recommends"),
                ("fedora", 2, "dnf install"), ("alpine", 3, "apk add")):
            done = self.on_a_bare(distribution)
            self.assertEqual((done.returncode, done.stdout), (1, ""), distribution)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(f"run: {'' if os.getuid() == 0 else 'sudo '}{command} ", done.stderr)
            for row in build_needs():
                self.assertIn(f" {row[column]}", done.stderr)

    def test_nothing_is_said_where_nothing_is_missing(self):
        done = subprocess.run([os.path.join(PACKAGING, "build-needs")], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_the_two_lists_of_what_building_needs_are_one(self):
        self.assertEqual(sorted(row[1] for row in build_needs()), sorted(packages_to_build()))

    def test_a_first_make_leaves_out_tests_and_what_is_missing(self):
        shutil.copy(os.path.join(SOURCE, "Makefile"), self.folder)
        said = subprocess.run(["make", "-n", "-C", self.folder, "all"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        self.assertIn("-DCRASHHOOK_TESTS=OFF -DCRASHHOOK_LEAVE_OUT_MISSING=ON", said)
        os.makedirs(os.path.join(self.folder, "build", "release"))
        with open(os.path.join(self.folder, "build", "release", "CMakeCache.txt"), "wb"):
            pass
        said = subprocess.run(["make", "-n", "-C", self.folder, "all"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        self.assertNotIn("-DCRASHHOOK_TESTS", said)

    def test_who_looks_at_once_sees_names(self):
        for _ in range(3):
            with harness.Scene() as scene:
                scene.run([harness.example("divide")])
                shown = scene.command("show").stdout
                self.assertRegex(shown, r"in average_ms at divide\.c:\d+", shown)

    def test_the_demo_ends_with_a_report_and_its_page(self):
        done = subprocess.run([os.path.join(SOURCE, "examples", "demo"), "--keep"], check=False,
                              env={**os.environ, "CRASHHOOK_BUILD": BUILD}, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertEqual(len(re.findall(r"^page: http://\S+/reports/\S+$", done.stdout,
                                        re.MULTILINE)), 4)
        self.assertRegex(done.stdout, r"4 groups of crashes: http://127.0.0.1:\d+/\n$")

    def test_the_demo_without_a_build_says_what_to_run(self):
        done = subprocess.run([os.path.join(SOURCE, "examples", "demo")], check=False,
                              env={**os.environ, "CRASHHOOK_BUILD": self.folder}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("run make first", done.stderr)


if __name__ == "__main__":
    harness.main()
