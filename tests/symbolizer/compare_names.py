# SPDX-License-Identifier: Apache-2.0
#
# compare_names CRASHHOOK COUNT SEED FILE...: names, inlined calls, files and lines of
# COUNT random addresses of each FILE's code, by crashhook, addr2line and
# llvm-symbolizer. Every difference is put down to a cause that is checked for that
# address. One without a cause is a failure.

import bisect
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

from harness import build_id_of, code_of, run, sections

SHOWN = int(os.environ.get("COMPARE_SHOWN", "2"))  # examples printed of each cause
NOTHING = [(None, None, 0)]
ORDER = ["", "spelling", "source-name", "symbol-name", "symbol-around"]  # the last counts


def debug_file(path):
    build_id = build_id_of(path)
    if build_id is None:
        return []
    found = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    return [found] if os.path.exists(found) else []


class Symbols:
    """The functions of a file's symbol tables, as its names are written and demangled."""

    def __init__(self, path):
        rows = set()
        for file in [path] + debug_file(path):
            for line in run("readelf", "-sW", file).split("\n"):
                words = line.split()
                if len(words) > 7 and words[0].endswith(":") and words[6] != "UND" \
                        and words[3] in ("FUNC", "IFUNC", "NOTYPE"):
                    size = int(words[2], 0)
                    rows.add((int(words[1], 16), size, words[7].split("@")[0]))
        self.rows = sorted(rows)
        text = "\n".join(r[2] for r in self.rows)
        self.names = list(zip((r[2] for r in self.rows), run("c++filt", text=text).split("\n"),
                              run("llvm-cxxfilt", text=text).split("\n")))
        self.starts = [r[0] for r in self.rows]
        self.longest = max([r[1] for r in self.rows], default=0)

    def has(self, linker_name):
        return any(row[2] == linker_name for row in self.rows)

    def covering(self, address):
        """Names of symbols whose bytes have address, demangled by either tool."""
        found = set()
        at = bisect.bisect_right(self.starts, address) - 1
        while at >= 0 and self.starts[at] + self.longest > address:
            if self.starts[at] + self.rows[at][1] > address:
                found.update(self.names[at])
            at -= 1
        label = bisect.bisect_right(self.starts, address) - 1
        if label >= 0 and self.rows[label][1] == 0:  # of assembler, it has no size
            found.update(self.names[label])
        return found


def check_cache(command, text, printed):
    """The same addresses from the symbol cache, once it is there: the same answers."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = folder
        deadline = time.monotonic() + 60
        written = False
        if run(*command, text=text) != printed:
            sys.exit("answers differ when a cache is about to be written")
        caches = os.path.join(folder, "crashhook", "symbols")
        while debugged(command[3]) and not written and time.monotonic() < deadline:
            time.sleep(0.05)
            names = os.listdir(caches) if os.path.isdir(caches) else []
            written = any("." not in name for name in names)
        if debugged(command[3]) and not written:
            sys.exit("no cache was written")
        if run(*command, text=text) != printed:
            sys.exit("the cache answers otherwise than the debug information")
        if before is None:
            del os.environ["XDG_CACHE_HOME"]
        else:
            os.environ["XDG_CACHE_HOME"] = before


def check_file(crashhook, path, addresses):
    """A file of addresses gets the answers that they get one by one, as far as they are
    addresses."""
    command = [crashhook, "symbolize", "--no-cache", "--exe", path]
    words = [f"{a:#x}" for a in addresses[:40]]
    expected = run(*command, *words)
    with tempfile.TemporaryFile("w+", encoding="ascii") as file:
        file.write("\n".join([*words, "none", *words]))
        file.seek(0)
        done = subprocess.run([*command, "-"], stdin=file, capture_output=True, text=True,
                              check=False)
    if done.returncode != 2 or "'none'" not in done.stderr or done.stdout != expected:
        sys.exit(f"a file of addresses is answered otherwise: {done.stderr.strip()}")


def debugged(path):
    """Whether path or its debug file carries debug information."""
    return any(section[0] == ".debug_info" for file in [path] + debug_file(path)
               for section in sections(file))


def by_crashhook(crashhook, path, text):
    command = [crashhook, "symbolize", "--exe", path, "--json"]
    printed = run(*command, "--no-cache", "-", text=text)
    check_cache(command + ["-"], text, printed)
    return [Answer(int(a["address"], 16),
                   [(f.get("function"), f.get("file"), f.get("line", 0))
                    for f in a["frames"]] or NOTHING,
                   [f.get("raw_name") for f in a["frames"]] or [None])
            for a in json.loads(printed)]


def by_addr2line(path, text):
    answers, function = [], None
    for line in run("addr2line", "-afiC", "-e", path, text=text).split("\n"):
        if line.startswith("0x") and len(line) == 18:
            answers.append([])
        elif line and function is None:
            function = line
        elif line:
            file, _, number = line.split(" (discriminator")[0].rpartition(":")
            answers[-1].append((None if function == "??" else function,
                                None if file in ("??", "") else file,
                                int(number) if number.isdigit() else 0))
            function = None
    return answers


def by_llvm(path, text):
    answers = []
    for line in run("llvm-symbolizer", "--inlines", "-C", "--output-style=JSON",
                    "--obj=" + path, text=text).split("\n"):
        for entry in json.loads("[" + line + "]") if line else []:
            answers.append([(s["FunctionName"] or None, s["FileName"] or None, s["Line"])
                            for s in entry.get("Symbol", [])] or NOTHING)
    return answers


def places(frames):
    return [(file, line) for _, file, line in frames]


def functions(frames):
    return [function for function, _, _ in frames]


def squeeze(function):
    """A demangled name without what the demanglers write each in its own way."""
    return re.sub(r"\[clone(\.[^]]*)]", r"(\1)", function.replace(" ", ""))


def source_name(function):
    """What the source calls a demangled function: no scope, no parameters."""
    return re.split(r"[(<\[]", function)[0].split("::")[-1].strip()


class Spellings:
    """How the demanglers write the linker's names of our answers."""

    def __init__(self, linker_names):
        names = sorted({name for row in linker_names for name in row if name})
        text = "\n".join(names)
        self.of = {name: {squeeze(name)} for name in names}
        for tool in ("c++filt", "llvm-cxxfilt"):
            for name, spelled in zip(names, run(tool, text=text).split("\n")):
                self.of[name].add(squeeze(spelled))

    def has(self, linker_name, function):
        return squeeze(function) in self.of.get(linker_name, ())


