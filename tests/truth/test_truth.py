# SPDX-License-Identifier: Apache-2.0
#
# Programs with one known defect each: the report has the right kind, names the pointer or
# index that was wrong, and claims nothing that is not so. The cases have the form of those
# in tests/sentences (sentence_cases.py), whose programs are run here too. Each is built by
# every compiler and level of optimization that is installed, and reported live, under trace
# and from its core file.
#
# A reduced number of runs is chosen at random; `make truth` makes them all. CRASHHOOK_SEED
# repeats a choice, and words as arguments choose runs.

import os
import random
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "sentences"), os.path.join(HERE, "..", "integration")]

import families
import harness
import sentence_cases
import test_sentences
from place import no_rust, rust_compiler, rust_minor
from sentence_cases import BUILDS

REDUCED_RUNS = 72  # two cases of each source by one build, and what is left of others
CASES = 330  # at least, of this folder's own
WAYS = ("live", "trace", "core")
C_FLAGS = ["-g", "-pthread", "-w"]
LEVELS = ("O0", "O1", "O2", "O3")
C_COMPILERS = ("gcc", "gcc-14", "clang-14", "clang-19")
# What changes how a program is found, and not only how it is compiled.
LINKS = {"lto": ["-O2", "-flto"], "static": ["-O1", "-static"],
         "no-frame": ["-O2", "-fomit-frame-pointer"], "types": ["-O0", "-fdebug-types-section"],
         "no-pie": ["-O0", "-no-pie"], "stripped static": ["-O1", "-static", "-s"]}
CXX_LINKS = {"runtime in it": ["-O1", "-static-libstdc++", "-static-libgcc"]}


def c_builds(suffix):
    """Names and commands of the builds of a C or C++ program."""
    found = []
    for compiler in C_COMPILERS:
        command = compiler
        if suffix == ".cc":
            command = compiler.replace("gcc", "g++").replace("clang", "clang++")
        if shutil.which(command) is None:
            continue
        found += [(f"{compiler} {level}", [command, f"-{level}", *C_FLAGS]) for level in LEVELS]
        links = dict(LINKS, **(CXX_LINKS if suffix == ".cc" else {}))
        for name, flags in links.items():
            if name != "lto" or compiler.startswith("gcc"):
                found.append((f"{compiler} {name}", [command, *flags, *C_FLAGS]))
    if suffix == ".c":
        found.append(("musl O1", ["musl-gcc", "-static", "-O1", *C_FLAGS]))
    return found


def every_build():
    builds = dict(BUILDS)
    builds[".python"] = [("python3", ["/usr/bin/python3", families.__file__])]
    for suffix in (".c", ".cc"):
        builds[suffix] = c_builds(suffix)
    return builds


def fits(run):
    """A static program takes no library; a stripped one has no names. What tests/sentences
    has of locks and checks is glibc's. Before Rust 1.81, panics left functions that cannot
    unwind."""
    words = set(run.build.split())
    if "musl" in words and os.path.dirname(run.case.source) == sentence_cases.FOLDER:
        return False
    if run.case.source.endswith(".rs") and (no_rust() or rust_minor(rust_compiler()) < 81):
        return False
    return ((run.way != "live" or not {"static", "musl"} & words) and
            ("stripped" not in words or run.case.get("in") == "-"))


def reduced(runs, count, seed):
    """A choice that builds few programs: of each source one build, and cases of it."""
    chance = random.Random(seed)
    of_source = {}
    for run in runs:
        of_source.setdefault(run.case.source, []).append(run)
    chosen = []
    for each in of_source.values():
        build = chance.choice(sorted({run.build for run in each}))
        built = [run for run in each if run.build == build]
        chosen += chance.sample(built, min(len(built), count // len(of_source)))
    return chosen


def main():
    folder = tempfile.mkdtemp(prefix="crashhook-truth.")
    try:
        families.write_sources(folder)
        cases = sentence_cases.all_cases(HERE) + sentence_cases.all_cases(folder, (".c", ".cc", ".python"))
        if len(cases) < CASES:
            raise AssertionError(f"{len(cases)} cases for {CASES}")
        if harness.FULL:
            cases += sentence_cases.all_cases()
        runs = test_sentences.every_run(sys.argv[1:], cases, every_build(), WAYS)
        runs = [run for run in runs if fits(run)]
        return test_sentences.main(runs, REDUCED_RUNS, forgiving=True, choose=reduced)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
