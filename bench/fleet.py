#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# fleet.py BUILD [COUNT [STORE...]]: a collector under the load of a fleet, over SQLite and
# PostgreSQL: reports of 20 KB in 50,000 groups from 200,000 hosts, where the Nth group is as
# frequent as 1/N, and where ten groups have 90 %. From 0 to COUNT stored (1,000,000 is the
# fleet's; 6,000 by default): reports a second, processor time and bytes written a report;
# and over that store the rate alone and during retention, a merge, a backup and a debug file
# that comes late, which should be 80 % of it at least, with the pages' times beside it.

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "collector"))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import figures  # noqa: E402
import postgres  # noqa: E402
import sample_reports  # noqa: E402
from ingest import padded, processor_seconds  # noqa: E402
from running import Collector  # noqa: E402

GROUPS, HOSTS, CLIENTS = 50000, 200000, 64
LEAST = 0.8  # of the rate alone
PAGES = ("/", "/groups", "/groups?q=is:any&sort=count", "/healthz")


def body(nameless=None):
    """A report with a place for a number of a group and of a host; nameless: a build ID and
    an offset in it, of which a debug file comes later."""
    report = sample_reports.null_write(1)
    report.pop("fingerprint", None)
    report["host"]["hostname"] = "host_00000000"
    thread = [thread for thread in report["threads"] if thread.get("crashed")][0]
    thread["backtrace"]["frames"] = (
        [sample_reports.frame("group_00000000", "src/ledger.c:10:3")] +
        [sample_reports.frame(name, "src/ledger.c:20:3") for name in ("serve", "main")])
    report["threads"] = [thread]
    if nameless is not None:
        build_id, offset = nameless
        report["images"][0]["build_id"] = build_id
        frame = thread["backtrace"]["frames"][1]
        for key in ("function", "function_offset", "file", "line", "column"):
            frame.pop(key, None)
        frame["image_offset"] = hex(offset)
    return padded(report)


