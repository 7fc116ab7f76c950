# SPDX-License-Identifier: Apache-2.0
#
# The tarball is not packed with a library that is older than its newest source in Debian, and is
# signed where that is asked for.

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))

import harness  # noqa: E402
from harness import SOURCE  # noqa: E402

SCRIPT = os.path.join(SOURCE, "packaging", "static-libraries")
TARBALL = os.path.join(SOURCE, "packaging", "build-tarball")
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


class Signature(unittest.TestCase):
    def setUp(self):
        if shutil.which("openssl") is None:
            self.skipTest("openssl is not installed")
        self.folder = tempfile.mkdtemp(prefix="crashhook-signed.")
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("crashhook-1.tar.gz", "crashhook-1.spdx.json"):
            with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
                file.write(name)
        subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-out", "key"], check=True,
                       cwd=self.folder, stderr=subprocess.DEVNULL)
        subprocess.run(["openssl", "pkey", "-in", "key", "-pubout", "-out", "KEY.pub"], check=True,
                       cwd=self.folder)

    def sums(self, **variables):
        return subprocess.run([TARBALL, "--sums", self.folder], check=False, cwd=self.folder,
                              env={**os.environ, **variables}, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode

    def test_the_words_of_the_page_check_sums_and_signature(self):
        with open(os.path.join(SOURCE, "packaging", "tarball.md"), encoding="utf-8") as file:
            text = file.read()
        words = [re.search(r"sha256sum .*", text)[0], re.search(r"`(openssl dgst [^`]*)`", text)[1]]
        self.assertEqual(self.sums(SIGN="key"), 0)

        def check():
            return [subprocess.run(line.split(), check=False, cwd=self.folder,
                                   stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL).returncode for line in words]

        self.assertEqual(check(), [0, 0])
        for name in ("crashhook-1.tar.gz", "SHA256SUMS"):
            with open(os.path.join(self.folder, name), "a", encoding="ascii") as file:
                file.write("other\n")
        self.assertEqual(check(), [1, 1])

    def test_a_signature_of_other_sums_does_not_stay(self):
        self.assertEqual(self.sums(SIGN="key"), 0)
        self.assertEqual(self.sums(SIGN=""), 0)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "SHA256SUMS.sig")))

    def test_a_key_that_cannot_be_read_is_refused_before_anything_is_made(self):
        self.assertNotEqual(self.sums(SIGN="nowhere"), 0)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "SHA256SUMS")))


if __name__ == "__main__":
    harness.main()
