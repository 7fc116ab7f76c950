# SPDX-License-Identifier: Apache-2.0
#
# stepping [SEED [python]]: stands at every instruction of small programs, built by two
# compilers at four levels with and without frame pointers, and compares our backtrace
# with gdb's: once preferring SFrame, once by DWARF alone. In libraries, where most
# instructions run, a part of the stops is looked at, chosen by the seed (0: any at the full
# count, else the same in each run).
#
# A difference counts as known only if stepping_differences.txt lists it; where gdb's own
# frames leave the code (the same file says where and why), ours must agree up to there.
# Prints how many stops and frames were compared, and fails below what is stated here.
# libunwind walks the same stops over our memory, as a second opinion: where it differs
# is counted.
#
# With `python` the program is a Python interpreter built with SFrame (interpreter.c);
# exit code 77 where its source cannot be had, and where it is not built and the full count
# is not asked for.

import collections
import os
import random
import subprocess
import sys
import tempfile

import python_library

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "support"))
from place import no_tracing  # noqa: E402

BUILD = os.environ.get("CRASHHOOK_BUILD", os.path.join(HERE, "../../../build/release"))
FULL = os.environ.get("CRASHHOOK_FULL", "0") != "0"

COMPILERS = {"calls.c": ("gcc", "clang"), "signals.c": ("gcc", "clang"),
             "exceptions.cpp": ("g++", "clang++")}
# At the full count alone: SQLite, built with SFrame from Debian's source by
# test_sframe_readelf.
DATABASE = ("database.c", "gcc", "-O2", "-fomit-frame-pointer")
INTERPRETER = ("interpreter.c", "gcc", "-O2", "-fomit-frame-pointer")
LEVELS = ("-O0", "-O1", "-O2", "-O3")
POINTERS = ("-fomit-frame-pointer", "-fno-omit-frame-pointer")
# In libraries one stop of this many is looked at.
EVERY = {"calls.c": 20, "signals.c": 5, "exceptions.cpp": 100, "database.c": 20,
         "interpreter.c": 8}

RUNS = None if FULL else 5
LIMIT = 1000000 if FULL else 500
MINIMUM = {"stops": 30000, "frames": 150000, "sframe": 40000} if FULL else \
          {"stops": 1000, "frames": 5000, "sframe": 1000}
PYTHON_MINIMUM = {"stops": 10000, "frames": 200000, "sframe": 100000} if FULL else \
                 {"stops": 400, "frames": 4000, "sframe": 1500}
MEANS = ("auto", "dwarf", "libunwind")


def variants(seed):
    every = [(source, compiler, level, pointer)
             for source, compilers in COMPILERS.items() for compiler in compilers
             for level in LEVELS for pointer in POINTERS]
    if RUNS is None:
        return every + [DATABASE]
    chosen = random.Random(seed)
    # Each program once, then any.
    first = [chosen.choice([v for v in every if v[0] == source]) for source in COMPILERS]
    rest = [v for v in every if v not in first and v[0] != "exceptions.cpp"]
    return first + chosen.sample(rest, RUNS - len(first))


def sqlite_library():
    """The SQLite that test_sframe_readelf builds, built now if it has not run yet."""
    path = os.path.join(BUILD, "tests", "sframe_readelf", "sqlite.so")
    if not os.path.exists(path):
        subprocess.run([sys.executable, os.path.join(HERE, "../../integration/test_sframe_readelf.py")],
                       check=True, env=dict(os.environ, CRASHHOOK_BUILD=BUILD))
    return path


def build(variant, folder):
    source, compiler, level, pointer = variant
    program = os.path.join(folder, source.partition(".")[0])
    assembler = ["-fno-integrated-as"] if compiler.startswith("clang") else []
    libraries = []
    if variant == DATABASE:
        path = sqlite_library()
        libraries = [path, "-Wl,-rpath," + os.path.dirname(path)]
    if variant == INTERPRETER:
        libraries = python_library.build()
    subprocess.run([compiler, level, pointer, *assembler, "-w", "-Wa,--gsframe", "-o",
                    program, os.path.join(HERE, source), *libraries], check=True)
    return program


def read_stops(text):
    """{"STOP PC": [words of each part]} of the lines that are stops."""
    stops = {}
    for line in text.splitlines():
        key, *parts = line.split("|")
        if parts:
            stops[key] = [part.split() for part in parts]
    return stops


