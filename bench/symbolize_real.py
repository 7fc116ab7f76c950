#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# symbolize_real.py CRASHHOOK [RUNS [ROOT]]: 1 and 10,000 random addresses of real programs'
# code without any cache, beside llvm-symbolizer, and from the cache; as processor time,
# which other work disturbs little, and peak memory. Medians of RUNS runs, in turns. The
# programs: a C++ library (librados2, librados2-dbg), a JVM (openjdk-17-jre-headless,
# openjdk-17-dbg), both with compressed debug information, and a Rust program that is built
# here (rustc, librust-regex-syntax-dev). What is not installed is skipped. ROOT: where the
# packages are, if they were only unpacked (dpkg -x PACKAGE ROOT).

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

COUNT = 10000
CACHED = 300000  # addresses for the rate
RATIO = 0.5  # of llvm-symbolizer's time
RATE, PEAK_MB = 1e6, 40
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


def debug_file(root, path):
    """The debug file of a program, by its build ID; None: not here."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True,
                           check=True).stdout
    id_ = notes.split("Build ID:")[1].split()[0]
    found = f"{root}/usr/lib/debug/.build-id/{id_[:2]}/{id_[2:]}.debug"
    return found if os.path.exists(found) else None


def programs(root, folder):
    """(name, program, its debug file) of what is here."""
    packaged = {
        "C++": "/usr/lib/*/ceph/libceph-common.so.2",
        "JVM": "/usr/lib/jvm/java-17-openjdk-*/lib/server/libjvm.so",
    }
    for name, pattern in packaged.items():
        found = glob.glob(root + pattern)
        debug = debug_file(root, found[0]) if found else None
        if debug:
            yield name, found[0], debug
        else:
            print(f"{name}: skipped, {pattern} or its debug file is not installed")
    path = rust_program(root, folder)
    if path:
        yield "Rust", path, path
    else:
        print("Rust: skipped, rustc or librust-regex-syntax-dev is not installed")


def write(folder, path, count):
    """A file with random addresses of path's code: the first ones are the same for every
    count. None is kept, as a child's peak memory is this interpreter's at least."""
    start, size = symbolize.code_of(path)
    chosen = random.Random(symbolize.SEED)
    source = os.path.join(folder, f"addresses{count}")
    with open(source, "w", encoding="ascii") as file:
        for _ in range(count):
            file.write(f"{start + chosen.randrange(size):#x}\n")
    return source


def medians(commands, source, runs):
    """Name to seconds of processor time and MB."""
    rows = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            rows[name].append(symbolize.measure(command, source)[1:])
    return {name: [statistics.median(c) for c in zip(*row)] for name, row in rows.items()}


def show(name, count, found):
    for tool, (used, peak) in found.items():
        print(f"{name:5} {count:7} {tool:20} {used * 1000:9.1f} ms processor {peak:7.1f} MB",
              flush=True)


def measure(crashhook, name, path, debug, folder, runs):
    # debug is ROOT/usr/lib/debug/.build-id/ab/NAME, or the program itself.
    where = ["--debug-dir", debug.split("/.build-id/")[0]] if debug != path else []
    name_it = [crashhook, "symbolize", "--exe", path, *where]
    cold = {"crashhook, no cache": [*name_it, "--no-cache", "-"],
            "llvm-symbolizer": ["llvm-symbolizer", "--inlines", "-C", "--obj=" + debug]}
    cold = {tool: command for tool, command in cold.items() if shutil.which(command[0])}
    one = medians({"crashhook, no cache": cold["crashhook, no cache"]},
                  write(folder, path, 1), runs)
    many = medians(cold, write(folder, path, COUNT), runs)
    show(name, 1, one)
    show(name, COUNT, many)
    if "llvm-symbolizer" in many:
        theirs = many["llvm-symbolizer"][0]
        figures.record("names", f"{name}: 10,000 addresses, no cache",
                       many["crashhook, no cache"][0] * 1000, "ms",
                       ("<=", RATIO * theirs * 1000), {"llvm-symbolizer": theirs * 1000})
    subprocess.run([crashhook, "symbols", "index", "--cache",
                    os.path.join(os.environ["XDG_CACHE_HOME"], "crashhook", "symbols"),
                    *where, path], check=True, stdout=subprocess.DEVNULL)
    cached = {"crashhook, cache": [*name_it, "-"]}
    few = medians(cached, write(folder, path, 100), runs)["crashhook, cache"]
    all_ = medians(cached, write(folder, path, CACHED), runs)["crashhook, cache"]
    show(name, CACHED, {"crashhook, cache": all_})
    rate = (CACHED - 100) / max(all_[0] - few[0], 0.001)
    print(f"{name:5} steady, cache: {rate:,.0f} addresses/s")
    figures.record("names", f"{name}: steady, cache", rate, "addresses/s", (">=", RATE))
    figures.record("names", f"{name}: cache, memory", all_[1], "MB", ("<=", PEAK_MB))


def main(crashhook, runs=5, root=""):
    crashhook = os.path.realpath(crashhook)
    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        for name, path, debug in programs(root, folder):
            measure(crashhook, name, path, debug, folder, int(runs))


if __name__ == "__main__":
    main(*sys.argv[1:])
