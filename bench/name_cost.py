#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# name_cost.py BUILD [RUNS [LIBRARY...]]: what the name and line of an address costs that the
# Backtrace API has not looked up before, and of one that it has: medians over 1,000 random
# addresses of the code of python3, libstdc++, libLLVM and each LIBRARY, with and without a
# symbol cache, where they have debug information: Debian 12 has python3.11-dbg and, with
# libjvm.so as a LIBRARY, openjdk-17-dbg, debian-debug has libllvm14-dbgsym, and
# libstdc++6-12-dbg has another libstdc++, for LD_LIBRARY_PATH. Medians of RUNS runs. What is
# not installed is skipped.

import ctypes
import os
import random
import statistics
import subprocess
import sys
import tempfile

import figures
import names
import symbolize

COUNT = 1000
ALL_OPTIONS = 7
USE_CACHE = 4
NEW_US = {False: 300, True: 30}  # without and with the symbol cache
AGAIN_US = 1


def libraries():
    """Names of the libraries that are here."""
    llvm = [f"libLLVM.so.{version}.1" for version in range(22, 17, -1)]
    llvm += [f"libLLVM-{version}.so.1" for version in range(17, 12, -1)]
    for candidates in (["libstdc++.so.6"], llvm):
        for name in candidates:
            try:
                ctypes.CDLL(name)
            except OSError:
                continue
            yield name
            break
        else:
            print(f"skipped: {candidates[0]} and its like are not installed")


def code_of(pid, name):
    """The path of an image of a process, and the ranges of its code."""
    path, ranges = None, []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            words = line.split()
            if len(words) == 6 and os.path.basename(words[5]).startswith(name) and "x" in words[1]:
                path = words[5]
                ranges.append([int(end, 16) for end in words[0].split("-")])
    return path, ranges


def measure(build, pid, ranges, options):
    chosen = random.Random(symbolize.SEED)
    addresses = [chosen.randrange(*chosen.choice(ranges)) for _ in range(COUNT)]
    said = subprocess.run([os.path.join(build, "bench", "name_cost"), str(pid), str(options)],
                          input="".join(f"{a:x}\n" for a in addresses), stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    return [float(value) for value in said.split()]


def rows_of(build, pid, name, runs):
    path, ranges = code_of(pid, name)
    has_debug = names.has_debug_information(path) or names.debug_file("", path) is not None
    # There is no cache of a program without debug information.
    for cached in (False, True) if has_debug else (False,):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            if cached:
                symbolize.write_cache(os.path.join(build, "bin", "crashhook"), path, folder)
            options = ALL_OPTIONS if cached else ALL_OPTIONS & ~USE_CACHE
            found = [measure(build, pid, ranges, options) for _ in range(runs)]
        first, new, most, again, kb, named = (statistics.median(c) for c in zip(*found))
        where = f"{name}, {'cache' if cached else 'no cache'}"
        figures.record("Backtrace API", f"new name, {where}", new, "µs", ("<=", NEW_US[cached]))
        figures.record("Backtrace API", f"name again, {where}", again, "µs", ("<=", AGAIN_US))
        yield (os.path.basename(path), "yes" if has_debug else "no", "yes" if cached else "no",
               f"{first / 1000:.1f} ms", f"{new:.1f} µs", f"{most / 1000:.1f} ms",
               f"{again:.2f} µs", f"{kb / 1024:.0f} MB", f"{named:.0f}")


def main(build, runs=5, *more):
    images = [*libraries(), *more]
    program = ("import ctypes, sys\nfor name in sys.argv[1:]:\n    ctypes.CDLL(name)\n"
               "print(flush=True)\nsys.stdin.read()\n")
    with subprocess.Popen([sys.executable, "-c", program, *images], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        rows = [row for name in [os.path.basename(os.path.realpath(sys.executable)), *images]
                for row in rows_of(build, process.pid, os.path.basename(name).split(".so")[0],
                                   int(runs))]
    print("| image | debug information | symbol cache | first name | new name | slowest | again | "
          "memory | named |\n|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


main(*sys.argv[1:])