def ours(program, every, seed):
    """Our stops, and the ranges of executable memory."""
    command = [os.path.join(BUILD, "tests/stepper"), program, str(every), str(seed),
               str(LIMIT)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    code = [line.split() for line in text.splitlines() if line.startswith("code ")]
    return read_stops(text), [(int(low, 16), int(high, 16)) for _, low, high in code]


def gdbs(program, every, seed):
    command = ["gdb", "-nx", "-q", "-batch", "-ex", f"set $every={every}", "-ex",
               f"set $seed={seed}", "-ex", f"set $limit={LIMIT}", "-x",
               os.path.join(HERE, "gdb_steps.py"), program]
    return read_stops(subprocess.run(command, check=True, capture_output=True, text=True,
                                     stdin=subprocess.DEVNULL).stdout)


def known_differences():
    path = os.path.join(HERE, "stepping_differences.txt")
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    return {tuple(part.strip() for part in line.split("|")[:3]) for line in lines}


def up_to_nowhere(pcs, code):
    """The frames before the first that is in no executable memory."""
    good = [any(low <= int(pc, 16) < high for low, high in code) for pc in pcs]
    return pcs[:good.index(False)] if False in good else pcs


class Count(collections.Counter):
    def compare(self, variant, our_stops, code, gdb_stops, known):
        """Counts what one variant gives, and prints what differs."""
        name = " ".join(variant)
        both = our_stops.keys() & gdb_stops.keys()
        self["stops"] += len(both)
        self["unmatched"] += len(our_stops.keys() ^ gdb_stops.keys())
        for key in sorted(both, key=lambda one: int(one.split()[0])):
            truth = gdb_stops[key][0]
            for means, words in zip(MEANS, our_stops[key]):
                frames = [word.partition("/")[0] for word in words[:-1]]
                self["sframe"] += sum(word.endswith("/sframe") for word in words)
                self["frames"] += len(truth) if means != "libunwind" else 0
                if frames == truth:
                    continue
                self[means] += 1
                if means == "libunwind":
                    continue
                good = up_to_nowhere(truth, code)
                if len(good) < len(truth) and frames[:len(good)] == good:
                    self["nowhere"] += 1
                    continue
                if (name, means, f"{int(key.split()[1], 16) & 0xfff:03x}") in known:
                    self["known"] += 1
                    continue
                self["different"] += 1
                if self["different"] <= 20:
                    print(f"{name}: {means} at {key}\n  ours {' '.join(words)}\n"
                          f"  gdb  {' '.join(truth)}")


def main():
    seed = int(sys.argv[1] if len(sys.argv) > 1 else "0") or \
        (random.randrange(1, 1000000) if FULL else 7)
    python = sys.argv[2:] == ["python"]
    if no_tracing():
        print(f"SKIPPED: {no_tracing()}")
        return 77
    if python and not FULL and not python_library.is_built():
        print("SKIPPED: its Python with SFrame takes minutes to build: make check-full does it")
        return 77
    if python:
        try:
            python_library.build()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"SKIPPED: no Python that was built with SFrame: {error}")
            return 77
    count = Count()
    known = known_differences()
    minimum = PYTHON_MINIMUM if python else MINIMUM
    for variant in [INTERPRETER] if python else variants(seed):
        with tempfile.TemporaryDirectory() as folder:
            program = build(variant, folder)
            every = EVERY[variant[0]]
            our_stops, code = ours(program, every, seed)
            count.compare(variant, our_stops, code, gdbs(program, every, seed), known)
    print(f"stepping: seed {seed}, {count['stops']} stops, {count['frames']} frames compared "
          f"with gdb's, {count['sframe']} of them by SFrame; {count['different']} stops "
          f"differ, {count['known']} as known; gdb leaves the code at {count['nowhere']}; libunwind differs from gdb at "
          f"{count['libunwind']}; {count['unmatched']} stops were made by one side only")
    low = {what: count[what] for what, least in minimum.items() if count[what] < least}
    if low:
        print(f"stepping: too little was compared: {low}, at least {minimum}")
    if count["unmatched"] > count["stops"] // 20:
        print("stepping: the two runs of a program were not alike")
        low["unmatched"] = True
    if count["nowhere"] > count["stops"] // 200:
        print("stepping: gdb left the code too often")
        low["nowhere"] = True
    return 1 if low or count["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
