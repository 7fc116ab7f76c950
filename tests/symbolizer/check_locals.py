# SPDX-License-Identifier: Apache-2.0
#
# check_locals CRASHHOOK STOPS SEED [SOURCES]: what reports say of local variables and
# arguments, beside what gdb's `info locals` and `info args` say of the same cores, frame
# by frame, inlined calls included.
#
# The programs are those in locals/ and this project's own parsers; with SOURCES, a folder
# that locals/full/fetch_sources filled with sources of Debian's packages, those instead. Each is built
# at -O0, at -O2 and with LTO, by gcc and by clang. Fails on any value that differs from
# gdb's and is not listed in locals/gdb_differences.txt, when less than SHOWN_AT_LEAST of
# what gdb knows is shown, and when fewer than COMPARED_AT_LEAST values were compared.

import glob
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from check_arguments import own_parsers  # noqa: E402

LOCALS = os.path.join(HERE, "locals")
DRIVERS = os.path.join(os.path.dirname(HERE), "cases", "types")
WAYS = {
    "gcc -O0": ("gcc", ["-O0"]),
    "gcc -O2": ("gcc", ["-O2"]),
    "gcc -O2 -flto": ("gcc", ["-O2", "-flto"]),
    "clang -O0": ("clang", ["-O0"]),
    "clang -O2": ("clang", ["-O2"]),
}
# Of the values that gdb prints, those that are shown.
SHOWN_AT_LEAST = 0.85
COMPARED_AT_LEAST = 200  # of each way


def committed():
    programs = {}
    for path in sorted(glob.glob(os.path.join(LOCALS, "*.c*"))):
        name = os.path.basename(path).split(".")[0]
        programs[name] = ([path], [], [])
    sources, flags, arguments = own_parsers()["own"]
    programs["own"] = (sources, flags, arguments)
    return programs


def find(folder, pattern):
    found = sorted(glob.glob(os.path.join(folder, pattern)))
    if not found:
        sys.exit(f"no {pattern} in {folder}")
    return found


def full(folder):
    """Programs of Debian's sources: two libraries in C and one in C++, with drivers of
    ours, and two programs."""
    jansson = os.path.dirname(find(folder, "jansson-*/src/jansson.h")[0])
    zlib = os.path.dirname(find(folder, "zlib-*/zlib.h")[0])
    bzip2 = os.path.dirname(find(folder, "bzip2-*/bzlib.h")[0])
    lua = os.path.dirname(find(folder, "lua5.4-*/src/lua.h")[0])
    jsoncpp = os.path.dirname(find(folder, "libjsoncpp-*/include/json/json.h")[0])
    zlib_sources = [f for f in find(folder, "zlib-*/*.c")
                    if not os.path.basename(f).startswith(("example", "minigzip", "gz"))]
    return {
        "jansson": ([*find(folder, "jansson-*/src/*.c"),
                     os.path.join(DRIVERS, "use_jansson.c")],
                    ["-I", jansson, "-I", os.path.join(os.path.dirname(jansson), "android"),
                     "-DHAVE_CONFIG_H", "-DHAVE_STDINT_H"],
                    []),
        "zlib": ([*zlib_sources, os.path.join(DRIVERS, "use_zlib.c")],
                 ["-I", zlib, "-DHAVE_UNISTD_H"], []),
        "bzip2": ([os.path.join(bzip2, f"{name}.c") for name in
                   ("blocksort", "huffman", "crctable", "randtable", "compress",
                    "decompress", "bzlib", "bzip2")],
                  ["-I", bzip2], ["-k", "-c", os.path.join(bzip2, "bzlib.c")]),
        "lua": ([f for f in find(folder, "lua5.4-*/src/*.c")
                 if os.path.basename(f) != "luac.c"], ["-I", lua, "-DLUA_USE_POSIX"],
                [os.path.join(LOCALS, "full", "script.lua")]),
        "jsoncpp": ([*find(folder, "libjsoncpp-*/src/lib_json/*.cpp"),
                     os.path.join(LOCALS, "full", "use_jsoncpp.cc")],
                    ["-I", os.path.dirname(jsoncpp)], []),
    }


class Differences:
    """What gdb_differences.txt lists: program | way | function | variable | cause."""

    def __init__(self):
        with open(os.path.join(LOCALS, "gdb_differences.txt"), encoding="utf-8") as file:
            lines = [line for line in file if line.strip() and not line.startswith("#")]
        self.known = {tuple(part.strip() for part in line.split("|")[:4]) for line in lines}
        self.seen = Counter()

    def expects(self, program, way, function, variable):
        for key in (program, way, function, variable), (program, "*", function, variable):
            if key in self.known:
                self.seen[key] += 1
                return True
        return False


