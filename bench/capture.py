#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# capture BUILD: what a captured frame costs, as bench_backtrace prints it.

import os
import re
import subprocess
import sys

import figures


def main(build):
    said = subprocess.run([os.path.join(build, "bench", "bench_backtrace")], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    print(said, end="")
    cost = {name.strip(): float(ns) for name, ns in
            re.findall(r"^(.*?)\s+\d+ frames.*?([\d.]+) ns a frame", said, re.MULTILINE)}
    ours = {name: cost.pop(name) for name in list(cost) if name.startswith("crashhook ")}
    for name, value in ours.items():
        figures.record("Backtrace API", f"capture, {name.split()[1]}", value, "ns/frame",
                       None, cost)


main(sys.argv[1])
