#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# upload.py BUILD [RUNS [COUNT]]: `crashhook upload` of COUNT raw reports (1,000) of several
# programs to a collector on this machine that stores them in SQLite: elapsed time, processor
# time of the command with its children, and of the collector, which shares the processors.
# Once with symbol caches, as after the first crash of each program, once without any, as in
# a container whose reports were collected. Medians of RUNS.

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

import crash
import figures

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "collector"))

from ingest import processor_seconds  # noqa: E402
from running import Collector  # noqa: E402

# Arguments of crash_target: threads, depth (below 0: of eight functions), MB of heap.
PROGRAMS = (("1", "20", "0"), ("1", "-24", "0"), ("4", "-30", "0"), ("8", "12", "0"))
TARGET_S = 1.0


def raw_reports(build, folder):
    """The text of one raw report of each program: its agent has no command beside it that
    would go on to the names."""
    found = []
    agent = shutil.copy(os.path.join(build, "libexec", "crashhook", "crashhook-agent"),
                        os.path.join(folder, "crashhook-agent"))
    spool = os.path.join(folder, "made")
    for arguments in PROGRAMS:
        crash.empty(spool)
        crash.run_once(build, [os.path.join(build, "bench", "crash_target"), *arguments],
                       spool, CRASHHOOK_AGENT=agent)
        name = [name for name in os.listdir(spool) if name.endswith(".json")][0]
        with open(os.path.join(spool, name), encoding="utf-8") as file:
            found.append((name[: -len(".json")], file.read()))
    return found


def fill(spool, reports, count):
    crash.empty(spool)
    for number in range(count):
        own, text = reports[number % len(reports)]
        other = own[:19] + str(uuid.uuid4())[19:]
        path = os.path.join(spool, other + ".json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(own, other))
        os.chmod(path, 0o600)


def upload(build, spool, url, caches):
    """Seconds elapsed, seconds of processor time, peak MB."""
    environment = crash.environment(
        build, "-", CRASHHOOK_SPOOL=spool, CRASHHOOK_URL=url, XDG_CACHE_HOME=caches,
        CRASHHOOK_RATE="100000/1m", CRASHHOOK_SPOOL_MAX="100000,16G")
    start = time.perf_counter()
    child = subprocess.Popen([os.path.join(build, "bin", "crashhook"), "upload"],
                             env=environment, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"upload.py: crashhook upload: {status}")
    return (time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def write_caches(build, caches):
    """Those of what the reports' frames are in."""
    target = os.path.join(build, "bench", "crash_target")
    libraries = subprocess.run(["ldd", target], capture_output=True, text=True, check=True)
    files = [word for word in libraries.stdout.split() if word.startswith("/")]
    subprocess.run([os.path.join(build, "bin", "crashhook"), "symbols", "index", "--cache",
                    os.path.join(caches, "crashhook", "symbols"), target, *files],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def one_turn(build, folder, reports, count, caches):
    # Folders that were emptied a moment ago make some file systems slow.
    spool = tempfile.mkdtemp(prefix="spool.", dir=folder)
    fill(spool, reports, count)
    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as place, Collector(
            os.path.join(build, "bin", "crashhook-collector"),
            store="sqlite:" + place + "/store.db") as collector:
        pid = collector.process.pid
        before = processor_seconds(pid)
        found = upload(build, spool, collector.url, caches)
        return (*found, processor_seconds(pid) - before)


def main(build, runs=5, count=1000):
    build = os.path.realpath(build)
    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as folder:
        reports = raw_reports(build, folder)
        caches = os.path.join(folder, "caches")
        write_caches(build, caches)
        for what, where in (("caches", caches), ("no caches", None)):
            turns = []
            for turn in range(int(runs)):
                if where is None:
                    caches = os.path.join(folder, f"none{turn}")
                turns.append(one_turn(build, folder, reports, int(count), caches))
            wall, used, peak, collector = map(statistics.median, zip(*turns))
            print(f"{count} raw reports, {what:9} {wall:6.3f} s elapsed, {used:6.3f} s of "
                  f"processor time, {peak:.1f} MB; the collector {collector:.3f} s",
                  flush=True)
            figures.record("upload", f"{count} raw reports, {what}", wall, "s",
                           ("<=", TARGET_S))


if __name__ == "__main__":
    main(*sys.argv[1:])
