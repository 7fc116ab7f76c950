# SPDX-License-Identifier: Apache-2.0
#
# The test suites of Debian packages, built here from Debian's sources, say the same under
# `crashhook run`, preloaded and traced, as alone: same results, same status, no report. It
# takes minutes, so it runs with the full counts alone (make check-full).
#
# None of these suites uses ptrace itself, which a traced program cannot; that is asserted of
# their sources. Exit code 77: a sample was asked for, or the sources could not be fetched.

import dataclasses
import glob
import os
import re
import subprocess
import sys
import time
import unittest

import harness
from both_ways import WAYS, known_differences, refusal_of
from harness import Scene

sys.path.insert(0, os.path.join(harness.SOURCE, "tests", "support"))
import debian_sources

FOLDER = debian_sources.place(os.path.join(
    os.environ.get("CRASHHOOK_TEST_CACHE") or os.path.expanduser("~/.cache/crashhook-tests"),
    "suites"))
# Each is far below 3 minutes on a machine that does nothing else.
SECONDS = 900
# The archive's times do not tell what was made of what.
MADE = "ACLOCAL=: AUTOMAKE=: AUTOCONF=: AUTOHEADER=: MAKEINFO=:"


@dataclasses.dataclass
class Suite:
    package: str
    build: str
    test: str
    results: str  # the lines of its output that say how a test ended
    least: int  # how many of them there are
    folder: str = "."


SUITES = [
    Suite("zlib", "./configure && make -s", "make -s test", r"^\s*\*\*\* .*|^.*OK\b.*$", 3),
    Suite("bzip2", "make -s", "make -s test", r"^.*$", 1),
    Suite("jansson", "cmake -S . -B b -DJANSSON_BUILD_DOCS=OFF && cmake --build b", "ctest",
          r"Test +#\d+: \S+ \.+ *\S+", 200, "b"),
    Suite("gzip", f"./configure -q && make -s {MADE}", f"make -s check {MADE}",
          r"^(?:PASS|FAIL|SKIP|ERROR|XFAIL|XPASS): .*$", 20),
    Suite("sed", f"./configure -q && make -s {MADE}", f"make -s check {MADE}",
          r"^(?:PASS|FAIL|SKIP|ERROR|XFAIL|XPASS): .*$", 60),
    Suite("pcre2", f"./configure -q && make -s {MADE}", "./RunTest",
          r"^.*(?:OK|Test).*$", 20),
]


def build(suite):
    """The folder where the suite is run, built if it is not yet."""
    source = glob.glob(f"{FOLDER}/{suite.package}-*/")[0]
    done = os.path.join(source, "built-for-crashhook")
    if not os.path.exists(done):
        debian_sources.run(["sh", "-c", suite.build], cwd=source, stdin=subprocess.DEVNULL,
                           env={**os.environ, "FORCE_UNSAFE_CONFIGURE": "1"})
        with open(done, "w", encoding="ascii"):
            pass
    return os.path.join(source, suite.folder)


def result_of(suite, folder, scene, *prefix):
    """Its exit status and its results, sorted: tests may run side by side."""
    environment = scene.environment({"LC_ALL": "C", "CRASHHOOK_PRINT": "no"})
    environment.pop("LD_PRELOAD", None)
    done = subprocess.run([*prefix, "sh", "-c", suite.test], cwd=folder, env=environment,
                          timeout=SECONDS, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode(errors="replace")
    return done.returncode, sorted(re.findall(suite.results, text, re.MULTILINE))


class Suites(unittest.TestCase):
    def check(self, suite, folder, alone, way):
        with Scene() as scene:
            began = time.monotonic()
            ours = result_of(suite, folder, scene, harness.CRASHHOOK, "run", "--via", way, "--")
            seconds = time.monotonic() - began
            reports = [report["process"]["arguments"] for report in scene.reports()]
        print(f"{suite.package} {way}: {len(ours[1])} results in {seconds:.0f} s", flush=True)
        problems = [f"+ {line}" for line in ours[1] if line not in alone[1]]
        problems += [f"- {line}" for line in alone[1] if line not in ours[1]]
        if (way, suite.package) in known_differences():
            self.assertNotEqual((ours, reports), (alone, []), "it differs no more")
            return
        self.assertEqual(problems, [])
        self.assertEqual(ours[0], alone[0])
        self.assertEqual(reports, [])

    def test_suites_of_packages_end_as_they_do_alone(self):
        refused = {way: refusal_of(way) for way in WAYS}
        for suite in SUITES:
            folder = build(suite)
            with Scene() as scene:
                alone = result_of(suite, folder, scene)
            self.assertGreaterEqual(len(alone[1]), suite.least, suite.package)
            for way in WAYS:
                with self.subTest(f"{suite.package} {way}"):
                    if refused[way]:
                        self.skipTest(refused[way])
                    self.check(suite, folder, alone, way)

    def test_none_of_them_traces(self):
        for suite in SUITES:
            source = glob.glob(f"{FOLDER}/{suite.package}-*/")[0]
            for path in glob.glob(f"{source}**/*.[ch]", recursive=True):
                with open(path, encoding="utf-8", errors="replace") as file:
                    self.assertNotRegex(file.read(), r"\bptrace\s*\(", path)


def main():
    if not harness.FULL:
        print("it takes minutes: make check-full runs it")
        return 77
    try:
        debian_sources.fetch(FOLDER, [suite.package for suite in SUITES])
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"cannot fetch the sources: {error}")
        return 77
    return harness.main()


if __name__ == "__main__":
    sys.exit(main())
