#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# formats BUILD: the figures of docs/performance.md, section Formats. CBF on recorded
# stacks; SFrame lookup in a library made here, of more than 10,000 functions.

import os
import random
import re
import subprocess
import sys

import figures

HERE = os.path.dirname(os.path.abspath(__file__))
FUNCTIONS = 12000


def write_library(path):
    """C functions with frames of different kinds and sizes, from a fixed seed."""
    rng = random.Random(12)
    with open(path, "w", encoding="utf-8") as out:
        out.write("void use(void *p, ...)\n{\n"
                  "    __asm__ volatile(\"\" : : \"r\"(p) : \"memory\");\n}\n")
        for i in range(FUNCTIONS):
            size = rng.choice((8, 24, 40, 200, 1000, 5000))
            out.write(f"int f{i}(int a, int b)\n{{\n    char m[{size}];\n"
                      f"    use(m, a);\n")
            for k in range(rng.randrange(4)):
                factor = rng.randrange(99)
                out.write(f"    if (a > {k + 1}) use(m + {k}, b, a * {factor});\n")
            if rng.randrange(3) == 0:
                out.write("    char n[a]; use(n, b);\n")
            out.write("    return a + b + m[a & 7];\n}\n")


def run(command):
    """Runs a benchmark, shows what it says, and gives it back."""
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(said, end="", flush=True)
    return said


def record_cbf(said):
    for stacks, encode, decode, cbf, zstd in re.findall(
            r"(\w+)\.txt:.*?encode ([\d.]+) .*?decode ([\d.]+) .*?CBF ([\d.]+), "
            r"zstd -3 of raw addresses ([\d.]+)", said, re.DOTALL):
        figures.record("formats", f"CBF encode, {stacks}", float(encode), "ns/frame",
                       ("<=", 10))
        figures.record("formats", f"CBF decode, {stacks}", float(decode), "ns/frame",
                       ("<=", 10))
        figures.record("formats", f"CBF size, {stacks}", float(cbf), "bytes/frame", None,
                       {"zstd -3 of raw addresses": float(zstd), "raw addresses": 8})


def record_sframe(said):
    cost = {name: float(ns) for name, ns in
            re.findall(r"^  (\w+) +([\d.]+) ns/pc", said, re.MULTILINE)}
    figures.record("formats", "SFrame lookup, 12,000 functions", cost.pop("crashhook"),
                   "ns", ("<=", 100), cost)


def main():
    build = os.path.abspath(sys.argv[1])
    work = os.path.join(build, "bench")
    os.makedirs(work, exist_ok=True)
    stacks = sorted(os.listdir(os.path.join(HERE, "stacks")))
    record_cbf(run([os.path.join(work, "bench_cbf"),
                    *(os.path.join(HERE, "stacks", name) for name in stacks)]))
    source = os.path.join(work, "many_functions.c")
    library = os.path.join(work, "many_functions.so")
    if not os.path.exists(library):
        write_library(source)
        subprocess.run(["gcc", "-O2", "-w", "-fPIC", "-shared", "-Wa,--gsframe", "-o",
                        library, source], check=True)
    record_sframe(run([os.path.join(work, "bench_sframe"), library]))


main()
