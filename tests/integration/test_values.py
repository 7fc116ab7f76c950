# SPDX-License-Identifier: Apache-2.0
#
# What containers hold, in reports of programs that print it themselves before they
# crash; and the same programs with containers whose memory was overwritten.

import glob
import json
import os
import platform
import shutil
import subprocess
import time
import unittest

import harness
from harness import Scene

CASES = os.path.join(harness.SOURCE, "tests", "cases", "types")
RUNS = 12 if harness.FULL else 3
GDB_RUNS = RUNS if harness.FULL else 1
DAMAGED = 200 if harness.FULL else 8
FEWEST_VALUES = RUNS * 48
GDB_VALUES = os.path.join(harness.SOURCE, "tests", "symbolizer", "gdb_values.py")
# Variables of containers.cc that gdb's printers show by their elements.
OF_PRINTERS = ("numbers words records rows chain queue single both lines distinct names items "
               "several squares table lists weights seen by_number by_word repeated three line "
               "pair mixed owner shared weak part maybe number choice small large").split()
SECONDS = 10  # a damaged container must not take a report longer


def compile_case(scene, source, *flags, compiler=("g++", "-std=c++17")):
    path = os.path.join(scene.folder, source.split(".")[0])
    subprocess.run([*compiler, "-w", "-g", *flags, os.path.join(CASES, source), "-o", path],
                   check=True)
    return path


def plain(value):
    """A value without what the program does not print."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()
                if key not in ("container", "address")}
    return value


def is_known(value):
    """Whether all of a value was copied while the process was held."""
    if isinstance(value, list):
        return all(is_known(each) for each in value)
    if isinstance(value, dict):
        return value.get("error") != "not-copied" and all(is_known(each) for each in value.values())
    return not (isinstance(value, str) and value.endswith("..."))


def is_same(shown, printed):
    """Whether a value is what the program printed. The size of a list that has none is
    known as far as its links were copied."""
    if isinstance(shown, dict) and "size_at_least" in shown:
        shown = dict(shown)
        known = shown.pop("size_at_least")
        if known <= printed["size"]:
            shown["size"] = printed["size"]
    return plain(shown) == printed


def is_same_of_go(shown, printed):
    """Whether a value is what the program printed. Maps have no order, and all of their
    elements were printed."""
    shown = plain(shown)
    for key in ("entries", "items"):
        if isinstance(shown, dict) and key in shown and shown["size"] == len(printed.get(key, "")):
            return (all(each in printed[key] for each in shown[key]) and
                    len(shown[key]) == min(8, shown["size"]))
    return shown == printed


def leaves(value):
    """The numbers and texts in a value, in their order, without what describes it."""
    if isinstance(value, dict):
        return [leaf for key, each in value.items()
                if key not in ("container", "address", "size", "owners", "index", "choice")
                for leaf in leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in leaves(each)]
    return [] if value is None else [value]


def shown_by_gdb(command):
    """The leaves of each local variable as gdb's printers have them."""
    said = subprocess.run(["gdb", "-nx", "-batch", "-x", GDB_VALUES, "--args", *command],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          timeout=120, check=False).stdout
    lines = [line.split("\t") for line in said.splitlines() if line.startswith("gdb\t")]
    return {name: json.loads(found) for _, name, found in lines}


def crash(scene, command):
    """What the program printed of its variables, those of the report, and the report."""
    if scene.preload is None:
        ended = scene.command("run", "--", *command, CRASHHOOK_SANITIZE="no")
    else:
        ended = scene.run(command, CRASHHOOK_SANITIZE="no")
    report, = scene.reports()
    for path in scene.report_paths():
        os.unlink(path)
    printed = dict(line.split("\t", 1) for line in ended.stdout.splitlines() if "\t" in line)
    frames = harness.frames_of(harness.crashed_thread(report))
    frame, = [f for f in frames
              if f.get("function", "").startswith(("fill", "containers::fill", "main.fill"))]
    shown = {}
    for local in frame["locals"]:
        shown.setdefault(local["name"], local.get("value"))
    return printed, shown, report


