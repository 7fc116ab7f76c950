# SPDX-License-Identifier: Apache-2.0
#
# flight BUILD: what the flight recorder costs (docs/flight.md), beside XRay's own
# recorder of every clang that is installed.

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)


def main():
    build = os.path.abspath(sys.argv[1])
    work = os.path.join(build, "bench")
    os.makedirs(work, exist_ok=True)
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith(("CRASHHOOK_", "XRAY_"))}
    for compiler in ("clang-14", "clang-16", "clang-19"):
        if shutil.which(compiler) is None:
            continue
        program = os.path.join(work, f"flight_cost_{compiler}")
        done = subprocess.run(
            [compiler, "-O2", "-finstrument-functions", "-fxray-instrument", "-I",
             os.path.join(SOURCE, "include"), os.path.join(HERE, "flight_cost.c"), "-o",
             program, os.path.join(build, "lib", "libcrashhook-flight.a"), "-pthread"],
            check=False, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            print(f"{compiler}: cannot compile: {done.stderr.splitlines()[-1]}")
            continue
        print(f"{compiler}:", flush=True)
        subprocess.run([program], check=True, env=environment, stderr=subprocess.DEVNULL)


main()
