#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# names.py CRASHHOOK [RUNS [ROOT]]: 1, 100, 10,000 and 1,000,000 random addresses of the code
# of five real programs, as function, file and line with inlined calls, by crashhook without
# a cache and with one, and by the other tools that are installed. Processor time, which other
# work disturbs little, and peak memory: medians of RUNS runs, in turns. A tool that uses
# more than SECONDS of it is not measured with that many addresses or more.
#
# The programs: Python (python3.11-minimal, python3.11-dbg), libstdc++ (libstdc++6-12-dbg),
# parts of Ceph (librados2, librados2-dbg), Ceph's storage server, which has more than 400 MB
# of DWARF (ceph-osd, ceph-osd-dbg), a Rust program that is built here (rustc,
# librust-regex-syntax-dev), and Go's compiler, built here (golang-go). What is not installed
# is skipped. ROOT: where the packages are, if they were only unpacked (dpkg -x PACKAGE ROOT).

import glob
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

import figures
import symbolize

COUNTS = (1, 100, 10000, 1000000)
SECONDS = 60
RATIO = 0.5  # of llvm-symbolizer's time
RATE, PEAK_MB = 1e6, 40
PACKAGED = {
    "C: Python": "/usr/bin/python3.11",
    "C++: libstdc++": "/usr/lib/*/debug/libstdc++.so.6.0.30",
    "C++: Ceph": "/usr/lib/*/ceph/libceph-common.so.2",
    "C++: Ceph's storage server": "/usr/bin/ceph-osd",
}
RUST = """use std::io::BufRead;
fn main() {
    for line in std::io::stdin().lock().lines().flatten() {
        println!("{:?}", regex_syntax::Parser::new().parse(&line));
    }
}
"""