def as_number(value):
    """A value of a report as a number, or None."""
    if isinstance(value, dict):
        value = value.get("address")
    if value is None:
        return 0
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, str) and value.startswith("0x"):
        try:
            return int(value, 16)
        except ValueError:
            return None
    return None


def same_text(ours, theirs):
    if theirs is None:
        return True
    ours = ours.replace("\\x", "\\x")
    if ours.endswith("...") and len(theirs) >= len(ours) - 3:
        ours, theirs = ours[:-3], theirs[:len(ours) - 3]
    try:
        theirs.encode("ascii")
    except UnicodeEncodeError:
        return True  # how bytes that are not ASCII are escaped is tested elsewhere
    return ours == theirs


def same_float(ours, theirs):
    theirs = float(theirs)
    if isinstance(ours, str):
        return math.isnan(theirs) if ours == "nan" else float(ours) == theirs
    return isinstance(ours, (int, float)) and \
        (ours == theirs or math.isclose(ours, theirs, rel_tol=1e-12))


def same_int(ours, theirs):
    mask = (1 << (8 * theirs["size"])) - 1
    if isinstance(ours, str) and ours in theirs.get("names", {}):
        number = theirs["names"][ours]
    else:
        number = as_number(ours)
    if number is None or number & mask != theirs["int"] & mask:
        return False
    text = ours.get("value") if isinstance(ours, dict) else None
    return not isinstance(text, str) or same_text(text, theirs.get("text"))


def is_missing(ours):
    return isinstance(ours, dict) and "error" in ours and "address" not in ours


def same(ours, theirs):
    """Whether a value of a report is what gdb says; parts that one lacks are not compared."""
    if theirs is None or is_missing(ours):
        return True
    if "reference" in theirs:
        # A reference is its address where what it refers to is not known, as in members.
        bare = ours is None or isinstance(ours, str) and ours.startswith("0x")
        return (bare and as_number(ours) == theirs["address"]) or \
            same(ours, theirs["reference"])
    if "float" in theirs:
        return same_float(ours, theirs["float"])
    if "elements" in theirs:
        return isinstance(ours, list) and \
            all(same(a, b) for a, b in zip(ours, theirs["elements"])
                if not (isinstance(a, dict) and "more" in a))
    if "members" in theirs:
        return isinstance(ours, dict) and \
            all(name not in ours or same(ours[name], member)
                for name, member in theirs["members"].items())
    if "int" in theirs:
        return same_int(ours, theirs)
    return not isinstance(ours, str) or same_text(ours, theirs["text"])


class Tally:
    def __init__(self):
        self.counts = Counter()
        self.wrong = []
        self.missed = Counter()

    def add(self, other):
        self.counts.update(other.counts)
        self.wrong += other.wrong
        self.missed.update(other.missed)

    def share(self, list_):
        whole = self.counts[list_]
        return self.counts[list_, "shown"] / whole if whole else 1.0

    def print(self, title):
        print(f"{title}: " + "; ".join(
            f"{self.counts[list_]} {list_}, {self.counts[list_, 'shown']} shown "
            f"({100 * self.share(list_):.1f} %)" for list_ in ("locals", "arguments"))
            + f"; {self.counts['frames']} frames, {self.counts['unmatched']} stops not "
            f"followed to their end, {len(self.wrong)} wrong")


