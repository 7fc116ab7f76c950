# SPDX-License-Identifier: Apache-2.0
#
# One bug, one key: 70 bugs in programs of one family, in C, C++ and Rust, are built and
# run in 14 variants, and the key of each is compared with that of the first. A variant
# counts where the innermost function of the program's own in the first is on its stack
# too, inlined or not, which DWARF says (addr2line), not our report.
#
# CRASHHOOK_SEED chooses the bugs of a reduced run, CRASHHOOK_FULL=1 runs all of them.
# The rules were made with the bugs of even number; the figures that are held are those
# of the odd ones.

import collections
import concurrent.futures
import fcntl
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
import test_core_aarch64
from place import no_rust, rust_compiler

SOURCES = os.path.join(harness.SOURCE, "tests", "integration", "programs", "grouping")
SEED = int(os.environ.get("CRASHHOOK_SEED", "18"))
REDUCED = 8  # bugs of each half
LEAST = 97  # percent
BAD = "0x10"

Build = collections.namedtuple("Build", "name compiler flags")
C, CXX, RUST = "C", "C++", "Rust"

# What a compiler is asked for, by variant. Programs of Rust have a debug and a release
# build; another compiler is another way to mangle and to divide the code.
BUILDS = {
    "O2": {C: ["gcc", "-O2"], CXX: ["g++", "-O2"], RUST: ["-Copt-level=2"]},
    "O0": {C: ["gcc", "-O0"], CXX: ["g++", "-O0"], RUST: ["-Copt-level=0"]},
    "O3": {C: ["gcc", "-O3"], CXX: ["g++", "-O3"], RUST: ["-Copt-level=3"]},
    "LTO": {C: ["gcc", "-O2", "-flto"], CXX: ["g++", "-O2", "-flto"],
            RUST: ["-Copt-level=2", "-Clto=fat"]},
    "clang": {C: ["clang", "-O2"], CXX: ["clang++", "-O2"],
              RUST: ["-Copt-level=s", "-Ccodegen-units=1"]},
    "moved": {C: ["gcc", "-O2"], CXX: ["g++", "-O2"], RUST: ["-Copt-level=2"]},
    "sources": {C: ["gcc", "-O2"], CXX: ["g++", "-O2"], RUST: ["-Copt-level=2"]},
    "static": {C: ["gcc", "-O2", "-static"], CXX: ["g++", "-O2", "-static"],
               RUST: ["-Copt-level=2", "-Ctarget-feature=+crt-static"]},
    "musl": {C: ["musl-gcc", "-O2", "-static"]},
    "AArch64": {C: [test_core_aarch64.COMPILER, "-O2"], CXX: [test_core_aarch64.CXX, "-O2"]},
}
PROGRAMS = {C: ("ledgerd", ["ledger.c", "ledger_report.c"]),
            CXX: ("gateway", ["gateway.cc"]), RUST: ("stock", ["stock.rs"])}

# What a reduced run builds: compiling takes most of its time.
REDUCED_BUILDS = {C: [name for name in BUILDS if name != "AArch64"],
                  CXX: ["O2", "O0", "clang", "moved"], RUST: ["O2", "O0", "moved"]}

# A variant: the build, the file's name, depth, other threads, pointer, and how a report
# is made of it.
Variant = collections.namedtuple("Variant", "build file depth threads pointer by")
VARIANTS = {
    "first": Variant("O2", "{}", 0, 0, BAD, "live"),
    "deeper": Variant("O2", "{}", 12, 3, BAD, "live"),
    "moved": Variant("moved", "{}", 0, 0, BAD, "live"),
    "O0": Variant("O0", "{}", 0, 0, BAD, "live"),
    "O3": Variant("O3", "{}", 0, 0, BAD, "live"),
    "LTO": Variant("LTO", "{}", 0, 0, BAD, "live"),
    "clang": Variant("clang", "{}", 0, 0, BAD, "live"),
    "stripped": Variant("O2", "{}", 0, 0, BAD, "late"),
    "renamed": Variant("O2", "{}-2.1", 0, 0, BAD, "live"),
    "pointer": Variant("O2", "{}", 0, 0, "0x4141414141414141", "live"),
    "core": Variant("O2", "{}", 0, 0, BAD, "core"),
    "sources": Variant("sources", "{}", 0, 0, BAD, "live"),
    "static": Variant("static", "{}", 0, 0, BAD, "trace"),
    "musl": Variant("musl", "{}", 0, 0, BAD, "trace"),
    "AArch64": Variant("AArch64", "{}", 0, 0, BAD, "qemu"),
}


