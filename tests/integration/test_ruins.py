# SPDX-License-Identifier: Apache-2.0
#
# A process whose interpreter is in ruins still has its native report, in time. Random and
# chosen words are written over the structures that the frames of its language are read
# from: each case in a child of a process that has everything set up.

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness
import python_versions
from harness import FULL, Scene

SEED = harness.SEED
CASES = int(os.environ.get("CRASHHOOK_RUINS", "10000" if FULL else "40"))
BATCH = 100
HERE = os.path.dirname(os.path.abspath(__file__))
LINE = re.compile(r"^ruin (\d+) (\d+) (\d+) (\d+)$", re.MULTILINE)

# The native frames that every report has, innermost first.
OURS = ["ruin_and_crash", "ruin_in_child"]


def crashed_names(path):
    """The functions of the thread that crashed, as the report has them in its tables, with
    the time that the process was held."""
    report = json.loads(harness.read_when_done(path))
    thread = harness.crashed_thread(report)
    places = [report["places"][number] for number in
              report["stacks"][thread["stack"]]["frames"] if isinstance(number, int)]
    timings = report["agent"]["timings_us"]
    held = sum(timings[key] for key in ("attach", "capture", "unwind", "write"))
    return (report["process"]["pid"], [place.get("function") for place in places], held,
            report["problems"])


class Ruins(unittest.TestCase):
    def ruin(self, make, cases, outer):
        """Runs batches of cases; outer is the native frame outside of ours."""
        done = 0
        problems = 0
        while done < cases:
            count = min(BATCH, cases - done)
            seed = SEED + done
            with self.subTest(seed=seed, count=count), Scene() as scene:
                ended = scene.run(make(seed, count), timeout=1800, CRASHHOOK_SYMBOLIZE="fast",
                                  CRASHHOOK_THREADS="crashed",
                                  CRASHHOOK_SPOOL_MAX=f"{2 * BATCH},1024M")
                problems += self.check(scene, ended, seed, count, outer)
            done += count
        return problems

    def paths(self, scene):
        """The reports of a scene, each once."""
        given = set()
        for _ in range(2):
            for path in scene.report_paths():
                if path not in given:
                    given.add(path)
                    yield path

    def check(self, scene, ended, seed, count, outer):
        cases = {int(pid): (int(number), int(status), int(us))
                 for number, pid, status, us in LINE.findall(ended.stdout)}
        self.assertEqual(sorted(number for number, _, _ in cases.values()),
                         list(range(seed, seed + count)), ended.stderr[-2000:])
        seen = set()
        problems = 0
        # A listing may miss a file that is being replaced; once all are read, none is.
        for path in self.paths(scene):
            pid, names, held, said = crashed_names(path)
            number, status, us = cases[pid]
            with self.subTest(case=number):
                self.assertEqual(os.WTERMSIG(status), signal.SIGSEGV)
                self.assertLess(us, 20000000)
                self.assertLess(held, 10000000)
                self.assertEqual(names[:3], [*OURS, outer])
            seen.add(pid)
            problems += said != []
        self.assertEqual(seen, set(cases))
        return problems

    def test_python_in_ruins_has_its_native_report_in_time(self):
        pythons = [python for _, python in python_versions.installed()]
        self.assertTrue(pythons)
        cases = CASES // 3
        if not FULL:
            pythons = [sys.executable]
        problems = 0
        for i, python in enumerate(pythons):
            share = cases // len(pythons) + (i < cases % len(pythons))
            problems += self.ruin(
                lambda seed, count, python=python: [
                    python, os.path.join(HERE, "languages", "ruins.py"), str(seed),
                    harness.program("ruins.so"), str(count)], share, self.caller_of_python(python))
        print(f"{cases} cases of Python from seed {SEED}, {problems} of them with a problem",
              file=sys.stderr)

    def caller_of_python(self, python):
        """What libffi's function is called in the reports of this interpreter."""
        with Scene() as scene:
            scene.run([python, os.path.join(HERE, "languages", "ruins.py"), str(SEED),
                       harness.program("ruins.so"), "1"], CRASHHOOK_SYMBOLIZE="fast")
            _, names, _, _ = crashed_names(scene.report_paths()[0])
        self.assertEqual(names[:2], OURS)
        return names[2]

    @unittest.skipIf(shutil.which("javac") is None, "no JDK is installed")
    def test_java_in_ruins_has_its_native_report_in_time(self):
        folder = tempfile.mkdtemp(prefix="crashhook-java.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        subprocess.run(["javac", "-nowarn", "-XDignore.symbol.file", "-d", folder,
                        os.path.join(HERE, "languages", "Mixed.java")], check=True, timeout=300)
        cases = CASES // 3
        problems = 0
        compiled = ("-Xcomp", "-XX:CompileCommand=quiet",
                    "-XX:CompileCommand=compileonly,Mixed*::*")
        for options, share in ((("-Xint",), cases // 2), (compiled, cases - cases // 2)):
            problems += self.ruin(
                lambda seed, count, options=options: [
                    "java", "-Xmx64m", *options, "-cp", folder, "Mixed",
                    harness.program("mixed.so"), "3", "ruin", str(seed), str(count)],
                share, "ruin_cases")
        print(f"{cases} cases of Java from seed {SEED}, {problems} of them with a problem",
              file=sys.stderr)

    @unittest.skipIf(shutil.which("node") is None, "node is not installed")
    def test_javascript_in_ruins_has_its_native_report_in_time(self):
        cases = CASES - 2 * (CASES // 3)
        problems = 0
        for rounds, share in ((0, cases // 2), (5000, cases - cases // 2)):
            problems += self.ruin(
                lambda seed, count, rounds=rounds: [
                    "node", "--no-concurrent-recompilation",
                    os.path.join(HERE, "languages", "mixed.js"), harness.program("addon.node"),
                    "ruin", str(rounds), str(seed), str(count)],
                share, "ruin_cases")
        print(f"{cases} cases of JavaScript from seed {SEED}, {problems} of them with a problem",
              file=sys.stderr)


if __name__ == "__main__":
    harness.main()
