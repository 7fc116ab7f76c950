#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# heap.py BUILD [TURNS]: what malloc and free of 32 bytes cost with libcrashhook-heap: where
# nothing is guarded, at the default rate, and guarded each time; in turns, processor time,
# the median of the turns (bench/heap_cost.c). The same with scudo's own GWP-ASan, compared
# with scudo without it, and with AddressSanitizer's allocator, where they are installed.
# Debian's tcmalloc has none.

import glob
import os
import statistics
import subprocess
import sys

import figures

PAIRS, GUARDED_PAIRS = "20000000", "100000"


SCUDO = "GWP_ASAN_Enabled={}:GWP_ASAN_SampleRate={}:GWP_ASAN_MaxSimultaneousAllocations=64"


def found(pattern):
    return next(iter(sorted(glob.glob(pattern), reverse=True)), None)


def cost_ns(build, pairs, variables):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("CRASHHOOK_")}
    if variables is not None:
        environment["LD_PRELOAD"] = os.path.join(build, "lib", "libcrashhook-heap.so")
        environment.update(variables)
    done = subprocess.run([os.path.join(build, "bench", "heap_cost"), pairs], env=environment,
                          stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def other_ways():
    """The others that are installed, each with its pairs and variables."""
    scudo = found("/usr/lib/llvm-*/lib/clang/*/lib/linux/"
                  "libclang_rt.scudo_standalone-x86_64.so")
    asan = found("/usr/lib/gcc/x86_64-linux-gnu/*/libasan.so")
    if scudo:
        for name, pairs, options in (("scudo", PAIRS, (0, 1)), ("sampled", PAIRS, (1, 5000)),
                                     ("guarded", GUARDED_PAIRS, (1, 1))):
            yield name, pairs, {"LD_PRELOAD": scudo, "SCUDO_OPTIONS": SCUDO.format(*options)}
    if asan:
        yield "asan", GUARDED_PAIRS, {"LD_PRELOAD": asan}


def main():
    build = os.path.realpath(sys.argv[1])
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    ways = {"none": (PAIRS, None), "loaded": (PAIRS, {}),
            "sample": (PAIRS, {"CRASHHOOK_HEAP": "sample"}),
            "every": (GUARDED_PAIRS, {"CRASHHOOK_HEAP": "every", "CRASHHOOK_HEAP_SLOTS": "64"})}
    ways.update({name: (pairs, variables) for name, pairs, variables in other_ways()})
    rows = [{name: cost_ns(build, *way) for name, way in ways.items()} for _ in range(turns)]
    costs = {name: statistics.median(row[name] for row in rows) for name in ways}
    print("| malloc and free | library loaded | one in 5,000 guarded | each guarded |\n"
          "|---|---|---|---|")
    print(f"| {costs['none']:.2f} ns | {costs['loaded']:.2f} ns | {costs['sample']:.2f} ns "
          f"| {costs['every'] / 1000:.2f} µs |")

    def more(name, base):
        return statistics.median(row[name] - row[base] for row in rows)

    others = {}
    if "scudo" in ways:
        others = {"sampled": {"scudo's GWP-ASan": round(more("sampled", "scudo"), 2)},
                  "guarded": {"scudo's GWP-ASan": round(costs["guarded"] / 1000, 2)}}
    if "asan" in ways:
        others.setdefault("sampled", {})["AddressSanitizer"] = round(more("asan", "none"), 2)
    figures.record("heap", "malloc and free that are not guarded: more", more("loaded", "none"),
                   "ns", ("<=", 2.5))
    figures.record("heap", "malloc and free, one in 5,000 guarded: more",
                   more("sample", "none"), "ns", None, others.get("sampled"))
    figures.record("heap", "malloc and free that are guarded", costs["every"] / 1000, "µs",
                   ("<=", 4), others.get("guarded"))


if __name__ == "__main__":
    main()
