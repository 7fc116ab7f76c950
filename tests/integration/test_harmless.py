# SPDX-License-Identifier: Apache-2.0
#
# Programs that do not crash are not worse off: programs of /usr/bin say the same and end the
# same with and without `crashhook run`, in both of its ways, and leave no report. What
# differs is listed with its cause in harmless_differences.txt, and a line there that nothing
# needs any more fails as well. Prints its seed; CRASHHOOK_SEED repeats a run.
#
# The preloaded library makes no system call and no mapping that harmless_calls.txt does not
# list, and none of them more often, and a forked child ends without looking libc up again.

import collections
import os
import random
import re
import subprocess
import sys
import unittest

import harness
from both_ways import known_differences, lines_of, refusal_of
from harness import Scene
from place import refusal

SEED = harness.SEED
PROGRAMS_MIN = 200  # of the list, that this machine has
SAMPLE = None if harness.FULL else 40
SECONDS = 60


def programs_here():
    """Path and option of each program of the list that is installed."""
    found = []
    for line in lines_of("harmless_programs.txt"):
        name, option = line.split()
        path = os.path.join("/usr/bin", name)
        # Where a tracer takes a setuid program's privileges, run says so: test_run's matter.
        if os.access(path, os.X_OK) and not os.stat(path).st_mode & 0o6000:
            found.append((path, option))
    return found


def outcome(scene, command):
    """Everything that a program's caller sees of it."""
    environment = scene.environment({"LC_ALL": "C"})
    environment.pop("LD_PRELOAD", None)
    done = subprocess.run(command, cwd=scene.folder, env=environment, timeout=SECONDS,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout, done.stderr


class Programs(unittest.TestCase):
    def compare(self, way, chosen, known):
        """What differs and is not known; the known ones that were seen to differ."""
        problems, seen = [], set()
        for path, option in chosen:
            with Scene() as scene:
                alone = outcome(scene, [path, option])
                ours = outcome(scene, [harness.CRASHHOOK, "run", "--via", way, "--", path,
                                       option])
                reports = len(scene.report_paths())
            if ours == alone and reports == 0:
                continue
            key = (way, os.path.basename(path))
            seen.add(key)
            if key not in known:
                problems.append(f"{path} {option}: {alone[0]} and {ours[0]}, {reports} reports,"
                                f" {ours[1][-200:]!r} {ours[2][-200:]!r}")
        return problems, seen

    def check(self, way):
        why = refusal_of(way)
        if why:
            self.skipTest(why)
        known = {key for key in known_differences() if key[0] == way}
        everything = programs_here()
        self.assertGreaterEqual(len(everything), PROGRAMS_MIN)
        chosen = everything
        if SAMPLE is not None:
            chosen = random.Random(SEED).sample(everything, SAMPLE)
        problems, seen = self.compare(way, chosen, known)
        print(f"seed {SEED}: {way}, {len(chosen)} of {len(everything)} programs, "
              f"{len(seen)} differ, {len(problems)} unknown", file=sys.stderr)
        self.assertEqual(problems, [])
        names = {os.path.basename(path) for path, _ in chosen}
        gone = {key for key in known - seen if key[1] in names}
        self.assertEqual(gone, set(), "these differ no more")

    def test_programs_say_the_same_with_the_library_preloaded(self):
        self.check("preload")

    def test_programs_say_the_same_when_they_are_traced(self):
        self.check("trace")

    def test_a_program_that_does_differ_is_noticed(self):
        with Scene() as scene:
            path = os.path.join(scene.folder, "differs")
            with open(path, "w", encoding="ascii") as file:
                file.write('#!/bin/sh\necho "${CRASHHOOK_SPOOL:+x}$LD_PRELOAD"\n')
            os.chmod(path, 0o755)
            problems, _ = self.compare("preload", [(path, "--version")], set())
        self.assertEqual(len(problems), 1)
        self.assertRegex(problems[0], re.escape(path))


# What quiet does between two calls of getppid.
PHASES = ("start", "thread", "child")
CALL = re.compile(r"^\d+ +(\w+)\(")


def calls_of(scene, library):
    """How often quiet makes each system call in each phase, and its mappings."""
    log = os.path.join(scene.folder, "strace.log")
    preload = ["-E", f"LD_PRELOAD={library}"] if library else []
    done = subprocess.run(["strace", "-f", "-o", log, *preload, harness.program("quiet")],
                          env={"PATH": os.environ["PATH"], "HOME": scene.folder}, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    counts = collections.Counter()
    phase = 0
    with open(log, encoding="utf-8", errors="replace") as file:
        for call in filter(None, map(CALL.match, file)):
            if call.group(1) == "getppid":
                phase += 1
            elif phase < len(PHASES):
                counts[PHASES[phase], call.group(1)] += 1
    return counts + mappings_of(done.stdout)


def mappings_of(text):
    """The number of mappings that a maps file lists, and the KiB that can be written."""
    counts = collections.Counter()
    for line in text.splitlines():
        span, permissions = line.split()[:2]
        start, end = (int(address, 16) for address in span.split("-"))
        counts["mappings", "all"] += 1
        if "w" in permissions:
            counts["mappings", "writable-KiB"] += (end - start) // 1024
    return counts


class Calls(unittest.TestCase):
    def setUp(self):
        if refusal("strace", "-o", "/dev/null", "/bin/true"):
            self.skipTest("this place lets nobody trace")

    def test_the_library_adds_what_is_listed_and_no_more(self):
        listed = {}
        for line in lines_of("harmless_calls.txt"):
            phase, call, times, _ = line.split(maxsplit=3)
            listed[phase, call] = int(times)
        # How often a thread waits is a matter of who is faster.
        added = None
        for _ in range(3):
            with Scene() as scene:
                counts = calls_of(scene, harness.HANDLER)
                counts.subtract(calls_of(scene, None))
            added = counts if added is None else added & counts
        more = {" ".join(key): times for key, times in added.items()
                if times > listed.get(key, 0)}
        added["total", "calls"] = sum(times for key, times in added.items()
                                      if key[0] in PHASES)
        if added["total", "calls"] > listed["total", "calls"]:
            more["total calls"] = added["total", "calls"]
        print("added:", ", ".join(f"{' '.join(key)} {times}"
                                  for key, times in sorted(added.items()) if times),
              file=sys.stderr)
        self.assertEqual(more, {})


class Forks(unittest.TestCase):
    def test_a_child_of_a_fork_looks_up_nothing_that_its_parent_could(self):
        with Scene() as scene, subprocess.Popen(
                [harness.program("quiet")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                env={"HOME": scene.folder, "LD_PRELOAD": harness.HANDLER,
                     "LD_DEBUG": "symbols"}, text=True) as quiet:
            said = quiet.stderr.read()
        # The library finds this one in the loader's list, without asking the loader.
        looked = re.findall(r"^\s*(\d+):\s+symbol=sigaction;", said, re.MULTILINE)
        self.assertEqual(quiet.returncode, 0)
        self.assertIn("symbol=", said)
        self.assertEqual(looked, [])


if __name__ == "__main__":
    harness.main()
