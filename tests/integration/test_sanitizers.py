#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Every pair of sanitizers that the compilers here allow: each end of the program that is
# not a plain exit is reported, or one line says why not, and the status is what it is
# without us. Reduced, some pairs make two of the mistakes in one way of three.

import os
import random
import shutil
import subprocess
import unittest

import harness
from harness import FULL, SEED, Scene

SOURCE = os.path.join(harness.SOURCE, "tests", "integration", "programs", "mistakes.c")
COMPILERS = list({os.path.realpath(shutil.which(name)): name
                  for name in ("clang", "clang-14", "clang-16", "clang-19", "gcc")
                  if shutil.which(name)}.values())
PAIRS = ["address", "address,undefined", "address,leak", "thread", "thread,undefined", "leak",
         "leak,undefined", "undefined", "memory", "memory,undefined"]
MISTAKES = ["", "overrun", "overflow_int", "write_null", "race", "read_uninitialized", "abort"]
# Linked into the program in a way that the runtime is not exported.
HIDDEN = [("address", "-static-libasan"), ("undefined", "-static-libubsan"),
          ("thread", "-static-libtsan")]
PAIRS_REDUCED = 12
LIBRARY = os.path.join(harness.BUILD, "lib")
LINKED = ["-L" + LIBRARY, "-Wl,--push-state,--no-as-needed", "-lcrashhook", "-Wl,--pop-state",
          "-Wl,-rpath," + LIBRARY]


def built(scene, compiler, pair, *flags):
    """The program, or None where the compiler refuses the pair."""
    path = os.path.join(scene.folder, "mistakes")
    done = subprocess.run(
        [compiler, "-g", "-O0", "-w", f"-fsanitize={pair}", "-fno-sanitize-recover=all", SOURCE,
         "-o", path, "-pthread", *flags], stderr=subprocess.DEVNULL, check=False)
    return path if done.returncode == 0 else None


class Sanitizers(unittest.TestCase):
    def watched(self, scene, via, path, mistake):
        if via == "linked":
            return scene.run([path, mistake], LD_PRELOAD="")
        return scene.run([harness.CRASHHOOK, "run", "--via", via, "--", path, mistake],
                         LD_PRELOAD="")

    def check(self, scene, via, path, mistake):
        shutil.rmtree(scene.spool, ignore_errors=True)
        alone = scene.run([path, mistake], LD_PRELOAD="", CRASHHOOK_ENABLE="no")
        ended = self.watched(scene, via, path, mistake)
        said = [line for line in ended.stderr.splitlines() if line.startswith("crashhook: ")]
        fails_traced = any("LeakSanitizer" in line for line in said)
        if not fails_traced:
            self.assertEqual((ended.signal, ended.status), (alone.signal, alone.status),
                             ended.stderr)
        reports = scene.reports()
        self.assertLessEqual(len(reports), 1)
        ends = (ended.signal, ended.status) != (0, 0)
        if ends and not reports:
            unwatched = any("report" in line or "without being watched" in line for line in said)
            self.assertTrue(unwatched or fails_traced, ended.stderr)
        if not ends:
            self.assertEqual(reports, [])

    def check_pair(self, compiler, pair, *flags):
        count = 0
        drawn = random.Random(f"{SEED} {compiler} {pair}")
        ways = ("linked", "preload", "trace")
        with Scene() as scene:
            for via in ways if FULL or flags else drawn.sample(ways, 1):
                path = built(scene, compiler, pair, *flags, *(LINKED if via == "linked" else ()))
                mistakes = MISTAKES if FULL else drawn.sample(MISTAKES, 2)
                for mistake in mistakes if path else ():
                    with self.subTest(compiler=compiler, pair=pair, flags=flags, via=via,
                                      mistake=mistake):
                        self.check(scene, via, path, mistake)
                    count += 1
        return count

    def test_what_a_pair_of_sanitizers_finds_is_reported_or_said_not_to_be(self):
        pairs = [(compiler, pair) for compiler in COMPILERS for pair in PAIRS]
        if not FULL:
            pairs = random.Random(SEED).sample(pairs, min(len(pairs), PAIRS_REDUCED))
        cases = sum(self.check_pair(compiler, pair) for compiler, pair in pairs)
        print(f"{cases} cases, seed {SEED}, {', '.join(COMPILERS)}")
        self.assertGreaterEqual(cases, 16)

    @unittest.skipUnless(shutil.which("gcc"), "there is no gcc")
    def test_a_runtime_that_is_linked_in_is_told_of(self):
        for pair, flag in HIDDEN:
            self.assertNotEqual(self.check_pair("gcc", pair, flag), 0)

    @unittest.skipUnless(shutil.which("gcc"), "there is no gcc")
    def test_what_a_second_runtime_finds_is_reported_with_its_function(self):
        for pair in ("address,undefined", "thread,undefined", "leak,undefined"):
            with self.subTest(pair=pair), Scene() as scene:
                path = built(scene, "gcc", pair)
                self.watched(scene, "preload", path, "overflow_int")
                reports = scene.reports()
                self.assertEqual(len(reports), 1)
                self.assertIn("overflow_int",
                              harness.names_of(harness.crashed_thread(reports[0])))

    @unittest.skipUnless(shutil.which("gcc"), "there is no gcc")
    def test_doctor_says_that_a_runtime_is_linked_in(self):
        with Scene() as scene:
            path = built(scene, "gcc", "address", "-static-libasan")
            self.assertIn("what AddressSanitizer finds is not reported",
                          scene.command("doctor", "--", path).stdout)

    @unittest.skipUnless(shutil.which("gcc"), "there is no gcc")
    def test_a_runtime_that_is_linked_in_is_reported_by_what_it_says(self):
        with Scene() as scene:
            path = built(scene, "gcc", "address", "-static-libasan")
            ended = scene.run([harness.CRASHHOOK, "run", "--stderr-tail", "--", path, "overrun"],
                              LD_PRELOAD="")
            self.assertEqual([report["crash"]["kind"] for report in scene.reports()],
                             ["sanitizer"])
            self.assertNotIn("crashhook: ", ended.stderr)


if __name__ == "__main__":
    harness.main()