def debug_file(folder):
    """Makes a debug file; its build ID and an offset in a function of it."""
    source, program = folder + "/late.c", folder + "/late"
    with open(source, "w", encoding="ascii") as file:
        for i in range(2000):
            file.write(f"int step_{i}(volatile int *p)\n{{\n    return *p + {i};\n}}\n")
        file.write("int main(void)\n{\n    volatile int x = 1;\n    return step_0(&x);\n}\n")
    subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id", "-o", program, source], check=True)
    notes = subprocess.run(["readelf", "-n", program], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    symbols = subprocess.run(["nm", program], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    offset = next(int(line.split()[0], 16) for line in symbols.splitlines()
                  if line.endswith(" step_7")) + 8
    return notes.split("Build ID:")[1].split()[0], offset


def written_bytes(pids):
    """Bytes that these processes caused to be written to disks."""
    sum_of_all = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/io", encoding="ascii") as file:
            lines = dict(line.split(": ") for line in file)
            sum_of_all += int(lines["write_bytes"])
    return sum_of_all


class Fleet:
    """A collector over one store, and what was sent to it."""

    def __init__(self, build, folder, server=None):
        self.build, self.folder, self.server = build, folder, server
        self.store = server.database() if server else "sqlite:" + folder + "/store.db"
        self.sent = 0

    def run(self, *options):
        return Collector(os.path.join(self.build, "bin", "crashhook-collector"),
                         store=self.store,
                         extra=["--symbols", self.folder + "/symbols", *options])

    def send(self, collector, count, mix="zipf", path=None):
        """Sends that many reports more; what ingest_load says of it, and what they cost."""
        pids = [collector.process.pid]
        began, before = written_bytes(pids), processor_seconds(pids[0])
        done = subprocess.run(
            [os.path.join(self.build, "bench", "ingest_load"), str(collector.port),
             str(CLIENTS), str(count), path or self.folder + "/body", str(self.sent), mix,
             str(GROUPS), str(HOSTS)], check=True, stdout=subprocess.PIPE)
        self.sent += count
        result = json.loads(done.stdout)
        result["cpu_ms"] = (processor_seconds(pids[0]) - before) * 1000 / count
        result["written"] = (written_bytes(pids) - began) / count
        return result


class Beside:
    """Asks for pages until it is told to stop; their times."""

    def __init__(self, collector):
        self.collector, self.times = collector, {page: [] for page in PAGES}
        self.enough = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.enough.wait(0.05):
            for page, times in self.times.items():
                began = time.monotonic()
                status = self.collector.request("GET", page)[0]
                assert status == 200, (page, status)
                times.append((time.monotonic() - began) * 1000)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.enough.set()
        self.thread.join()

    def words(self):
        return ", ".join(f"{page} {sorted(times)[len(times) // 2]:.0f}/"
                         f"{sorted(times)[len(times) * 99 // 100]:.0f}"
                         for page, times in self.times.items() if times)


def show(name, what, run, alone=None):
    ratio = f"  {run['reports_per_second'] / alone * 100:4.0f} %" if alone else ""
    print(f"{name:11} {what:34} {run['reports_per_second']:7,.0f}/s  p99"
          f" {run['p99_ms']:6.1f} ms  {run['cpu_ms']:.2f} ms cpu"
          f" {run['written'] / 1024:6.0f} KB a report{ratio}", flush=True)


def fill(fleet, name, count):
    """From nothing to that many reports, in steps, the mixes in turn."""
    with fleet.run() as collector:
        for part in range(5):
            for mix in ("zipf", "hot10"):
                run = fleet.send(collector, count // 10, mix)
                show(name, f"{fleet.sent:,} stored, {mix}", run)
                figures.record("fleet", f"{name}, {mix}, part {part + 1} of 5",
                               run["reports_per_second"], "reports/s")


def kept(collector):
    _, answer = collector.json("GET", "/api/v1/groups?q=is:any&sort=count&limit=1")
    return answer["groups"][0]["kept"]


def backup(fleet, stop):
    """Copies the store again and again, as docs/operations.md says."""
    while not stop.is_set():
        if fleet.server is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(fleet.folder + "/copy.db")
            source = sqlite3.connect(f"file:{fleet.folder}/store.db?mode=ro", uri=True)
            source.execute("VACUUM INTO ?", (fleet.folder + "/copy.db",))
            source.close()
        else:
            subprocess.run([fleet.server.programs + "/pg_dump", "-Fc", "-Z1", "-f",
                            fleet.folder + "/copy.dump", fleet.store], check=True)


def metric(collector, name):
    text = collector.request("GET", "/metrics")[-1].decode()
    return next(float(line.split()[1]) for line in text.splitlines()
                if line.startswith(name + " "))


def await_named(collector):
    while metric(collector, "crashhook_naming_jobs") != 0:
        time.sleep(0.2)


def alone(fleet, name, collector, count):
    """The rate while nothing else goes on but pages."""
    with Beside(collector):
        run = fleet.send(collector, count)
    show(name, "alone", run)
    return run["reports_per_second"]


def beside(fleet, name, collector, what, rate, count, work=None):
    """The rate while something else goes on, which ends with it or is awaited."""
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,)) if work else None
    if thread:
        thread.start()
    with Beside(collector) as pages:
        run = fleet.send(collector, count)
    stop.set()
    if thread:
        thread.join()
    show(name, what, run, rate)
    print(f"{'':11} pages, p50/p99 ms: {pages.words()}", flush=True)
    figures.record("fleet", f"{name}, {what}, of the rate alone",
                   run["reports_per_second"] / rate, "ratio", (">=", LEAST))
    await_named(collector)


def late_debug_file(collector, folder, build_id):
    with open(folder + "/late", "rb") as file:
        status = collector.request("PUT", "/api/v1/symbols/" + build_id, file)[0]
    assert status == 201, status


def merge_largest(collector):
    _, groups = collector.json("GET", "/api/v1/groups?q=is:any&sort=count&limit=2")
    source, target = (group["id"] for group in groups["groups"])
    status = 503  # as long as reports are being moved
    while status == 503:
        status, _ = collector.json("POST", "/api/v1/groups/" + source,
                                   json.dumps({"merge_into": target}).encode())
        time.sleep(0.2)


def beside_work(fleet, name, count):
    """The rates alone and beside each kind of work, one right after the other."""
    build_id, offset = debug_file(fleet.folder)
    with open(fleet.folder + "/late.body", "wb") as file:
        file.write(body((build_id, offset)))
    with fleet.run() as collector:
        fleet.send(collector, count, path=fleet.folder + "/late.body")
        for what, work in (
                ("during backups", lambda stop: backup(fleet, stop)),
                ("with a debug file that came late",
                 lambda _: late_debug_file(collector, fleet.folder, build_id)),
                ("while groups are merged", lambda _: merge_largest(collector))):
            beside(fleet, name, collector, what, alone(fleet, name, collector, count), count,
                   work)
        rate = alone(fleet, name, collector, count)
        before = kept(collector)
    with fleet.run("--keep-per-group", "1") as collector:
        beside(fleet, name, collector, "during retention", rate, count)
        print(f"{'':11} the largest group kept {before:,} reports, and now"
              f" {kept(collector):,}", flush=True)


def main():
    build = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 6000
    stores = sys.argv[3:] or ["SQLite"] + (["PostgreSQL"] if postgres.programs() else [])
    for name in stores:
        with contextlib.ExitStack() as stack:
            folder = tempfile.mkdtemp(prefix="crashhook-fleet-", dir=os.environ.get("TMPDIR"))
            stack.callback(shutil.rmtree, folder)
            server = None
            if name == "PostgreSQL":
                server = stack.enter_context(postgres.Postgres(durable=True))
            with open(folder + "/body", "wb") as file:
                file.write(body())
            fleet = Fleet(build, folder, server)
            fill(fleet, name, count)
            beside_work(fleet, name, max(count // 4, 1000))


if __name__ == "__main__":
    main()