class Answer:
    """What is known at one address: our frames, and what their names may be."""

    def __init__(self, address, frames, linker_names):
        self.address = address
        self.frames = frames
        self.linker_names = linker_names


def frame_cause(answer, at, theirs, spellings, covering):
    """Why the name of one frame differs, "" where it does not; None: no cause known."""
    ours = answer.frames[at][0]
    outermost = at == len(answer.frames) - 1
    if ours == theirs:
        return ""
    if not ours or not theirs:
        return None
    if squeeze(ours) == squeeze(theirs) or \
            spellings.has(answer.linker_names[at], theirs):
        return "spelling"
    if (outermost or at == 0) and squeeze(theirs) in {squeeze(name) for name in covering}:
        return "symbol-name" if outermost else "symbol-around"
    return "source-name" if source_name(ours) == theirs else None


def name_cause(answer, theirs, spellings, covering):
    """Why frames at the same places have other names; None when there is more to it."""
    if places(answer.frames) != places(theirs):
        return None
    causes = [frame_cause(answer, at, function, spellings, covering)
              for at, function in enumerate(functions(theirs))]
    return None if None in causes else max(causes, key=ORDER.index)


def cause_of(answer, theirs, third, symbols, spellings):
    """Why two answers differ, or None. third is what the remaining tool says."""
    ours = answer.frames
    covering = symbols.covering(answer.address)
    if ours[-1][0] is None and not covering:
        return "padding"
    # It has no size; from glibc 2.41 on, no tool but ours takes it for what is there.
    if functions(ours) == ["__restore_rt"] and functions(theirs) == [None]:
        return "symbol-name"
    # Both look at symbols alone.
    part = answer.linker_names[-1] or ""
    if not covering and part.endswith(".cold") and len(ours) == 1 and \
            symbols.has(part.removesuffix(".cold")):
        return "cold-part"
    cause = name_cause(answer, theirs, spellings, covering)
    if cause is not None:
        return cause
    if functions(ours) == functions(theirs) and ours[0][1] is None and theirs[0][2] == 0:
        return "file-symbol"
    if ours[-1][1] is None and len(theirs) == 1 and theirs[0][2] == 0 and \
            {ours[-1][0], theirs[0][0]} <= covering:
        return "alias"
    if places(ours) == places(third) and [l for _, l in places(ours)] == \
            [l for _, l in places(theirs)] and functions(ours) == functions(theirs):
        return "outvoted-file"
    if name_cause(answer, third, spellings, covering) is not None:
        return "outvoted"
    return None


def report(tool, counts, examples):
    print(f"  {tool}: " + ", ".join(f"{n} {cause}" for cause, n in counts.most_common()))
    for cause, rows in examples.items():
        for address, ours, theirs in rows[:SHOWN if cause != "UNEXPLAINED" else 20]:
            print(f"    {cause} {address:#x}\n      ours   {ours}\n      theirs {theirs}")


def compare(crashhook, path, count, seed):
    start, size = code_of(path)
    chosen = random.Random(seed)
    addresses = [start + chosen.randrange(size) for _ in range(count)]
    text = "".join(f"{a:#x}\n" for a in addresses)
    check_file(crashhook, path, addresses)
    ours = by_crashhook(crashhook, path, text)
    others = {"addr2line": by_addr2line(path, text), "llvm-symbolizer": by_llvm(path, text)}
    symbols = Symbols(path)
    spellings = Spellings([answer.linker_names for answer in ours])
    unexplained = 0
    print(f"{path}: {len(ours)} addresses, seed {seed}")
    for tool, theirs in others.items():
        third = next(a for t, a in others.items() if t != tool)
        if not len(ours) == len(theirs) == count:
            sys.exit(f"{tool} gave {len(theirs)} answers, crashhook {len(ours)}")
        counts, examples = collections.Counter(), {}
        for answer, their_frames, third_frames in zip(ours, theirs, third):
            if answer.frames == their_frames:
                counts["equal"] += 1
                continue
            cause = cause_of(answer, their_frames, third_frames, symbols,
                             spellings) or "UNEXPLAINED"
            counts[cause] += 1
            examples.setdefault(cause, []).append(
                (answer.address, answer.frames, their_frames))
        report(tool, counts, examples)
        unexplained += counts["UNEXPLAINED"]
    return unexplained


def main(crashhook, count, seed, paths):
    unexplained = sum(compare(crashhook, path, count, seed) for path in paths)
    print(f"unexplained: {unexplained}")
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
