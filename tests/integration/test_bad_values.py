# SPDX-License-Identifier: Apache-2.0
#
# Where a bad value came from is said if its form proves it, live and from a core, and
# never without: crashes through values of all kinds claim no cause.

import json
import random
import signal
import unittest

import harness
from harness import Scene

LEVELS = ("O0", "O2")
ADDRESS = "0x[0-9a-f]+"

# How the program crashes: crash.provenance's kind, its confidence, and its words.
ORIGINS = {
    "freed_last": ("freed-chunk", "proved",
                   rf"\w+ is what malloc put into freed memory at {ADDRESS}"),
    "freed_linked": ("freed-chunk", "proved",
                     rf"\w+ is what malloc put into freed memory at {ADDRESS}"),
    "freed_fast": ("freed-chunk", "proved",
                   rf"\w+ is what malloc put into freed memory at {ADDRESS}"),
    "freed_call": ("freed-chunk", "proved",
                   rf"\w+ is what malloc put into freed memory at {ADDRESS}"),
    "overrun_by_text": ("text", "likely", r'\w+ holds text, "ers, Lon"'),
    "filled": ("fill", "likely",
               r"\w+ holds a pattern that memory is filled with \(jemalloc, freed memory\)"),
    "dead": ("fill", "likely", r"\w+ holds a pattern that memory is filled with"),
    "cut": ("truncated", "likely", rf"\w+ is the lower half of a pointer, {ADDRESS}, which .*"),
    "cut_signed": ("truncated", "likely",
                   r"\w+ is the lower half of a pointer, 0x2000f0000000, which .*"),
    "flipped": ("bit-flip", "guess",
                rf"\w+ differs by bit 41 alone from {ADDRESS}, which .*"),
    "map_failed": ("map-failed", "likely",
                   r"\w+ is -1, which mmap returns when it fails \(MAP_FAILED\)"),
    "other_guard": ("guard-page", "proved",
                    r"the address is in the guard page of thread \d+'s stack"),
}
WILD = 1000 if harness.FULL else 30


class BadValues(unittest.TestCase):
    def live(self, program, how, **variables):
        with Scene() as scene:
            ended = scene.run([program, how], **variables)
            reports = scene.reports()
        self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
        self.assertLess(ended.seconds, 20)
        return reports[0]["crash"]

    def core(self, program, how):
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([program, how], core=True)
            done = scene.command("core", "--json", scene.core(ended.pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["crash"]

    def expect(self, crash, how):
        kind, confidence, words = ORIGINS[how]
        origin = crash.get("provenance", {})
        self.assertEqual(origin.get("kind"), kind, crash["summary"])
        self.assertEqual(origin["confidence"], confidence)
        self.assertRegex(origin["detail"], f"^{words}$")
        self.assertTrue(crash["summary"].endswith("; " + origin["detail"]))
        self.assertNotIn("suspects", crash)

    def test_a_value_whose_form_tells_is_told(self):
        for level in LEVELS:
            for how in ORIGINS:
                with self.subTest(f"{how} {level}"):
                    self.expect(self.live(harness.program(f"bad_values_{level}"), how), how)

    @unittest.skipUnless(harness.cores_land_in_folder(), "cores go elsewhere")
    def test_a_core_tells_as_much(self):
        for how in ORIGINS:
            with self.subTest(how):
                self.expect(self.core(harness.program("bad_values_O2"), how), how)

    def test_a_failed_mapping_is_no_null_pointer(self):
        crash = self.live(harness.program("bad_values_O2"), "map_failed")
        self.assertNotEqual(crash["kind"], "null-dereference")
        self.assertNotIn("null", crash["summary"])

    def test_an_offset_from_null_is_a_fact(self):
        crash = self.live(harness.program("bad_values_O2"), "null_member")
        self.assertEqual(crash["kind"], "null-dereference")
        self.assertEqual(crash["provenance"]["kind"], "null-offset")
        self.assertEqual(crash["provenance"]["offset"], 8)
        self.assertEqual(crash["provenance"]["detail"],
                         "8 bytes from a null pointer, `kept->cents`")

    def test_wild_values_claim_no_cause(self):
        seed = 17
        values = random.Random(seed)
        kinds = (lambda: values.getrandbits(64), lambda: values.getrandbits(47),
                 lambda: values.getrandbits(32) | 0x10000,
                 lambda: 0x7f0000000000 | values.getrandbits(40),
                 lambda: 0x550000000000 | values.getrandbits(40),
                 lambda: (1 << 64) - 2 - values.getrandbits(12))
        crashes = false = 0
        for i in range(WILD):
            value = f"{kinds[i % len(kinds)]():x}"
            with self.subTest(value), Scene() as scene:
                scene.run([harness.program("bad_values_O2"), "wild"], WILD=value)
                for report in scene.reports():
                    crash = report["crash"]
                    crashes += 1
                    false += "provenance" in crash or crash["kind"] == "deadlock"
                    self.assertNotIn("provenance", crash)
                    self.assertNotEqual(crash["kind"], "deadlock")
        print(f"{crashes} crashes by {WILD} wild values, seed {seed}: {false} false claims")


if __name__ == "__main__":
    harness.main()