def rust_program(root, folder):
    """A debug build of a program with the parser of regular expressions; None: not here."""
    found = glob.glob(root + "/usr/share/cargo/registry/regex-syntax-*/src/lib.rs")
    if not found or not shutil.which("rustc"):
        return None
    source, library = folder + "/lines.rs", folder + "/libregex_syntax.rlib"
    with open(source, "w", encoding="ascii") as file:
        file.write(RUST)
    features = [f'feature="unicode{part}"' for part in (
        "", "-age", "-bool", "-case", "-gencat", "-perl", "-script", "-segment")]
    common = ["rustc", "-g", "-C", "opt-level=1"]
    subprocess.run([*common, "--edition", "2018", "--crate-name", "regex_syntax",
                    "--crate-type", "rlib", *[w for f in features for w in ("--cfg", f)],
                    "-o", library, found[0]], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([*common, "--edition", "2021", "-C", "link-dead-code=yes", "--extern",
                    f"regex_syntax={library}", "-o", folder + "/lines", source], check=True,
                   stderr=subprocess.DEVNULL)
    return folder + "/lines"


def go_program(folder):
    """Go's compiler; None: Go is not here."""
    path = folder + "/compile"
    built = shutil.which("go") and subprocess.run(
        ["go", "build", "-ldflags=-B 0x0123456789abcdef", "-o", path, "cmd/compile"],
        check=False, stderr=subprocess.DEVNULL,
        env={**os.environ, "GOCACHE": folder + "/go", "GOFLAGS": "-mod=mod"}).returncode == 0
    return path if built else None


def debug_file(root, path):
    """The debug file of a program, by its build ID; None: not here."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True,
                           check=True).stdout
    id_ = notes.split("Build ID:")[1].split()[0]
    found = f"{root}/usr/lib/debug/.build-id/{id_[:2]}/{id_[2:]}.debug"
    return found if os.path.exists(found) else None


def has_debug_information(path):
    return ".debug_info" in subprocess.run(["readelf", "-SW", path], capture_output=True,
                                           text=True, check=True).stdout


def programs(root, folder):
    """(name, program, the file with its debug information) of what is here."""
    for name, pattern in PACKAGED.items():
        found = glob.glob(root + pattern)
        with_lines = found[0] if found and has_debug_information(found[0]) else None
        debug = with_lines or (debug_file(root, found[0]) if found else None)
        if debug:
            yield name, found[0], debug
        else:
            print(f"{name}: skipped, {pattern} or its debug file is not installed")
    for name, path, needs in (("Rust: regex-syntax", rust_program(root, folder),
                               "rustc or librust-regex-syntax-dev"),
                              ("Go: its compiler", go_program(folder), "go")):
        if path:
            yield name, path, path
        else:
            print(f"{name}: skipped, {needs} is not installed")


def write(folder, path, count, form="{:#x}\n"):
    """A file with random addresses of path's code: the first ones are the same for every
    count. None is kept, as a child's peak memory is this interpreter's at least."""
    start, size = symbolize.code_of(path)
    chosen = random.Random(symbolize.SEED)
    source = os.path.join(folder, f"addresses{count}")
    with open(source, "w", encoding="ascii") as file:
        for _ in range(count):
            file.write(form.format(start + chosen.randrange(size)))
    return source


def gsym_tools(debug, folder):
    """llvm-gsymutil's commands, with a table that it makes first; its time is printed."""
    for version in (14, 19, 22):
        program = shutil.which(f"llvm-gsymutil-{version}")
        table = os.path.join(folder, f"gsym{version}")
        if not program:
            continue
        made = symbolize.measure([program, "--convert", debug, "--out-file", table], os.devnull)
        if made is not None and os.path.exists(table):
            print(f"llvm-gsymutil {version}: its table took {made[1]:.1f} s of processor time "
                  f"and {made[2]:.0f} MB")
            yield f"llvm-gsymutil {version}, table", [program, "--addresses-from-stdin"], \
                f"{{:#x}} {table}\n"


def tools_for(crashhook, path, debug, folder):
    """Name to (command, form of a line of its input)."""
    # debug is ROOT/usr/lib/debug/.build-id/ab/NAME, or the program itself.
    where = ["--debug-dir", debug.split("/.build-id/")[0]] if debug != path else []
    name_it = [crashhook, "symbolize", "--exe", path, *where]
    caches = os.path.join(os.environ["XDG_CACHE_HOME"], "crashhook", "symbols")
    made = symbolize.measure([crashhook, "symbols", "index", "--cache", caches, *where, path],
                             os.devnull)
    print(f"crashhook: its cache took {made[0]:.1f} s")  # by processes that it does not wait for
    line = "{:#x}\n"
    found = {"crashhook, no cache": ([*name_it, "--no-cache", "-"], line),
             "crashhook, cache": ([*name_it, "-"], line)}
    for version in (14, 19, 22):
        found[f"llvm-symbolizer {version}"] = (
            [f"llvm-symbolizer-{version}", "--inlines", "-C", "--obj=" + debug], line)
    found["addr2line"] = (["addr2line", "-fiC", "-e", debug], line)
    found["eu-addr2line"] = (["eu-addr2line", "-fiC", "-e", debug], line)
    found["gdb"] = (["gdb", "-nx", "-q", debug], "info line *{:#x}\n")
    found = {tool: both for tool, both in found.items()
             if figures.installed(both[0][0], tool)}
    for tool, command, form in gsym_tools(debug, folder):
        found[tool] = (command, form)
    return found


def measure(tools, path, folder, runs):
    """Count to tool to [seconds of processor time, MB]."""
    found = {}
    late = set()
    for count in COUNTS:
        rows = {}
        for turn in range(runs if count < max(COUNTS) else 1):
            for tool, (command, form) in tools.items():
                if tool in late or (turn > 0 and tool not in rows):
                    continue
                used = symbolize.measure(["prlimit", f"--cpu={SECONDS}", *command],
                                         write(folder, path, count, form))
                if used is not None:
                    rows.setdefault(tool, []).append(used[1:])
                else:
                    late.add(tool)
        found[count] = {tool: [statistics.median(c) for c in zip(*row)]
                        for tool, row in rows.items() if tool not in late}
    return found


def show(name, tools, found):
    print(f"\n| {name}: ms of processor time, MB | "
          + " | ".join(f"{count:,}" for count in COUNTS) + " |")
    print("|---" * (len(COUNTS) + 1) + "|")
    for tool in tools:
        cells = (f"{found[count][tool][0] * 1000:,.0f}, {found[count][tool][1]:,.0f}"
                 if tool in found[count] else "-" for count in COUNTS)
        print(f"| {tool} | " + " | ".join(cells) + " |", flush=True)


def record(name, found):
    for count in COUNTS:
        ours = found[count].get("crashhook, no cache")
        others = {tool: used * 1000 for tool, (used, _) in found[count].items()
                  if not tool.startswith("crashhook")}
        llvm = [ms for tool, ms in others.items() if tool.startswith("llvm-symbolizer")]
        if ours and others:
            figures.record("names", f"{name}: {count:,} addresses, no cache", ours[0] * 1000, "ms",
                           ("<=", RATIO * min(llvm)) if llvm and count == 10000 else None, others)
    few, all_ = (found[count].get("crashhook, cache") for count in (100, max(COUNTS)))
    if few and all_:
        rate = (max(COUNTS) - 100) / max(all_[0] - few[0], 0.001)
        figures.record("names", f"{name}: steady, cache", rate, "addresses/s", (">=", RATE))
        figures.record("names", f"{name}: cache, memory", all_[1], "MB", ("<=", PEAK_MB))


def main(crashhook, runs=5, root=""):
    crashhook = os.path.realpath(crashhook)
    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        for name, path, debug in programs(root, folder):
            tools = tools_for(crashhook, path, debug, folder)
            found = measure(tools, path, folder, int(runs))
            show(name, tools, found)
            record(name, found)


if __name__ == "__main__":
    main(*sys.argv[1:])
