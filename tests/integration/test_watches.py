# SPDX-License-Identifier: Apache-2.0
#
# Watched objects of a program that crashes, by their C types from DWARF and from CTF:
# every kind of member, lists without an end, pointers to nothing, types that do not fit.

import json
import os
import re
import subprocess
import unittest

import harness
from harness import Scene

SOURCE = os.path.join(harness.SOURCE, "tests", "cases", "types")
LIBRARY = os.path.join(harness.BUILD, "lib")


def compile_program(scene, name, sources, *flags):
    path = os.path.join(scene.folder, name)
    subprocess.run(["gcc", "-O1", "-I", os.path.join(harness.SOURCE, "include"), *flags,
                    *(os.path.join(SOURCE, source) for source in sources), "-o", path,
                    "-L", LIBRARY, "-lcrashhook", f"-Wl,-rpath,{LIBRARY}"], check=True)
    return path


def crash(scene, path, **variables):
    """The watches of the one report that path leaves, by name."""
    scene.preload = None
    ended = scene.run([path], **variables)
    reports = scene.reports()
    assert len(reports) == 1, ended.stderr
    return {w["name"]: w for w in reports[0]["watches"]}, reports[0]


EXPECTED = {
    "uid": 7, "mood": "SAD", "tag": "eight888", "raw": [1, 2, 3, 4], "v4": 0x3f800000,
    "ratio": 1.0, "named": {"deep": 5}, "f1": 5, "f2": 100, "f3": -3, "up": True,
    "score": 1.5, "single": -0.25, "wide": 2.75, "big": "0xffffffffffffffff",
    "small": -128, "numbers": list(range(64)) + [{"more": 36}], "none": None,
    "points": [[{"x": 1, "y": 2}, {"x": 3, "y": 4}, {"x": 5, "y": 6}],
               [{"x": 7, "y": 8}, {"x": 9, "y": 10}, {"x": 11, "y": 12}]],
}