def works(compiler):
    """False for a launcher of compilers that finds none for this user."""
    return subprocess.run([compiler, "--version"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


@unittest.skipUnless(platform.machine() == "x86_64", "addresses are those of x86-64")
class Values(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.built = Scene()
        cls.built.__enter__()
        cls.addClassCleanup(cls.built.__exit__, None, None, None)
        cls.path = compile_case(cls.built, "containers.cc")

    def check(self, scene, path, seeds, same=is_same):
        compared = missing = 0
        wrong = []
        for seed in seeds:
            printed, shown, _ = crash(scene, [path, str(seed)])
            for name, text in printed.items():
                compared += 1
                if not is_known(shown.get(name)):
                    missing += 1
                elif not same(shown.get(name), json.loads(text)):
                    wrong.append((seed, name, shown.get(name), text))
        names = [name for _, name, _, _ in wrong]
        self.assertEqual(wrong[:2], [], f"of {compared} differ {names}")
        self.assertLess(missing, compared // 10 + 1, "values were not copied")
        return compared

    def test_containers_of_libstdcxx_hold_what_the_program_says(self):
        print(f"seed {harness.SEED}, {RUNS} runs")
        with Scene() as scene:
            compared = self.check(scene, self.path, range(harness.SEED, harness.SEED + RUNS))
            print(f"{compared} values")
            self.assertGreaterEqual(compared, FEWEST_VALUES)

    @unittest.skipUnless(shutil.which("gdb"), "no gdb")
    @unittest.skipUnless(glob.glob("/usr/share/gdb/auto-load/usr/lib/*/libstdc++*-gdb.py"),
                         "no printers of libstdc++ for gdb")
    def test_containers_hold_what_the_printers_of_gdb_show(self):
        compared = 0
        with Scene() as scene:
            for seed in range(harness.SEED, harness.SEED + GDB_RUNS):
                command = [self.path, str(seed)]
                _, shown, _ = crash(scene, command)
                by_gdb = shown_by_gdb(command)
                if not by_gdb:
                    self.skipTest("gdb cannot run a program here")
                for name in OF_PRINTERS:
                    if is_known(shown[name]):
                        compared += 1
                        self.assertEqual(leaves(shown[name]), by_gdb[name], (seed, name))
        print(f"{compared} values")
        self.assertGreaterEqual(compared, GDB_RUNS * len(OF_PRINTERS) * 9 // 10)

    def test_containers_of_other_builds_hold_what_the_program_says(self):
        builds = [["-O2"], ["-D_GLIBCXX_DEBUG"],
                  ["-D_GLIBCXX_USE_CXX11_ABI=0", "-std=c++14"], ["-gdwarf-4"]]
        for flags in builds if harness.FULL else builds[2:3]:
            with self.subTest(flags=flags), Scene() as scene:
                path = compile_case(scene, "containers.cc", *flags)
                if "-O2" in flags:
                    crash(scene, [path, "7"])  # what is left of the variables
                else:
                    self.check(scene, path, [harness.SEED])

    def test_a_class_that_another_unit_defines_has_its_members(self):
        with Scene() as scene:
            parts = [os.path.join(scene.folder, name) for name in ("defined.o", "used.o", "used")]
            source = os.path.join(CASES, "defined_elsewhere.cc")
            for flags, part in (["-DDEFINED"], parts[0]), ([], parts[1]):
                subprocess.run(["g++", "-g", "-c", *flags, source, "-o", part], check=True)
            subprocess.run(["g++", *parts[:2], "-o", parts[2]], check=True)
            _, shown, _ = crash(scene, [parts[2]])
        self.assertEqual((shown["local"]["width"], shown["local"]["name"]), (4, "local"))
        item, = shown["several"]["items"]
        self.assertEqual((item["width"], item["name"], item["base"]["number"]), (3, "third", 7))

    # CRASHHOOK_LIBCXX names a folder with a libc++ that is not installed: Debian's
    # packages of it replace those of the unwinder that crashhook is built with.
    @unittest.skipUnless(shutil.which("clang++"), "no clang++")
    def test_containers_of_libcxx_hold_what_the_program_says(self):
        folder = os.environ.get("CRASHHOOK_LIBCXX")
        found = [f"-isystem{folder}/include/c++/v1", f"-L{folder}/lib"] if folder else []
        with Scene() as scene:
            try:
                path = compile_case(scene, "containers.cc", "-stdlib=libc++",
                                    "-fstandalone-debug", *found,
                                    compiler=("clang++", "-std=c++17"))
            except subprocess.CalledProcessError:
                self.skipTest("no libc++")
            self.check(scene, path, range(harness.SEED, harness.SEED + RUNS))

    def test_containers_of_rust_hold_what_the_program_says(self):
        compilers = [path for path in ("/usr/bin/rustc", shutil.which("rustc"))
                     if path is not None and os.path.exists(path) and works(path)]
        if not compilers:
            self.skipTest("no rustc")
        for compiler in compilers if harness.FULL else compilers[-1:]:
            with self.subTest(compiler=compiler), Scene() as scene:
                path = os.path.join(scene.folder, "containers")
                subprocess.run([compiler, "-A", "warnings", "-g", "-C", "debug-assertions=off",
                                "-o", path, os.path.join(CASES, "containers.rs")], check=True)
                self.check(scene, path, range(harness.SEED, harness.SEED + RUNS))

    def compile_go(self, scene):
        if shutil.which("go") is None:
            self.skipTest("no go")
        path = os.path.join(scene.folder, "containers")
        scene.preload = None  # it takes no library
        subprocess.run(["go", "build", "-gcflags=-N -l", "-o", path,
                        os.path.join(CASES, "containers.go")], check=True,
                       env=os.environ | {"GOCACHE": harness.GO_CACHE, "GO111MODULE": "off",
                                         "GOTOOLCHAIN": "local"})
        return path

    def test_maps_channels_and_interfaces_of_go_hold_what_the_program_says(self):
        with Scene() as scene:
            path = self.compile_go(scene)
            # What is copied depends on addresses, which differ from run to run.
            runs = 3 * RUNS
            compared = self.check(scene, path, range(harness.SEED, harness.SEED + runs),
                                  is_same_of_go)
            self.assertGreaterEqual(compared, runs * 17)

    def test_damaged_maps_of_go_end_the_walk_and_nothing_else(self):
        with Scene() as scene:
            path = self.compile_go(scene)
            for seed in range(harness.SEED, harness.SEED + DAMAGED // 4):
                begin = time.monotonic()
                _, shown, report = crash(scene, [path, str(seed), "6"])
                self.assertLess(time.monotonic() - begin, SECONDS)
                self.assertGreater(len(shown), 17)
                self.assertEqual([p for p in report["problems"]
                                  if p["stage"] == "values"], [])

    def test_damaged_containers_end_the_walk_and_nothing_else(self):
        told = 0
        with Scene() as scene:
            for seed in range(harness.SEED, harness.SEED + DAMAGED):
                begin = time.monotonic()
                _, shown, report = crash(scene, [self.path, str(seed), "40"])
                self.assertLess(time.monotonic() - begin, SECONDS)
                self.assertGreater(len(shown), 38)
                self.assertEqual([p for p in report["problems"]
                                  if p["stage"] == "values"], [])
                told += "\"damaged\":" in json.dumps(shown)
        self.assertGreaterEqual(told, DAMAGED * 3 // 4)


if __name__ == "__main__":
    harness.main()
