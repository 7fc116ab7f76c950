#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# fields.py BUILD [COUNT [TURNS]]: what each field that reports are found by costs a
# collector over SQLite: the difference of processor time and of bytes in the store to one
# that runs with --search-without that field, in turn. Bodies are those of bench/ingest.py,
# with 8 clients, and their bytes are counted, too: those in use, because how many equal rows
# fit into a page differs by steps. A field that costs more than 5 % of either should be left
# out by default.

import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "collector"))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import figures  # noqa: E402
import ingest  # noqa: E402
from running import Collector  # noqa: E402

FIELDS = ("kind", "frame", "file", "line", "build", "message", "kernel", "processor", "uptime",
          "thread", "address", "register", "argument", "depth", "freed-in")
MOST_PERCENT = 5
CLIENTS = 8


def stored(build, path, count, without):
    """Processor time in us and bytes of a report, without these fields."""
    extra = ["--search-without", without] if without else []
    with Collector(os.path.join(build, "bin", "crashhook-collector"),
                   extra=extra) as collector:
        subprocess.run([os.path.join(build, "bench", "ingest_load"), str(collector.port),
                        str(CLIENTS), str(count), path], check=True,
                       stdout=subprocess.DEVNULL)
        seconds = ingest.processor_seconds(collector.process.pid)
        collector.stop()
        db = sqlite3.connect(collector.path("store.db"))
        size = db.execute("SELECT sum(pgsize - unused) FROM dbstat").fetchone()[0]
        db.close()
    return seconds / count * 1e6, size / count


def main():
    build = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    with tempfile.TemporaryDirectory(prefix="crashhook-bench-") as folder:
        path = os.path.join(folder, "report.json")
        with open(path, "wb") as file:
            file.write(ingest.body())

        def measure(without):
            return lambda: stored(build, path, count, without)
        whole, *lacking = figures.in_turn(
            [measure(without) for without in ("", *FIELDS, ",".join(FIELDS))], turns, 1)
    us, size = (statistics.median(values) for values in zip(*whole))
    print(f"{count} reports, medians of {turns} turns, with all fields {us:.0f} us and"
          f" {size:.0f} bytes a report\n")
    print("| field | us | % | bytes | % |\n| --- | --- | --- | --- | --- |")
    for name, values in zip((*FIELDS, "all of them"), lacking):
        more_us = statistics.median(a[0] - b[0] for a, b in zip(whole, values))
        more_size = statistics.median(a[1] - b[1] for a, b in zip(whole, values))
        print(f"| {name} | {more_us:.0f} | {100 * more_us / us:.1f} | {more_size:.0f} |"
              f" {100 * more_size / size:.1f} |", flush=True)
        target = None if name == "all of them" else ("<=", MOST_PERCENT)
        figures.record("fields", f"{name}, time", 100 * more_us / us, "%", target)
        figures.record("fields", f"{name}, bytes", 100 * more_size / size, "%", target)


if __name__ == "__main__":
    main()
