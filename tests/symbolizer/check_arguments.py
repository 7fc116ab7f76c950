# SPDX-License-Identifier: Apache-2.0
#
# check_arguments CRASHHOOK STOPS SEED [SOURCES]: how many arguments of functions are
# shown, and how many of those are right, at random stops of real programs at -O2. What
# is true is what lay in the arguments' natural places when each function began; of calls
# that were inlined, which have no such places, what gdb says, except where
# arguments/gdb_differences.txt lists that it is wrong.
#
# The programs are this project's own parsers; with SOURCES, a folder with the unpacked
# sources of sqlite, zlib and jansson, those instead. Each is looked at with its debug
# information, and stripped, with CTF alone. Fails when anything that is called exact or
# proved is wrong, or when less is shown than the documents say.

import glob
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter

from harness import CASES, HERE, TOP, run

DRIVERS = os.path.join(CASES, "types")
FLAGS = ["-O2", "-g", "-gctf", "-no-pie", "-rdynamic", "-Wl,--ctf-variables", "-w"]
# With debug information, of arguments in outer frames, and of those of inlined calls
# that gdb can show.
SHOWN_AT_LEAST = 0.90
# With CTF alone.
SHOWN_BY_CTF_AT_LEAST = {"inner": 0.60, "outer": 0.75}


def own_parsers():
    sources = [f for folder in ("base", "formats", "shared") for f in
               sorted(glob.glob(os.path.join(TOP, folder, "**", "*.c"), recursive=True))
               if not f.endswith("/decompress_none.c")]  # stands in for decompress.c
    sources += [os.path.join(TOP, "symbolizer", "types", f"type_{n}.c")
                for n in ("btf", "check", "ctf", "name", "table")]
    sources += [os.path.join(TOP, "fuzz", f) for f in ("formats/fuzz_ctf.c", "replay.c")]
    corpus = os.path.join(TOP, "fuzz", "corpus", "ctf")
    flags = ["-I", TOP, "-D_GNU_SOURCE", "-DCRASHHOOK_SANITIZED=0", "-lz", "-ldeflate", "-lzstd"]
    return {"own": (sources, flags, [corpus])}


def others(folder):
    def find(pattern):
        found = sorted(glob.glob(os.path.join(folder, pattern)))
        if not found:
            sys.exit(f"no {pattern} in {folder}")
        return found

    jansson = os.path.dirname(find("jansson-*/src/jansson.h")[0])
    zlib = os.path.dirname(find("zlib-*/zlib.h")[0])
    sqlite = os.path.dirname(find("sqlite*/sqlite3.c")[0])
    zlib_sources = [f for f in find("zlib-*/*.c")
                    if not os.path.basename(f).startswith(("example", "minigzip", "gz"))]
    return {
        "jansson": ([*find("jansson-*/src/*.c"), os.path.join(DRIVERS, "use_jansson.c")],
                    ["-I", jansson, "-I", os.path.dirname(jansson), "-DHAVE_CONFIG_H"], []),
        "zlib": ([*zlib_sources, os.path.join(DRIVERS, "use_zlib.c")], ["-I", zlib], []),
        "sqlite": ([os.path.join(sqlite, "sqlite3.c"),
                    os.path.join(DRIVERS, "use_sqlite.c")], ["-I", sqlite], []),
    }


def functions_of(path):
    """The program's functions by address, from its symbols."""
    found = {}
    for line in run("nm", "-S", "--defined-only", path).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tT" and not words[3].startswith("_"):
            found[int(words[0], 16)] = (words[3], int(words[1], 16))
    return found


def natural(signature, call):
    """The words that were passed, by argument; None where this does not say."""
    if signature is None or signature["aggregate_result"]:
        return []
    words, general, vectors, stack = [], 0, 0, 0
    for argument in signature["arguments"]:
        if argument["kind"] == "float" and argument["size"] <= 8:
            words.append(None)
            vectors += 1
            stack += vectors > 8
        elif argument["kind"] != "int" or argument["size"] > 8:
            return words  # aggregates: their places are not worked out here
        elif general < 6:
            words.append(call["registers"][general])
            general += 1
        else:
            words.append(call["stack"][stack] if stack < len(call["stack"]) else None)
            stack += 1
    return words


def narrowed(word, argument):
    bits = argument["size"] * 8
    word &= (1 << bits) - 1
    if argument["signed"] and word >> (bits - 1):
        word -= 1 << bits
    return word