class Program:
    def __init__(self, crashhook, name, way, folder, known):
        self.crashhook, self.name, self.way = crashhook, name, way
        self.folder, self.known = folder, known
        self.path = os.path.join(os.path.realpath(folder), name)
        self.tally = Tally()

    def build(self, sources, flags):
        compiler, level = WAYS[self.way]
        if any(source.endswith((".cc", ".cpp")) for source in sources):
            compiler = {"gcc": "g++", "clang": "clang++"}[compiler]
            level = [*level, "-std=c++17"]
        subprocess.run([compiler, *level, "-g", "-no-pie", "-w", *sources, *flags, "-lm",
                        "-lpthread", "-o", self.path], check=True)

    def functions(self):
        listed = subprocess.run(["nm", "-S", "--defined-only", self.path], check=True,
                                capture_output=True, text=True).stdout
        words = [line.split() for line in listed.splitlines()]
        return [int(w[0], 16) for w in words if len(w) == 4 and w[2] in "tTwW"
                and not w[3].startswith(("_start", "__libc", "_init", "_fini"))]

    def stops(self, count, seed, arguments):
        plan = {"seed": seed, "stops": count, "apart": 60, "steps": 60,
                "breakpoints": 200, "folder": self.folder, "program": self.path,
                "out": os.path.join(self.folder, "stops"), "functions": self.functions()}
        path = os.path.join(self.folder, "plan")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plan, file)
        subprocess.run(["gdb", "-nx", "-batch", "-x", os.path.join(LOCALS, "gdb_locals.py"),
                        "--args", self.path, *arguments], check=True, timeout=3000,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=dict(os.environ, LOCALS_PLAN=path))
        with open(plan["out"], encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def frames(self, core):
        ran = subprocess.run([self.crashhook, "core", core, "--exe", self.path, "--json",
                              "--limit", "256"], check=True, capture_output=True,
                             text=True, timeout=120,
                             env=dict(os.environ, CRASHHOOK_SANITIZE="no"))
        frames = json.loads(ran.stdout)["threads"][0]["backtrace"]["frames"]
        return [frame for frame in frames if "address" in frame]

    def compare(self, stop):
        for ours, theirs in zip(self.frames(stop["core"]), stop["frames"]):
            if int(ours["address"], 16) != theirs["pc"] or \
               bool(ours.get("inline")) != theirs["inline"]:
                self.tally.counts["unmatched"] += 1
                return
            if theirs["variables"]:
                self.tally.counts["frames"] += 1
                self.compare_frame(ours, theirs)

    def compare_frame(self, ours, theirs):
        found = {"arguments": {}, "locals": {}}
        for list_, by_name in found.items():
            for variable in ours.get(list_, []):
                by_name.setdefault(variable.get("name"), []).append(variable)
        for variable in theirs["variables"]:
            list_ = "arguments" if variable["argument"] else "locals"
            same_name = found[list_].get(variable["name"], [])
            mine = same_name.pop(0) if same_name else {}
            if variable["known"] and variable["value"] is not None:
                self.compare_one(list_, theirs["function"], mine, variable)

    def compare_one(self, list_, function, mine, variable):
        self.tally.counts[list_] += 1
        where = f"{self.name} {self.way}: {function} {variable['name']}"
        if "value" not in mine or is_missing(mine["value"]):
            self.tally.missed[f"{list_[:-1]} {mine.get('reason', 'absent')}", where] += 1
            return
        self.tally.counts[list_, "shown"] += 1
        right = mine["confidence"] not in ("exact", "proved") or \
            same(mine["value"], variable["value"])
        if not right and not self.known.expects(self.name, self.way, function,
                                                variable["name"]):
            self.tally.wrong.append(f"{where}: {mine}, gdb has {variable['value']}")


def check_program(crashhook, name, way, source, count, seed, known):
    sources, flags, arguments = source
    with tempfile.TemporaryDirectory() as folder:
        program = Program(crashhook, name, way, folder, known)
        program.build(sources, flags)
        for stop in program.stops(count, seed, arguments):
            program.compare(stop)
            program.tally.counts["stops"] += 1
            os.unlink(stop["core"])
    program.tally.print(f"{name} {way}, {program.tally.counts['stops']} stops")
    return program.tally


def ways_of(seed, reduced):
    """All ways, or at a reduced count -O2 and one of the others."""
    ways = [way for way in WAYS if shutil.which(WAYS[way][0])]
    if not reduced:
        return ways
    others = [way for way in ways if way != "gcc -O2"]
    return ["gcc -O2", random.Random(seed).choice(others)]


def check(crashhook, count, seed, programs, reduced):
    known, total = Differences(), {}
    for way in ways_of(seed, reduced):
        total[way] = Tally()
        for name, source in programs.items():
            total[way].add(check_program(crashhook, name, way, source, count, seed, known))
    failures = 0
    for way, tally in total.items():
        tally.print(f"all {way}, seed {seed}")
        whole = tally.counts["locals"] + tally.counts["arguments"]
        shown = tally.counts["locals", "shown"] + tally.counts["arguments", "shown"]
        print(f"  {shown} of {whole} shown: {100 * shown / max(whole, 1):.1f} %")
        for (reason, where), times in sorted(tally.missed.items())[:int(
                os.environ.get("LOCALS_MISSED", "0"))]:
            print(f"  not shown, {reason}: {where} ({times})")
        for line in tally.wrong[:20]:
            print(f"  wrong: {line}")
        failures += bool(tally.wrong)
        failures += whole < COMPARED_AT_LEAST
        failures += shown < SHOWN_AT_LEAST * whole
    print(f"{sum(known.seen.values())} values differ from gdb's as is known")
    return failures


def main():
    crashhook, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    is_full = len(sys.argv) > 4
    programs = full(sys.argv[4]) if is_full else committed()
    reduced = not is_full and not os.environ.get("CRASHHOOK_FULL")
    sys.exit(check(crashhook, count, seed, programs, reduced) != 0)


if __name__ == "__main__":
    main()
