#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# fleet.py BUILD [COUNT [STORE...]]: a collector under the load of a fleet, over SQLite and
# PostgreSQL, and over SQLite with bodies in a store of the S3 protocol (Swift, where it is
# installed): reports of 20 KB in 50,000 groups from 200,000 hosts, where the Nth group is as
# frequent as 1/N, and where ten groups have 90 %. From 0 to COUNT stored (1,000,000 is the
# fleet's; 6,000 by default): reports a second, processor time and bytes written a report.
# From 50,000 on most reports are copies, made by SQL, of those that were sent: other ids
# and hosts, the same groups, no bodies.
#
# Then the rate alone and beside each kind of work, which should be 80 % of it at least, with
# the pages' times beside it; and, at 60 % of the rate alone, what came of it.

import contextlib
import json
import os
import shutil
import signal
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
import s3  # noqa: E402
import sample_reports  # noqa: E402
import test_operations  # noqa: E402
from ingest import padded, processor_seconds  # noqa: E402
from running import Collector  # noqa: E402

GROUPS, HOSTS, CLIENTS = 50000, 200000, 64
LEAST = 0.8  # of the rate alone
OFFERED = 0.6  # of it, where reports come at a rate
SENT_ALL, DOUBLED = 50000, 6  # how many are all sent; how often more are doubled
MOST = 5000  # reports of one measurement
BACKUP = 4  # times as many during backups: what their beginning costs comes once in each
# What docs/how-to/several-collectors.md sets for a fleet.
SETTINGS = ("wal_compression=lz4", "checkpoint_timeout=15min")
STORES = ("SQLite", "PostgreSQL", "S3")
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
    """Bytes that each of these processes caused to be written to disks."""
    written = {}
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/io", encoding="ascii") as file:
            lines = dict(line.split(": ") for line in file)
            written[pid] = int(lines["write_bytes"])
    return written


# Doubles the reports of a store, none of which is beyond {last}.
COPY = """
INSERT INTO reports(number, id, revision, group_number, time, received, signal, signal_name,
 title, summary, release, environment, executable, hostname, fingerprint, fingerprint1)
{overriding}
SELECT number + {last}, '00000000-0000-7000-9000-' ||
 substr(CAST(1000000000000 + number + {last} AS text), 2), revision, group_number, time,
 received, signal, signal_name, title, summary, release, environment, executable,
 'host_' || substr(CAST(100000000 + (number * 7919 + {last}) % {hosts} AS text), 2),
 fingerprint, fingerprint1 FROM reports;
INSERT INTO marks(report, list) SELECT report + {last}, list FROM marks;
INSERT INTO tags(report, key, value) SELECT report + {last}, key, value FROM tags;
UPDATE groups SET count = count * 2, kept = kept * 2;
UPDATE group_days SET count = count * 2;
UPDATE facets SET count = count * 2 WHERE kind <> 4;
INSERT INTO facets(group_number, kind, value, count, last_seen)
SELECT group_number, 4, hostname, count(*), max(time) FROM reports WHERE number > {last}
 GROUP BY 1, 3 ON CONFLICT(group_number, kind, value) DO UPDATE SET count = facets.count +
 excluded.count;
"""
MACHINES = """
UPDATE groups SET machines = (SELECT count(*) FROM facets f WHERE f.group_number =
 groups.number AND f.kind = 4);
"""
# The trigger would write a row of groups again and again in one transaction.
COPY_POSTGRES = """BEGIN; ALTER TABLE facets DISABLE TRIGGER USER;{copy}
ALTER TABLE facets ENABLE TRIGGER USER;{machines}
SELECT setval(pg_get_serial_sequence('reports', 'number'), 2 * {last});
COMMIT; VACUUM ANALYZE;"""