def number(value, argument):
    """A value of the report as a number, or None."""
    if isinstance(value, dict):
        value = value.get("address")
    if value is None:
        return 0
    if isinstance(value, (bool, int)):
        return narrowed(int(value), argument)
    if isinstance(value, str) and value.startswith("0x"):
        return narrowed(int(value, 16), argument)
    if value in argument["values"]:
        return narrowed(argument["values"][value], argument)
    return None


class Differences:
    """What gdb_differences.txt lists, and how often it was seen."""

    def __init__(self):
        path = os.path.join(HERE, "arguments", "gdb_differences.txt")
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file if line.strip() and not line.startswith("#")]
        parts = [[part.strip() for part in line.split("|")] for line in lines]
        self.known = {tuple(part[:3]): part[3] for part in parts}
        self.seen = Counter()

    def truth(self, key, argument, call):
        """What an argument of a call inlined in call is: gdb's word, if it is not listed."""
        around = self.known.get(key)
        if around is None:
            return argument["now"]
        passed = zip(call["signature"]["arguments"], natural(call["signature"], call))
        word = next(word for a, word in passed if a["name"] == around)
        self.seen[key] += narrowed(word, argument) != narrowed(argument["now"], argument)
        return word


class Tally:
    def __init__(self):
        self.counts = Counter()
        self.wrong = []

    def share(self, part, whole):
        return self.counts[part] / self.counts[whole] if self.counts[whole] else 1.0

    def print(self, title):
        for where in "inner", "outer", "inlined":
            total = self.counts[where]
            shown = self.counts[where, "shown"]
            print(f"  {title:6} {where}: {total} arguments, {shown} shown "
                  f"({100 * shown / max(total, 1):.1f} %), "
                  + ", ".join(f"{s} {n}, {self.counts[where, s, 'right']} right"
                              for s, n in self.by_source(where)))

    def by_source(self, where):
        return sorted((key[1], n) for key, n in self.counts.items()
                      if isinstance(key, tuple) and len(key) == 2 and key[0] == where
                      and key[1] != "shown")


