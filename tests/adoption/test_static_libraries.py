# SPDX-License-Identifier: Apache-2.0
#
# The tarball is not packed with a library that is older than its newest source in Debian.

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))

import harness  # noqa: E402
from harness import SOURCE  # noqa: E402

SCRIPT = os.path.join(SOURCE, "packaging", "static-libraries")
SOURCES = """Package: zlib
Binary: zlib1g
Version: {version}
Architecture: any
Directory: pool/main/z/zlib
Checksums-Sha256:
 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 zlib_1.dsc

"""


class StaticLibraries(unittest.TestCase):
    def setUp(self):
        if shutil.which("apt-cache") is None:
            self.skipTest("apt-cache is not installed")
        self.folder = tempfile.mkdtemp(prefix="crashhook-static.")
        self.addCleanup(shutil.rmtree, self.folder)
        apt = os.path.join(self.folder, "apt")
        os.makedirs(os.path.join(apt, "lists", "partial"))
        os.makedirs(os.path.join(apt, "cache", "archives", "partial"))
        self.write("apt/complete", "")
        self.write("apt/sources.list", "deb-src [trusted=yes] http://deb.invalid/debian here main\n"
                   "deb-src [trusted=yes] http://deb.invalid/security here-security main\n")
        for place, suite, version in (("debian", "here", "1:1.2.13-1"),
                                      ("security", "here-security", "1:1.2.13-1+deb12u1")):
            self.write(f"apt/lists/deb.invalid_{place}_dists_{suite}_main_source_Sources",
                       SOURCES.format(version=version))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(text)

    def check(self, sources):
        self.write("sources", sources)
        done = subprocess.run([SCRIPT, "--check", self.folder], check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60)
        return done.returncode, done.stdout

    def test_a_library_older_than_the_security_suite_is_refused(self):
        self.assertEqual(self.check("zlib 1:1.2.13-1\n"),
                         (1, "zlib 1:1.2.13-1 is older than Debian's 1:1.2.13-1+deb12u1\n"))

    def test_the_newest_source_is_taken(self):
        self.assertEqual(self.check("zlib 1:1.2.13-1+deb12u1\n"), (0, ""))

    def test_a_library_without_a_source_is_refused(self):
        self.assertEqual(self.check("zlib 1:1.2.13-1+deb12u1\nmusl 1\n"),
                         (1, "musl: no source in Debian's index\n"))


if __name__ == "__main__":
    harness.main()