class Fleet:
    """A collector over one store, and what was sent to it."""

    def __init__(self, build, folder, server=None, bodies=None):
        self.build, self.folder, self.server = build, folder, server
        self.store = server.database() if server else "sqlite:" + folder + "/store.db"
        self.bodies = ["--body-store", bodies] if bodies else []
        self.sent = self.stored = 0

    def run(self, *options):
        return Collector(os.path.join(self.build, "bin", "crashhook-collector"),
                         store=self.store, extra=["--symbols", self.folder + "/symbols",
                                                  *self.bodies, *options])

    def writers(self, collector):
        return [collector.process.pid, *(self.server.processes() if self.server else ())]

    def send(self, collector, count, mix="zipf", path=None, rate=0):
        """Sends that many reports more; what ingest_load says of it, and what they cost.
        What processes of the server wrote that ended meanwhile is not counted: those that
        store reports do not."""
        pid = collector.process.pid
        before, began = processor_seconds(pid), written_bytes(self.writers(collector))
        done = subprocess.run(
            [os.path.join(self.build, "bench", "ingest_load"), str(collector.port),
             str(CLIENTS), str(count), path or self.folder + "/body", str(self.sent), mix,
             str(GROUPS), str(HOSTS), str(rate)], check=True, stdout=subprocess.PIPE)
        self.sent += count
        self.stored += count
        result = json.loads(done.stdout)
        result["cpu_ms"] = (processor_seconds(pid) - before) * 1000 / count
        ended = written_bytes(self.writers(collector))
        result["written"] = sum(ended[one] - began.get(one, 0) for one in ended) / count
        return result

    def double(self):
        """Copies all reports; no collector runs meanwhile."""
        if self.server:
            last = int(self.server.ask("SELECT max(number) FROM reports",
                                       self.store.split("/")[3].split("?")[0]))
            copy = COPY.format(last=last, hosts=HOSTS, overriding="OVERRIDING SYSTEM VALUE")
            subprocess.run([self.server.programs + "/psql", "-q", "-o", "/dev/null", "-v",
                            "ON_ERROR_STOP=1", self.store], check=True,
                           input=COPY_POSTGRES.format(copy=copy, last=last,
                                                      machines=MACHINES).encode())
        else:
            database = sqlite3.connect(self.folder + "/store.db", isolation_level=None)
            last = database.execute("SELECT max(number) FROM reports").fetchone()[0]
            copy = COPY.format(last=last, hosts=HOSTS, overriding="")
            # These call a function that the collector alone has.
            triggers = database.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
                " AND tbl_name = 'facets' AND sql LIKE '%text_hash%'").fetchall()
            database.executescript(
                "BEGIN;" + "".join(f"DROP TRIGGER {name};" for name, _ in triggers) + copy +
                MACHINES + "".join(f"{sql};" for _, sql in triggers) + "COMMIT;")
            database.close()
        self.stored *= 2


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
          f" {run['p99_ms']:6.1f} max {run['max_ms']:6.1f} ms  {run['cpu_ms']:.2f} ms cpu"
          f" {run['written'] / 1024:6.0f} KB a report{ratio}", flush=True)


def fill(fleet, name, count):
    """From nothing to that many reports, in steps, the mixes in turn."""
    doubled = DOUBLED if count > SENT_ALL else 0
    parts = doubled or 5
    each = count // (2 ** (doubled + 2) - 4) if doubled else count // 10
    for part in range(parts):
        with fleet.run() as collector:
            for mix in ("zipf", "hot10"):
                run = fleet.send(collector, each, mix)
                show(name, f"{fleet.stored:,} stored, {mix}", run)
                figures.record("fleet", f"{name}, {mix}, part {part + 1} of {parts}",
                               run["reports_per_second"], "reports/s")
        if doubled:
            began = time.monotonic()
            fleet.double()
            print(f"{name:11} {fleet.stored:,} stored, copied in"
                  f" {time.monotonic() - began:.0f} s", flush=True)


def kept(collector):
    _, answer = collector.json("GET", "/api/v1/groups?q=is:any&sort=count&limit=1")
    return answer["groups"][0]["kept"]


def backup(fleet, collector, folder, stop):
    """Copies the store again and again by the commands of docs/how-to/backup.md."""
    name = "backup of sqlite"
    environment = {**os.environ, "URL": collector.url, "TOKEN": ""}
    if fleet.server:
        name = "base backup"
        environment.update(SERVER=fleet.server.address("postgres"),
                           PATH=fleet.server.programs + ":" + environment["PATH"])
    command = ["bash", "-euc", test_operations.commands()[name]]
    while not stop.is_set():
        with contextlib.ExitStack() as stack:
            environment["BACKUP"] = folder
            if fleet.server:  # an empty one each time
                environment["BACKUP"] = stack.enter_context(
                    tempfile.TemporaryDirectory(dir=folder))
            # A group of its own, so that it ends as a whole; not a session, which would
            # make `nice` a matter of its processes alone.
            with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, process_group=0) as process:
                while process.poll() is None and not stop.wait(0.05):
                    pass
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)
                else:
                    assert process.returncode == 0, (command, process.returncode)


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


class Work:
    """Work that goes on until the block ends, or that is done before."""

    def __init__(self, work):
        self.stop = threading.Event()
        self.thread = threading.Thread(target=work, args=(self.stop,)) if work else None

    def __enter__(self):
        if self.thread:
            self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        if self.thread:
            self.thread.join()