class Program:
    def __init__(self, crashhook, name, folder, known):
        self.crashhook, self.name, self.folder = crashhook, name, folder
        self.known = known
        self.path = os.path.join(folder, name)
        self.stripped = self.path + ".stripped"
        self.unmatched = 0

    def build(self, sources, flags):
        run("gcc", *FLAGS, *sources, *flags, "-lm", "-lpthread", "-o", self.path)
        run("strip", "--strip-debug", "-o", self.stripped, self.path)
        self.functions = functions_of(self.path)

    def stops(self, count, seed, arguments):
        plan = {"seed": seed, "stops": count, "apart": 400, "folder": self.folder,
                "out": os.path.join(self.folder, "stops"),
                "functions": {str(a): n for a, (n, _) in self.functions.items()}}
        path = os.path.join(self.folder, "plan")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plan, file)
        subprocess.run(["gdb", "-nx", "-batch", "-x",
                        os.path.join(HERE, "arguments", "gdb_stops.py"), "--args",
                        self.path, *arguments], check=True, timeout=3000,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=dict(os.environ, ARGUMENTS_PLAN=path))
        with open(plan["out"], encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def function_at(self, address):
        for start, (name, size) in self.functions.items():
            if start <= address < start + size:
                return name
        return None

    def frames(self, core, exe):
        report = json.loads(run(self.crashhook, "core", core, "--exe", exe, "--json",
                                "--limit", "256",
                                env=dict(os.environ, CRASHHOOK_SANITIZE="no")))
        images = report["images"]
        found, inlined = [], []
        for frame in report["threads"][0]["backtrace"]["frames"]:
            if "address" not in frame:
                continue
            if frame.get("inline"):
                inlined.append(frame)
                continue
            image = images[frame["image"]] if "image" in frame else {}
            if os.path.basename(image.get("path", "")).split(".")[0] == self.name:
                found.append(dict(frame, inlined=inlined))
            inlined = []
        return found

    def matched(self, frames, calls):
        """Frames and the calls they are of, from the innermost on, as far as they agree."""
        for frame, call in zip(frames, calls):
            address = int(frame["address"], 16) - (frame["kind"] == "ra")
            name = self.function_at(address)
            if name is None or name.removesuffix(".cold") != call["name"]:
                self.unmatched += 1
                return
            yield frame, call

    def compare(self, stop, exe, tally):
        now = {}  # what gdb says, of each pc innermost first: recursion repeats them
        for frame in stop["frames"]:
            now.setdefault(frame["pc"], []).append(frame)
        for index, (frame, call) in enumerate(
                self.matched(self.frames(stop["core"], exe), stop["calls"])):
            signature = call["signature"]
            said = now.get(int(frame["address"], 16), [])
            gdb_frame = said.pop(0) if said else {"arguments": {}, "inlined": []}
            said = gdb_frame["arguments"]
            if exe == self.path:
                self.compare_inlined(frame, call, gdb_frame["inlined"], tally)
            if "." in call["name"]:
                continue  # a clone: what it is passed is not what its source says
            for place, word in enumerate(natural(signature, call)):
                if word is not None:
                    argument = signature["arguments"][place]
                    current = said.get(argument["name"])
                    self.compare_one(frame, place, (argument, word, current),
                                     "inner" if index == 0 else "outer", tally)

    def compare_inlined(self, around, call, said, tally):
        """The calls inlined in one frame, where gdb has the same ones."""
        frames = around["inlined"]
        if [f.get("function") for f in frames] != [f["function"] for f in said]:
            return
        at = f"{call['name']}+{int(around['address'], 16) - call['address']:#x}"
        for frame, inlined in zip(frames, said):
            # gdb lists them by no order.
            places = {a.get("name"): a["index"] for a in frame.get("arguments", [])}
            for argument in inlined["arguments"]:
                scalar = argument["kind"] == "int" and argument["size"] <= 8
                if argument["now"] is None or not scalar:
                    continue
                key = (self.name, at, f"{inlined['function']} {argument['name']}")
                now = self.known.truth(key, argument, call)
                place = places.get(argument["name"], len(places))
                self.compare_one(frame, place, (argument, now, now), "inlined", tally)

    def compare_one(self, frame, place, truth, where, tally):
        argument, word, current = truth
        tally.counts[where] += 1
        found = frame.get("arguments", [])
        found = found[place] if place < len(found) else {}
        if found.get("confidence", "unavailable") == "unavailable":
            return
        tally.counts[where, "shown"] += 1
        source = found["source"]
        right = True
        if "entry_value" in found:
            right = number(found["entry_value"], argument) == narrowed(word, argument)
        if "value" in found:
            value = number(found["value"], argument)
            known = [word] if current is None else [current]
            right = right and value in [narrowed(w, argument) for w in known]
        tally.counts[where, source] += 1
        tally.counts[where, source, "right"] += right
        if found["confidence"] in ("exact", "proved"):
            tally.counts["sure"] += 1
            tally.counts["sure", "right"] += right
            if not right:
                tally.wrong.append(f"{frame.get('function')} argument {place}: {found}, "
                                   f"passed {word:#x}, gdb has {current}")


def check(crashhook, count, seed, programs):
    failures = 0
    both = {"dwarf": Tally(), "ctf": Tally()}
    known = Differences()
    for name, (sources, flags, arguments) in programs.items():
        with tempfile.TemporaryDirectory() as folder:
            program = Program(crashhook, name, folder, known)
            program.build(sources, flags)
            stops = program.stops(count, seed, arguments)
            tallies = {"dwarf": Tally(), "ctf": Tally()}
            for stop in stops:
                program.compare(stop, program.path, tallies["dwarf"])
                program.compare(stop, program.stripped, tallies["ctf"])
        print(f"{name}: {len(stops)} stops, seed {seed}, "
              f"{program.unmatched} not followed to their end")
        for title, tally in tallies.items():
            tally.print(title)
            both[title].counts.update(tally.counts)
            both[title].wrong += tally.wrong
    for title, tally in both.items():
        share = tally.share(("sure", "right"), "sure")
        print(f"{title}: {tally.counts['sure']} called exact or proved, "
              f"{100 * share:.2f} % right")
        for line in tally.wrong[:10]:
            print(f"  wrong: {line}")
        failures += bool(tally.wrong) or not tally.counts["sure"]
    print(f"{sum(known.seen.values())} values differ from gdb's as is known")
    outer = both["dwarf"].share(("outer", "shown"), "outer")
    print(f"outer frames with debug information: {100 * outer:.1f} % shown")
    inlined = both["dwarf"].share(("inlined", "shown"), "inlined")
    print(f"inlined calls with debug information: {100 * inlined:.1f} % shown")
    failures += outer < SHOWN_AT_LEAST or inlined < SHOWN_AT_LEAST
    failures += both["dwarf"].counts["inlined"] == 0
    for where, at_least in SHOWN_BY_CTF_AT_LEAST.items():
        share = both["ctf"].share((where, "shown"), where)
        print(f"{where} frames with CTF alone: {100 * share:.1f} % shown")
        failures += share < at_least
    return failures


def main():
    crashhook, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    programs = others(sys.argv[4]) if len(sys.argv) > 4 else own_parsers()
    sys.exit(check(crashhook, count, seed, programs) != 0)


if __name__ == "__main__":
    main()