class Watches(unittest.TestCase):
    def check_session(self, watch, source):
        self.assertEqual(watch["source"], source)
        value = watch["value"]
        self.assertEqual({key: value[key] for key in EXPECTED}, EXPECTED)
        self.assertEqual(value["name"]["value"], "root")
        self.assertEqual(value["bad_text"]["value"], "caf\\xe9\n")
        self.assertEqual(value["self"], {"address": watch["address"], "seen": True})
        self.assertEqual(value["nothing"], watch["address"])
        self.assertRegex(value["callback"], "^0x[0-9a-f]+$")
        self.assertEqual(value["unmapped"], {"address": "0x12345678",
                                             "error": "unreadable"})
        self.assertEqual(value["dangling"]["error"], "unreadable")
        self.assertEqual(value["password"]["value"], "***")

    def check_ring(self, value):
        """Nodes in order, as deep as pointers are followed, and no deeper."""
        depth = 0
        while isinstance(value, dict):
            depth += 1
            self.assertEqual(value["value"]["number"], depth)
            value = value["value"]["next"]
        self.assertEqual(depth, 8)
        self.assertRegex(value, "^0x")

    def check_others(self, watches):
        self.assertEqual(watches["counter"]["value"], 42)
        self.assertEqual(watches["local"]["value"], 3)
        self.assertEqual(watches["points"]["value"], {"x": 1, "y": 2})
        self.assertEqual(watches["pointer"]["value"]["value"]["uid"], 7)
        self.assertEqual(watches["token"]["value"], "***")
        stale = watches["stale"]
        self.assertEqual((stale["reason"], stale["candidates"]),
                         ("other-size", [{"size": watches["session"]["size"]}]))
        self.assertEqual(watches["no such"]["reason"], "no-type")
        self.assertEqual(watches["gone"]["reason"], "unreadable")
        self.assertNotIn("forgotten", watches)

    def check_all(self, source, *flags, strip=False):
        with Scene() as scene:
            path = compile_program(scene, "watched", ["watched.c"], *flags)
            if strip:
                subprocess.run(["strip", path], check=True)
            watches, report = crash(scene, path)
            self.check_session(watches["session"], source)
            self.check_ring(watches["session"]["value"]["list"])
            self.check_others(watches)
            with open(os.path.join(harness.SOURCE, "docs/report-1.schema.json"),
                      encoding="utf-8") as file:
                import jsonschema
                jsonschema.validate(report, json.load(file))

    def test_every_kind_of_member_is_shown_from_dwarf(self):
        self.check_all("dwarf", "-g")

    def test_every_kind_of_member_is_shown_from_the_ctf_of_a_stripped_program(self):
        self.check_all("ctf", "-gctf", strip=True)

    def test_every_kind_of_member_is_shown_from_the_btf_of_a_stripped_program(self):
        self.check_all("btf", "-gbtf", strip=True)

    def test_dimensions_are_claimed_only_where_compilers_agree_on_their_order(self):
        """Of two compilers' objects one is not by the compiler of the C library's own."""
        flat = {"numbers": list(range(6)), "cube": list(range(24))}
        told = {"numbers": [[0, 1, 2], [3, 4, 5]],
                "cube": [[list(range(i + j, i + j + 4)) for j in (0, 4, 8)] for i in (0, 12)],
                "names": ["first", "second"]}
        always = {"square": [[0, 1], [2, 3]], "row": [7, 8, 9]}
        found = set()
        for name in "dimensions-gcc12.elf", "dimensions-gcc14.elf":
            with self.subTest(name), Scene() as scene:
                value = crash(scene, compile_program(scene, "grids", [name]))[0]["grids"]["value"]
                agree = value["numbers"] == told["numbers"]
                expected = {**always, **(told if agree else flat)}
                self.assertEqual({key: value[key] for key in expected}, expected)
                found.add(agree)
        self.assertEqual(found, {True, False})

    def test_a_unit_s_own_type_is_meant_where_units_differ(self):
        for flag, source in ("-g", "dwarf"), ("-gctf", "ctf"):
            with Scene() as scene:
                sources = ["watched_units_a.c", "watched_units_b.c"]
                watches, _ = crash(scene, compile_program(scene, "two", sources, flag))
                self.assertEqual(watches["of a"]["value"], {"number": 1, "weight": 0.5})
                self.assertEqual(watches["of b"]["value"], {"numbers": [2, 3, 4]})
                alike = watches["alike"]
                if source == "dwarf":  # its code says which unit it is of
                    self.assertEqual(alike["value"], {"from_a": 5})
                else:
                    self.assertEqual(alike["reason"], "ambiguous-type")
                    self.assertEqual(len(alike["candidates"]), 2)

    def test_without_types_the_object_is_named_and_nothing_more(self):
        with Scene() as scene:
            path = compile_program(scene, "watched", ["watched.c"], "-g0")
            watches, _ = crash(scene, path)
            self.assertEqual(watches["session"]["reason"], "no-types")
            self.assertNotIn("value", watches["session"])

    def test_damaged_ctf_is_said_and_costs_nothing_else(self):
        with Scene() as scene:
            path = compile_program(scene, "watched", ["watched.c"], "-gctf")
            section = os.path.join(scene.folder, "ctf")
            subprocess.run(["objcopy", f"--dump-section=.ctf={section}", path],
                           check=True)
            with open(section, "r+b") as file:
                file.seek(44)
                file.write(b"\xff\xff\xff\x7f")
            subprocess.run(["objcopy", f"--update-section=.ctf={section}", path],
                           check=True)
            watches, report = crash(scene, path)
            self.assertEqual(watches["session"]["reason"], "ctf-damaged")
            self.assertEqual(report["revision"], 1)

    def test_nothing_is_masked_where_that_is_asked_for(self):
        with Scene() as scene:
            path = compile_program(scene, "watched", ["watched.c"], "-g")
            watches, _ = crash(scene, path, CRASHHOOK_SANITIZE="no")
            self.assertEqual(watches["session"]["value"]["password"]["value"], "hunter2")
            self.assertEqual(watches["token"]["value"], 42)

    def test_show_prints_watched_objects(self):
        with Scene() as scene:
            path = compile_program(scene, "watched", ["watched.c"], "-g")
            crash(scene, path)
            shown = scene.command("show", scene.report_paths()[0]).stdout
            self.assertIn("Watched objects:\n  session (struct session) at 0x", shown)
            self.assertRegex(shown, re.compile(r"^    mood = \"SAD\"$", re.M))
            self.assertRegex(shown, re.compile(r"^        \[0\] = \{x = 1, y = 2\}$", re.M))
            self.assertIn("no value, other-size (", shown)
            self.assertNotIn("hunter2", shown)

    def test_what_was_copied_of_the_process_is_nowhere_on_disk(self):
        with Scene() as scene:
            path = compile_program(scene, "watched", ["watched.c"], "-g")
            crash(scene, path)
            for name in os.listdir(scene.spool):
                file = os.path.join(scene.spool, name)
                if os.path.isfile(file):
                    with open(file, "rb") as content:
                        self.assertNotIn(b"hunter2", content.read())


if __name__ == "__main__":
    harness.main()