def moved(text):
    """The source with its lines moved, and a function before all others."""
    return text.replace("\n\n", "\n\n// A line that was added.\n\n\n")


def command_of(language, build, sources, out):
    flags = BUILDS[build][language]
    if language == RUST:
        return [rust_compiler(), "-g", "-Cpanic=abort", "--crate-name=stock", *flags, "-o",
                out, sources[0]]
    standard = ["-std=c++17"] if language == CXX else ["-std=gnu17"]
    return [*flags, *standard, "-g", "-w", "-pthread", "-o", out, *sources]


def wait_until_done(path):
    """Waits for whoever works on a report; a thread cannot use harness.read_when_done."""
    while True:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            if os.fstat(file.fileno()).st_ino == os.stat(path).st_ino:
                return


class Family:
    """The programs of all builds, in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.languages = [C, CXX]
        if not no_rust():
            self.languages.append(RUST)
        else:
            print("skipped: the bugs in Rust: " + no_rust())

    def path(self, language, build, file="{}"):
        return os.path.join(self.folder, build, file.format(PROGRAMS[language][0]))

    def make(self, language, build):
        sources = os.path.join(self.folder, build, "src")
        os.makedirs(sources, exist_ok=True)
        names = PROGRAMS[language][1] + (["ledger.h"] if language == C else [])
        # The files of the program; the names of a header are in its sources.
        new = {name: "new_" + name for name in PROGRAMS[language][1] if build == "sources"}
        for name in names:
            with open(os.path.join(SOURCES, name), encoding="utf-8") as file:
                text = file.read()
            with open(os.path.join(sources, new.get(name, name)), "w", encoding="utf-8") as file:
                file.write(moved(text) if build == "moved" else text)
        paths = [os.path.join(sources, new.get(name, name)) for name in PROGRAMS[language][1]]
        subprocess.run(command_of(language, build, paths, self.path(language, build)),
                       check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    @staticmethod
    def builds(language):
        builds = [name for name, commands in BUILDS.items() if language in commands and
                  (language == RUST or shutil.which(commands[language][0])) and
                  (name != "AArch64" or test_core_aarch64.QEMU)]
        return builds if harness.FULL else REDUCED_BUILDS[language]

    def make_all(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(self.make, language, build)
                         for language in self.languages
                         for build in self.builds(language)]:
                done.result()
        for language in self.languages:
            self.make_stripped(language)
            shutil.copy(self.path(language, "O2"), self.path(language, "O2", "{}-2.1"))

    def make_stripped(self, language):
        """The program without symbols, and its debug file where debuggers look."""
        whole = self.path(language, "O2")
        stripped = os.path.join(self.folder, "stripped", PROGRAMS[language][0])
        os.makedirs(os.path.dirname(stripped), exist_ok=True)
        notes = subprocess.run(["readelf", "-n", whole], check=True, text=True,
                               stdout=subprocess.PIPE).stdout
        build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
        debug = os.path.join(self.folder, "debug", ".build-id", build_id[:2])
        os.makedirs(debug, exist_ok=True)
        subprocess.run(["objcopy", "--only-keep-debug", whole,
                        os.path.join(debug, build_id[2:] + ".debug")], check=True)
        subprocess.run(["strip", "-o", stripped, whole], check=True)

    def bugs(self):
        """Every bug, as (language, name)."""
        found = []
        for language in self.languages:
            listed = subprocess.run([self.path(language, "O2")], check=True, text=True,
                                    stdout=subprocess.PIPE).stdout
            found += [(language, line.split(":")[0]) for line in listed.split()]
        return found


class Runs:
    """The reports of every bug in every variant."""

    def __init__(self, family):
        self.family = family
        self.reports = {}  # (bug, variant) to the path of a report

    def program(self, bug, variant):
        if variant.by == "late":
            return os.path.join(self.family.folder, "stripped", PROGRAMS[bug[0]][0])
        return self.family.path(bug[0], variant.build, variant.file)

    def run(self, bug, name):
        variant = VARIANTS[name]
        program = self.program(bug, variant)
        if not os.path.exists(program):
            return  # a reduced run does not build it
        command = [program, bug[1], str(variant.depth), str(variant.threads),
                   variant.pointer]
        with harness.Scene() as scene:
            if variant.by == "core":
                path = self.run_for_core(scene, command)
            elif variant.by == "qemu":
                path = self.run_under_qemu(command)
                if path is None:
                    print(f"{bug[1]} {name}: no core", file=sys.stderr)
                    return
            else:
                if variant.by == "trace":
                    scene.preload = None
                    command = [harness.CRASHHOOK, "run", "--via", "trace", "--", *command]
                scene.run(command, CRASHHOOK_ARGUMENTS="no")
                paths = scene.report_paths()
                if not paths:
                    print(f"{bug[1]} {name}: no crash", file=sys.stderr)
                    return  # the compiler made something else of the bug
                path = paths[0]
                wait_until_done(path)
            if variant.by == "late":
                done = scene.command("symbolize", "--no-cache", "--debug-dir",
                                     os.path.join(self.family.folder, "debug"), "-o",
                                     path, path)
                assert done.returncode == 0, done.stderr
            kept = os.path.join(self.family.folder, f"{bug[0]}.{bug[1]}.{name}.json")
            shutil.move(path, kept)
        self.reports[bug, name] = kept

    @staticmethod
    def run_for_core(scene, command):
        scene.preload = None
        ended = scene.run(command, core=True)
        core = scene.core(ended.pid)
        assert core is not None, f"{command} left no core: {ended.stderr}"
        done = scene.command("core", core, "--json")
        assert done.returncode == 0, done.stderr
        path = os.path.join(scene.folder, "report.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(done.stdout)
        return path

    @staticmethod
    def run_under_qemu(command):
        scene = test_core_aarch64.ForeignScene()
        try:
            core = scene.crash(*command)
            report = scene.report(core, "--exe", command[0], "--sysroot",
                                  test_core_aarch64.SYSROOT)
        except AssertionError:
            return None
        finally:
            shutil.rmtree(scene.folder)
        path = command[0] + "." + command[1] + ".report"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        return path

    def run_all(self, bugs, names):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for done in [pool.submit(self.run, bug, name)
                         for bug in bugs for name in names]:
                done.result()

    def keys(self):
        """Of every report its key, as the product computes it, and its title."""
        paths = {path: place for place, path in self.reports.items()}
        done = subprocess.run([harness.CRASHHOOK, "group", "--json", *paths], check=True,
                              text=True, stdout=subprocess.PIPE)
        found = {}
        for group in json.loads(done.stdout)["groups"]:
            for path in group["reports"]:
                found[paths[path]] = group
        return found


class Stacks:
    """What DWARF says of the stacks: the own functions of each report."""

    def __init__(self, runs):
        self.runs = runs
        wanted = collections.defaultdict(set)
        self.places = {}
        for place, path in runs.reports.items():
            binary = runs.family.path(place[0][0], VARIANTS[place[1]].build)
            program = os.path.basename(runs.program(place[0], VARIANTS[place[1]]))
            with open(path, "rb") as file:
                report = json.loads(file.read())
            self.places[place] = (binary, list(self.addresses(report, program)))
            wanted[binary].update(self.places[place][1])
        self.names = {binary: self.look_up(binary, sorted(addresses))
                      for binary, addresses in wanted.items()}

    @staticmethod
    def addresses(report, program):
        """The addresses of the crashed thread in its program, as linked."""
        thread = [thread for thread in report["threads"] if thread.get("crashed")][0]
        if "stack" in thread:
            places = report["places"]
            frames = [places[n] for n in report["stacks"][thread["stack"]]["frames"]
                      if isinstance(n, int)]
        else:
            frames = thread["backtrace"]["frames"]
        for frame in frames:
            image = frame.get("image")
            if image is None or frame.get("inline") or \
                    report["images"][image]["name"] != program:
                continue
            yield int(frame["image_offset"], 16) - (frame["kind"] == "ra")

    def look_up(self, binary, addresses):
        tool = "aarch64-linux-gnu-addr2line" if "/AArch64/" in binary else "addr2line"
        text = subprocess.run(
            [tool, "-afiC", "-e", binary], check=True, text=True,
            input="".join(f"{address:#x}\n" for address in addresses),
            stdout=subprocess.PIPE).stdout
        found, lines, current = {}, text.splitlines(), None
        at = 0
        while at < len(lines):
            if re.fullmatch(r"0x[0-9a-f]+", lines[at]):
                current = found.setdefault(int(lines[at], 16), [])
                at += 1
                continue
            if self.runs.family.folder in lines[at + 1]:
                current.append(last_component(lines[at]))
            at += 2
        return found

    def own(self, place):
        binary, addresses = self.places[place]
        return [name for address in addresses for name in self.names[binary][address]]


def last_component(name):
    """`touch` of `gw::session::touch(long)`, `{lambda}` of any lambda."""
    if re.search(r"lambda|\$_\d|closure", name):
        return "{lambda}"
    name = re.sub(r"\[clone.*|\(.*|<.*|::h[0-9a-f]{16}$|\.(constprop|isra|part|cold).*", "",
                  name.replace("operator<", "operator_less").replace("{impl#", "impl"))
    return name.split("::")[-1].split(" ")[-1]


class Grouping(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="crashhook-grouping.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        family = Family(cls.folder)
        family.make_all()
        cls.all = family.bugs()
        halves = [cls.all[0::2], cls.all[1::2]]
        chosen = random.Random(SEED)
        if not harness.FULL:
            halves = [chosen.sample(half, min(REDUCED, len(half))) for half in halves]
        cls.halves = halves
        cls.names = list(VARIANTS)
        if not harness.cores_land_in_folder():
            cls.names.remove("core")
        cls.runs = Runs(family)
        cls.runs.run_all(halves[0] + halves[1], cls.names)
        cls.keys = cls.runs.keys()
        cls.stacks = Stacks(cls.runs)

    def compare(self, bugs):
        """How many variants count, those whose key differs, and those left out."""
        counted, differ, left_out = 0, [], []
        for bug in bugs:
            first = self.keys[bug, "first"]
            innermost = self.stacks.own((bug, "first"))[:1]
            for name in self.names[1:]:
                if (bug, name) not in self.keys:
                    continue
                if innermost and innermost[0] not in self.stacks.own((bug, name)):
                    left_out.append((bug[1], name))
                    continue
                counted += 1
                group = self.keys[bug, name]
                if group["fingerprint2"] != first["fingerprint2"]:
                    differ.append(f"{bug[1]} {name}: {group['material']} for"
                                  f" {first['material']}")
        return counted, differ, left_out

    @staticmethod
    def merged(keys, bugs):
        """The pairs of different bugs that have one key."""
        by_key = collections.defaultdict(list)
        for bug in bugs:
            by_key[keys[bug, "first"]["fingerprint2"]].append(bug[1])
        return [names for names in by_key.values() if len(names) > 1]

    def quote(self, half, bugs):
        counted, differ, left_out = self.compare(bugs)
        merged = self.merged(self.keys, bugs)
        same = counted - len(differ)
        print(f"\n{half}: {len(bugs)} of {len(self.all)} bugs, {len(self.names)} variants,"
              f" seed {SEED}: {same} of {counted} keys are that of the first"
              f" ({100 * same / counted:.1f} %), {len(left_out)} not on the stack,"
              f" {len(merged)} merged", file=sys.stderr)
        for line in [*differ, *map(str, merged), f"not on the stack: {left_out}"]:
            print("  ", line, file=sys.stderr)
        return 100 * same / counted, merged

    def test_the_bugs_that_the_rules_were_made_with_keep_their_keys(self):
        percent, merged = self.quote("learnt", self.halves[0])
        self.assertGreaterEqual(percent, LEAST)
        self.assertLessEqual(len(merged), 1)

    def test_the_other_bugs_keep_their_keys(self):
        percent, merged = self.quote("quoted", self.halves[1])
        self.assertGreaterEqual(percent, LEAST)
        self.assertLessEqual(len(merged), 1)

    def test_two_groups_of_one_program_have_different_titles(self):
        titles = collections.defaultdict(set)
        for (bug, name), group in self.keys.items():
            if name == "first":
                titles[group["title"]].add(group["fingerprint2"])
        shared = [title for title, keys in titles.items() if len(keys) > 1]
        self.assertEqual(shared, [])


if __name__ == "__main__":
    harness.main()
