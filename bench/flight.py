#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# flight BUILD: what the flight recorder costs (docs/costs.md), beside XRay's own
# recorder of every clang that is installed, and what reading a trace costs beside
# llvm-xray.

import os
import resource
import statistics
import subprocess
import sys
import tempfile

import figures

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
LLVM_XRAY = "/usr/lib/llvm-19/bin/llvm-xray"
TRACE_BYTES = 16 << 20
RUNS = 5
ROWS = (("counter", "reading the counter"), ("plain", "a call, not instrumented"),
        ("idle", "-finstrument-functions, not recording"),
        ("ring", "-finstrument-functions, recording"),
        ("kept", "-finstrument-functions, recording into the file of CRASHHOOK_KILLS"),
        ("sleds", "-fxray-instrument, not recording"),
        ("handler", "-fxray-instrument, recording"),
        ("own", "-fxray-instrument, XRay's own recorder"),
        ("deep_ring", "20 calls deep: -finstrument-functions, recording"),
        ("deep_handler", "20 calls deep: -fxray-instrument, recording"),
        ("deep_own", "20 calls deep: -fxray-instrument, XRay's own recorder"))


def compile_with(compiler, build):
    """The program, or None where this clang has no XRay."""
    program = os.path.join(build, "bench", f"flight_cost_{compiler}")
    done = subprocess.run(
        [compiler, "-O2", "-finstrument-functions", "-fxray-instrument", "-I",
         os.path.join(SOURCE, "include"), os.path.join(HERE, "flight_cost.c"), "-o",
         program, os.path.join(build, "lib", "libcrashhook-flight.a"), "-pthread"],
        check=False, stderr=subprocess.PIPE, text=True)
    if done.returncode == 0:
        return program
    print(f"{compiler}: cannot compile: {done.stderr.splitlines()[-1]}")
    return None


def measure(program, **variables):
    """Medians of a few runs, each of which has measured every way in turn."""
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith(("CRASHHOOK_", "XRAY_"))} | variables
    runs = []
    for _ in range(RUNS):
        words = subprocess.run([program], check=True, env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.split()
        runs.append(dict(zip(words[::2], map(float, words[1::2]))))
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def processor_time(command):
    """Seconds that one run of the command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def read_traces(build):
    os.environ["CRASHHOOK_BUILD"] = build
    import test_fdr_tools  # pylint: disable=import-outside-toplevel
    crashhook = os.path.join(build, "bin", "crashhook")
    print("\n| a trace of 16 MiB, s of processor time | crashhook | llvm-xray 19 |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace")
        test_fdr_tools.write_long(path, TRACE_BYTES)
        for command, *options in (("account", "-k"), ("stack",)):
            ours, theirs = map(statistics.median, figures.in_turn(
                [lambda command=command: processor_time([crashhook, "fdr", command, path]),
                 lambda command=command, options=options:
                 processor_time([LLVM_XRAY, command, *options, path])], RUNS, 1))
            print(f"| {command} | {ours:.3f} | {theirs:.3f} |")
            figures.record("flight recorder", f"{command}: of the time of llvm-xray 19",
                           ours / theirs, "times", ("<=", 0.2))


def main():
    build = os.path.abspath(sys.argv[1])
    os.makedirs(os.path.join(build, "bench"), exist_ok=True)
    for compiler in ("clang-14", "clang-16", "clang-19"):
        program = figures.installed(compiler, "XRay's own recorder of this clang") and \
            compile_with(compiler, build)
        if not program:
            continue
        cost = measure(program)
        with tempfile.TemporaryDirectory() as spool:
            cost["kept"] = measure(program, CRASHHOOK_SPOOL=spool, CRASHHOOK_KILLS="yes",
                                   LD_PRELOAD=os.path.join(build, "lib", "libcrashhook.so"))["ring"]
        print(f"\n| {compiler}: an entry and exit | ns |\n|---|---|")
        for name, what in ROWS:
            print(f"| {what} | {cost[name]:.1f} |")
        for where, what in (("", "an entry and exit"), ("deep_", "an entry and exit, recursive")):
            ring, own = cost[where + "ring"], cost[where + "own"]
            figures.record("flight recorder", f"{what}, {compiler}", ring, "ns",
                           ("<=", 2 * cost["counter"] + 5), {"XRay's own recorder": own})
            figures.record("flight recorder", f"{what}: cheaper than XRay's own, {compiler}",
                           own / ring, "times", (">=", 4))
    if figures.installed(LLVM_XRAY, "reading a trace"):
        read_traces(build)


main()
