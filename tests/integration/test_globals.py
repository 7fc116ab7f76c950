# SPDX-License-Identifier: Apache-2.0
#
# Global variables, static ones and thread locals that crashed functions use, in reports
# of crashes and of core files.

import json
import os
import platform
import shutil
import signal
import subprocess
import unittest

import harness
from harness import Scene

CASES = os.path.join(harness.SOURCE, "tests", "cases", "types")
CONFIG = {"limit": 8, "ratio": 0.5}


def build(scene, compiler, *flags):
    path = os.path.join(scene.folder, "globals")
    library = os.path.join(scene.folder, "libglobals.so")
    source = os.path.join(CASES, "globals_library.c")
    unit = os.path.join(scene.folder, "unit.o")
    common = [compiler, "-w", "-g", *flags]
    subprocess.run([*common, "-fPIC", "-shared", source, "-o", library], check=True)
    subprocess.run([*common, "-DUNIT", "-c", source, "-o", unit], check=True)
    subprocess.run([*common, os.path.join(CASES, "globals.c"), unit, library, "-o", path,
                    f"-Wl,-rpath,{scene.folder}"], check=True)
    return path


def frames_of(scene, command):
    ended = scene.run(command)
    report, = scene.reports()
    assert ended.signal == signal.SIGSEGV, ended
    return harness.frames_of(harness.crashed_thread(report))


def globals_of(frames, function):
    frame, = [f for f in frames if f.get("function", "").startswith(function)]
    return {g["name"]: g.get("value", g.get("reason")) for g in frame.get("globals", [])}


@unittest.skipUnless(platform.machine() == "x86_64", "code of x86-64 is followed")
class Globals(unittest.TestCase):
    def check_serve(self, found):
        self.assertEqual(found["hits"], 2)
        self.assertEqual(found["depth"], 4)
        self.assertEqual(found["shared_count"], 43)
        self.assertEqual({k: found["defaults"][k] for k in CONFIG}, CONFIG)
        self.assertEqual(found["defaults"]["path"]["value"], "/etc/shop.conf")
        self.assertEqual(found["label"]["value"], "xyz")
        self.assertEqual(found["password"]["value"], "***")
        self.assertEqual(found["banner"], "Welcome")
        self.assertEqual(found["table"][:3], [0, 77, 0])
        self.assertEqual(found["of_other_unit"], 77)
        self.assertEqual(found["of_library"], 8)
        for absent in ("not_used_by_serve", "constant", "stderr", "made"):
            self.assertNotIn(absent, found)

    def test_those_that_the_crashed_function_uses_are_shown(self):
        tried = 0
        for compiler, *flags in (("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O0"),
                                 ("gcc", "-O1", "-no-pie", "-fno-pie")):
            if shutil.which(compiler) is None:
                continue
            with self.subTest(compiler=compiler, flags=flags), Scene() as scene:
                frames = frames_of(scene, [build(scene, compiler, *flags)])
                found = globals_of(frames, "serve")
                if compiler == "clang":  # it does not describe those of other units
                    found = {"of_other_unit": 77, "of_library": 8} | found
                self.check_serve(found)
                found = globals_of(frames, "main")
                self.assertEqual(found.pop("not_used_by_serve"), 5)
                self.assertNotIn("label", found)  # it is listed once
                tried += 1
        self.assertGreaterEqual(tried, 3)

    def test_those_of_a_library_and_of_its_thread_locals_are_shown(self):
        for flags in ("-O0", "-O2"):
            with Scene() as scene:
                frames = frames_of(scene, [build(scene, "gcc", flags), "library"])
                self.assertEqual(globals_of(frames, "library_use"),
                                 {"library_depth": 6, "library_name": "Library",
                                  "library_static": 7, "of_library": 9, "shared_count": 42})

    def test_a_wild_pointer_is_shown_as_its_address(self):
        with Scene() as scene:
            found = globals_of(frames_of(scene, [build(scene, "gcc", "-O0"), "wild"]), "serve")
            self.assertEqual(found["hits"], 2)
            self.assertIn("5a5a5a5a5a5a5a5a", json.dumps(found["defaults"]["path"]))
            self.assertIn("5a5a5a5a5a5a5a5a", json.dumps(found["label"]))

    def test_every_view_shows_them(self):
        with Scene() as scene:
            frames_of(scene, [build(scene, "gcc", "-O0")])
            path, = scene.report_paths()
            shown = scene.command("show", path).stdout
            self.assertIn("global: ", shown)
            self.assertIn("shared_count = 43", shown)
            self.assertIn('defaults = {path = ', shown)
            sent = scene.command("export", "--format", "sentry", path).stdout
            self.assertIn("shared_count", sent)

    def test_a_core_shows_the_same(self):
        if shutil.which("gdb") is None:
            self.skipTest("no gdb")
        with Scene() as scene:
            path = build(scene, "gcc", "-O0")
            core = os.path.join(scene.folder, "core")
            subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off",
                            "-ex", "run", "-ex", f"generate-core-file {core}", path],
                           check=True, capture_output=True)
            done = scene.command("core", core, "--json")
            self.check_serve(globals_of(
                json.loads(done.stdout)["threads"][0]["backtrace"]["frames"], "serve"))

    def test_those_of_cxx_have_their_namespaces_and_contents(self):
        for flags in ("-O0", "-O2"):
            with Scene() as scene:
                path = os.path.join(scene.folder, "globals")
                subprocess.run(["g++", "-std=c++17", "-w", "-g", flags,
                                os.path.join(CASES, "globals.cc"), "-o", path], check=True)
                found = globals_of(frames_of(scene, [path]), "use")
                self.assertEqual(found["shop::detail::queue"]["items"], [1, 2, 3, 5])
                self.assertEqual(found["shop::stock"]["entries"],
                                 [["apple", 3], ["fig", 9], ["pear", 4]])
                self.assertEqual(found["greeting"],
                                 "hello there, this is longer than the object!")
                self.assertEqual(found["user"], "bob, whose name is longer than the object?")
                self.assertEqual(found["count"], 13)
                self.assertEqual(found["kind"], "rounder")
                self.assertEqual(len(found), 6, found)


if __name__ == "__main__":
    harness.main()