def beside(fleet, name, collector, what, rate, count, work=None):
    """The rate while something else goes on, and what comes of a part of the rate alone."""
    with Work(work):
        with Beside(collector) as pages:
            run = fleet.send(collector, count)
        offered = fleet.send(collector, int(count * OFFERED), rate=rate * OFFERED)
    show(name, what, run, rate)
    print(f"{'':11} pages, p50/p99 ms: {pages.words()}", flush=True)
    show(name, f"{what}, offered {rate * OFFERED:,.0f}/s", offered)
    figures.record("fleet", f"{name}, {what}, of the rate alone",
                   run["reports_per_second"] / rate, "ratio", (">=", LEAST))
    figures.record("fleet", f"{name}, {what}, of {OFFERED} of that rate",
                   offered["reports_per_second"] / rate / OFFERED, "ratio", (">=", LEAST))


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


def beside_backups(fleet, name, count):
    """The rate alone and during backups: of SQLite to another disk, in place of which there
    is memory here."""
    place = fleet.folder if fleet.server else "/dev/shm"
    with tempfile.TemporaryDirectory(dir=place) as folder:
        options = () if fleet.server else ("--backup", folder + "/collector.db.new")
        with fleet.run(*options) as collector:
            beside(fleet, name, collector, "during backups",
                   alone(fleet, name, collector, count), count,
                   lambda stop: backup(fleet, collector, folder, stop))


def beside_work(fleet, name, count):
    """The rates alone and beside each kind of work, one right after the other."""
    build_id, offset = debug_file(fleet.folder)
    with open(fleet.folder + "/late.body", "wb") as file:
        file.write(body((build_id, offset)))
    with fleet.run() as collector:
        fleet.send(collector, count, path=fleet.folder + "/late.body")
    beside_backups(fleet, name, BACKUP * count)
    with fleet.run() as collector:
        beside(fleet, name, collector, "with a debug file that came late",
               alone(fleet, name, collector, count), count,
               lambda _: late_debug_file(collector, fleet.folder, build_id))
        await_named(collector)
        rate = alone(fleet, name, collector, count)
        before = kept(collector)
    with fleet.run("--keep-per-group", "1") as collector:
        beside(fleet, name, collector, "during retention", rate, count)
        print(f"{'':11} the largest group kept {before:,} reports, and now"
              f" {kept(collector):,}", flush=True)
    with fleet.run() as collector:
        beside(fleet, name, collector, "while groups are merged",
               alone(fleet, name, collector, count), count,
               lambda _: merge_largest(collector))
        print(f"{'':11} {metric(collector, 'crashhook_moves'):.0f} merges go on", flush=True)


def beside_packing(fleet, name, count):
    """The rates alone and while bodies are packed; a minute's are packed once it is over."""
    with fleet.run() as collector:
        rate = alone(fleet, name, collector, count)
    with fleet.run("--body-segments", "8M/0m") as collector:
        before, cpu = fleet.sent, fleet.server_seconds()
        beside(fleet, name, collector, "while bodies are packed", rate, count)
        staged = metric(collector, "crashhook_bodies_staged")
        print(f"{'':11} {staged:,.0f} bodies wait, of {fleet.sent:,}; {fleet.sent - before:,}"
              f" came, and the object store took {fleet.server_seconds() - cpu:.1f} s of"
              " processor time", flush=True)


def run_store(build, name, count, stack):
    """All of one store."""
    folder = tempfile.mkdtemp(prefix="crashhook-fleet-", dir=os.environ.get("TMPDIR"))
    stack.callback(shutil.rmtree, folder)
    with open(folder + "/body", "wb") as file:
        file.write(body())
    one = max(min(count // 4, MOST), 1000)
    if name == "S3":
        os.environ.update(AWS_ACCESS_KEY_ID=s3.KEY, AWS_SECRET_ACCESS_KEY=s3.SECRET)
        swift = stack.enter_context(s3.Swift())
        where = f"endpoint=http://127.0.0.1:{swift.proxy.behind}&region={s3.REGION}"
        fleet = Fleet(build, folder, bodies=f"s3://{s3.BUCKET}/fleet?{where}")
        fleet.server_seconds = lambda: processor_seconds(swift.process.pid)
        fill(fleet, name, min(count, 20000))
        beside_packing(fleet, name, one)
        return
    server = None
    if name == "PostgreSQL":
        server = stack.enter_context(postgres.Postgres(durable=True, options=SETTINGS))
    fleet = Fleet(build, folder, server)
    fill(fleet, name, count)
    beside_work(fleet, name, one)


def main():
    build = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 6000
    there = {"SQLite": True, "PostgreSQL": postgres.programs(), "S3": s3.installed()}
    for name in sys.argv[3:] or STORES:
        began = time.monotonic()
        if not there[name]:
            print(f"{name:11} not measured: it is not installed", flush=True)
            continue
        with contextlib.ExitStack() as stack:
            run_store(build, name, count, stack)
        print(f"{name:11} took {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
