#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# capture BUILD: what a captured frame costs, as bench_backtrace prints it, and one table of
# all libraries for a program's own backtraces that were here when BUILD was made
# (backtrace_peers): captures in microseconds, alone and with 500 libraries loaded, the first
# and later names of an address without a symbol cache, and the memory that names took.
# Debian has libunwind-dev, libabsl-dev, libbacktrace-dev and libboost-stacktrace-dev;
# std::stacktrace takes gcc 14, cpptrace its sources. "found" is how many of 100 frames a
# library gave: less where it stops, as one by frame pointers does in code without them.

import os
import re
import subprocess
import sys
import tempfile

import figures

# A measure of backtrace_peers, if with 500 libraries, its title, and what divides it.
COLUMNS = (("20 frames", False, "20 frames", 1000), ("100 frames", False, "100 frames", 1000),
           ("100 frames, found", False, "found", 1), ("1 thread", False, "thread", 1000),
           ("8 threads", False, "8 threads", 1000),
           ("20 frames", True, "500 libraries, 20 frames", 1000),
           ("first name", False, "first name", 1), ("later names", False, "later names", 1),
           ("first name", True, "500 libraries, first name", 1),
           ("later names", True, "500 libraries, later names", 1),
           ("memory", False, "memory, KB", 1))


def frame_costs(build):
    said = subprocess.run([os.path.join(build, "bench", "bench_backtrace")], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    print(said, end="")
    cost = {name.strip(): float(ns) for name, ns in
            re.findall(r"^(.*?)\s+\d+ frames.*?([\d.]+) ns a frame", said, re.MULTILINE)}
    ours = {name: cost.pop(name) for name in list(cost) if name.startswith("crashhook ")}
    for name, value in ours.items():
        figures.record("Backtrace API", f"capture, {name.split()[1]}", value, "ns/frame",
                       None, cost)


def peers(build, *library):
    """Library to measure to value."""
    with tempfile.TemporaryDirectory() as none:
        said = subprocess.run([os.path.join(build, "bench", "backtrace_peers"), *library],
                              env={**os.environ, "XDG_CACHE_HOME": none}, check=True,
                              stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for line in said.splitlines():
        measure, name, value = line.split("\t")
        found.setdefault(name, {})[measure] = float(value)
    return found


def record(found):
    """The figures with a target: it is a ratio to the quickest library of the same kind."""
    for what, peer, ratio in (("raw", "libunwind", 1.10), ("raw fast", "absl", 1.25)):
        for frames in ("20 frames", "100 frames"):
            others = {name: values[frames] for name, values in found.items()
                      if not name.startswith("crashhook")}
            figures.record("Backtrace API", f"capture, {what}, {frames}",
                           found[f"crashhook {what}"][frames], "ns",
                           ("<=", ratio * others[peer]) if peer in others else None, others)
    others = {name: values["later names"] for name, values in found.items()
              if "later names" in values}
    figures.record("Backtrace API", "name again", others.pop("crashhook"), "µs", ("<=", 1), others)


def cell(value, divisor):
    if value is None:
        return "-"
    return f"{value / divisor:.{0 if divisor == 1 and value >= 10 else 2}f}"


def main(build):
    frame_costs(build)
    alone = peers(build)
    among = peers(build, os.path.join(build, "bench", "libempty.so"))
    record(alone)
    print("\n| µs | " + " | ".join(title for _, _, title, _ in COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for name, values in alone.items():
        cells = [cell((among[name] if loaded else values).get(measure), divisor)
                 for measure, loaded, _, divisor in COLUMNS]
        print(f"| {name} | " + " | ".join(cells) + " |")


main(sys.argv[1])
