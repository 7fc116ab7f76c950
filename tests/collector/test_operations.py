#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_operations COLLECTOR: runs every command of the pages below as it stands there:
# watching, backups while reports come, restoring, a point in time. And the alerts and the
# dashboard for Prometheus and Grafana name only metrics that a collector has.

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import postgres
import sample_reports
from running import Collector, wait_for

BINARY = None
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PAGES = ("docs/how-to/monitor.md", "docs/how-to/several-collectors.md", "docs/how-to/backup.md",
         "docs/how-to/point-in-time.md")
# Metrics that exist only with a body store.
OF_SEGMENTS = {"crashhook_bodies_staged_seconds", "crashhook_segment_bytes"}


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def commands():
    """What the pages have the reader type, by the name in its first line."""
    blocks = re.findall(r"^```sh\n# ([^\n]+)\n(.*?)^```$", "".join(map(read, PAGES)),
                        re.MULTILINE | re.DOTALL)
    return dict(blocks)


# A sqlite3 that damages the file which it is given.
DAMAGING = """#!/bin/sh
dd if=/dev/zero of="$1" bs=4096 seek=3 count=1 conv=notrunc 2>/dev/null
exec {} "$@"
"""

RUN = set()


def run(name, before="", **variables):
    """Runs a block of the page, after a line; what it prints."""
    RUN.add(name)
    done = subprocess.run(["bash", "-euc", before + commands()[name]], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, **variables})
    if done.returncode != 0:
        raise AssertionError(f"{name}: {done.stderr}")
    return done.stdout


def stored(collector):
    _, page = collector.json("GET", "/api/v1/reports?limit=200")
    return {row["id"] for row in page["reports"]}


class Sending(threading.Thread):
    """Sends reports until it is told to stop."""

    def __init__(self, collector, first):
        super().__init__()
        self.collector, self.number = collector, first
        self.enough = threading.Event()

    def run(self):
        while not self.enough.is_set():
            self.collector.post(sample_reports.raw(self.number))
            self.number += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.enough.set()
        self.join()


class Operations(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-operations-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o777)  # a server of another user writes into it

    def variables(self, collector):
        return {"URL": collector.url, "TOKEN": collector.token, "BACKUP": self.folder,
                "STORE": collector.path("store.db"), "SYMBOLS": collector.path("symbols")}

    def test_what_is_watched_can_be_asked_for(self):
        with Collector(BINARY, tokens=["s3cret name=ann", "user name=bob scopes=read"],
                       extra=["--keep", "90d"]) as collector:
            collector.token = "s3cret"
            variables = self.variables(collector)
            report = sample_reports.null_write(1)
            self.assertEqual(collector.post(report)[0], 201)
            self.assertEqual(collector.request("GET", "/api/v1/reports/" + report["id"])[0],
                             200)
            said = run("metrics", **variables)
            self.assertIn('crashhook_http_seconds_count{lane="taking"} 1\n', said)
            self.assertIn('crashhook_project{project="",what="kept"} 1\n', said)
            self.assertRegex(said, r"crashhook_store_bytes [1-9]\d+\n")
            self.assertIn("crashhook_ready 1\n", said)
            self.assertIn("crashhook_retention_lag_seconds 0\n", said)
            self.assertEqual(run("ready", **variables).split(), ['{"status":"ok"}'] * 2)
            deeds = json.loads(run("audit", **variables))["audit"]
            self.assertIn(("ann", "export"), [(deed["who"], deed["what"]) for deed in deeds])
            self.check_names(said)

    def check_names(self, said):
        """Alerts, dashboard and page name only what there is."""
        here = {re.sub(r"_(bucket|sum|count)$", "", name)
                for name in re.findall(r"^(crashhook_\w+)", said, re.MULTILINE)}
        here |= set(re.findall(r"^# TYPE (\w+)", said, re.MULTILINE)) | OF_SEGMENTS
        here.add("crashhook_segment_failures_total")
        for path in ("packaging/prometheus/crashhook-alerts.yml",
                     "packaging/grafana/crashhook-collector.json", "docs/how-to/monitor.md"):
            named = {re.sub(r"_(bucket|sum|count)$", "", name)
                     for name in re.findall(r"crashhook_\w+", read(path))}
            self.assertEqual(named - here, set(), path)
        dashboard = json.loads(read("packaging/grafana/crashhook-collector.json"))
        self.assertGreater(len(dashboard["panels"]), 8)

    def test_a_copy_of_a_live_file_is_whole(self):
        if shutil.which("sqlite3") is None:
            self.skipTest("sqlite3 is not installed")
        with self.collector_with_backups() as collector:
            before = [sample_reports.raw(i) for i in range(20)]
            for report in before:
                self.assertEqual(collector.post(report)[0], 201)
            os.makedirs(collector.path("symbols/.build-id/ab"))
            with open(collector.path("symbols/.build-id/ab/cd.debug"), "wb") as file:
                file.write(b"names")
            with Sending(collector, 1000) as sending:
                number = sending.number
                run("backup of sqlite", **self.variables(collector))
                run("backup of symbols", **self.variables(collector))
                while sending.number == number:  # uploads go on
                    time.sleep(0.01)
            with open(self.folder + "/symbols/.build-id/ab/cd.debug", "rb") as file:
                self.assertEqual(file.read(), b"names")
            later = sample_reports.raw(500000)
            self.assertEqual(collector.post(later)[0], 201)
            self.assertEqual(collector.stop()[0], 0)
            run("restore of sqlite", **self.variables(collector))
            collector.start()
            for report in before:  # it is known
                self.assertEqual(collector.post(report)[0], 200)
            self.assertEqual(collector.post(later)[0], 201)

    def test_a_copy_that_fails_leaves_the_one_before(self):
        if shutil.which("sqlite3") is None:
            self.skipTest("sqlite3 is not installed")
        with self.collector_with_backups() as collector:
            self.assertEqual(collector.post(sample_reports.raw(1))[0], 201)
            variables = self.variables(collector)
            run("backup of sqlite", **variables)
            before = os.stat(self.folder + "/collector.db")
            part = self.folder + "/collector.db.new.part"
            os.mkdir(part)  # in the way
            with self.assertRaises(AssertionError):
                run("backup of sqlite", **variables)
            state = collector.json("GET", "/api/v1/backup")[1]
            self.assertEqual(state["state"], "failed")
            self.assertRegex(state["error"], "cannot back up the store to .*: File exists")
            os.rmdir(part)
            programs = collector.path("programs")
            os.mkdir(programs)
            with open(programs + "/sqlite3", "w", encoding="utf-8") as file:
                file.write(DAMAGING.format(shutil.which("sqlite3")))
            os.chmod(programs + "/sqlite3", 0o755)
            with self.assertRaises(AssertionError):
                run("backup of sqlite",
                    **{**variables, "PATH": programs + ":" + os.environ["PATH"]})
            after = os.stat(self.folder + "/collector.db")
            self.assertEqual((after.st_ino, after.st_size), (before.st_ino, before.st_size))
            run("backup of sqlite", **variables)  # nothing of what failed is in the way
            self.assertEqual(os.listdir(self.folder), ["collector.db"])
            said = run("metrics", **variables)
            self.assertIn("crashhook_backups_total 3\n", said)
            self.assertIn("crashhook_backup_failures_total 1\n", said)

    def test_a_backup_is_for_who_may_have_all_reports_and_is_made_once_at_a_time(self):
        tokens = ["all", "shops project=shop", "reader scopes=read"]
        with Collector(BINARY, tokens=tokens) as collector:
            status, answer = collector.json("POST", "/api/v1/backup")
            self.assertEqual(status, 404)
            self.assertIn("--backup FILE", answer["error"])
        with self.collector_with_backups(tokens) as collector:
            for token in ("shops", "reader"):
                collector.token = token
                for method in ("GET", "POST"):
                    self.assertEqual(collector.request(method, "/api/v1/backup")[0], 403)
            collector.token = "all"
            self.assertEqual(collector.json("GET", "/api/v1/backup")[1]["state"], "none")
            wait_for(lambda: self.asked_twice(collector) == [202, 409],
                     "what is asked for while a backup is made is refused")
            state = wait_for(lambda: self.ended_backup(collector), "the backup ends")
            self.assertEqual((state["state"], state["error"]), ("done", ""))
            self.assertEqual(state["copied"], state["bytes"])
            self.assertEqual(os.path.getsize(state["file"]), state["bytes"])
            self.assertEqual(os.stat(state["file"]).st_mode & 0o777, 0o600)

    @staticmethod
    def asked_twice(collector):
        return [collector.request("POST", "/api/v1/backup")[0] for _ in range(2)]

    @staticmethod
    def ended_backup(collector):
        state = collector.json("GET", "/api/v1/backup")[1]
        return state if state["state"] != "running" else None

    def collector_with_backups(self, tokens=("s3cret",)):
        return Collector(BINARY, tokens=list(tokens),
                         extra=["--backup", self.folder + "/collector.db.new"])

    def test_a_dump_of_a_standby_is_restored_into_another_database(self):
        self.need_server()
        with postgres.Postgres() as server, self.programs_of(server):
            database, restored = server.database(), server.database()
            with self.assertRaisesRegex(RuntimeError, "--backup is for a store that is a SQ"):
                Collector(BINARY, store=database, extra=["--backup", "/x"]).start()
            with Collector(BINARY, tokens=["s3cret"], store=database) as collector:
                before = [sample_reports.raw(i) for i in range(20)]
                for report in before:
                    self.assertEqual(collector.post(report)[0], 201)
                with postgres.Standby(server) as standby:
                    standby.follow()
                    with Sending(collector, 1000):
                        run("backup of postgresql", DATABASE=standby.address("made1"),
                            **self.variables(collector))
                    standby.leave()
            run("restore of postgresql", RESTORED=restored, BACKUP=self.folder)
            with Collector(BINARY, tokens=["s3cret"], store=restored) as collector:
                for report in before:  # it is known
                    self.assertEqual(collector.post(report)[0], 200)
                self.assertEqual(collector.post(sample_reports.raw(500001))[0], 201)

    def test_a_database_is_brought_to_a_point_in_time(self):
        self.need_server()
        archive = self.folder + "/archive"
        os.mkdir(archive)
        os.chmod(archive, 0o777)
        with postgres.Postgres() as server, self.programs_of(server):
            variables = {"SERVER": server.address("postgres"), "ARCHIVE": archive,
                         "BACKUP": self.folder}
            run("settings of the server", **variables)
            run("archive the log", **variables)
            server.process.send_signal(signal.SIGINT)
            server.process.wait()
            server.start()
            self.assertEqual(server.ask("SHOW wal_compression"), "lz4")
            store = server.database()
            with Collector(BINARY, store=store) as collector:
                self.assertEqual(collector.post(sample_reports.raw(1))[0], 201)
                run("base backup", **variables)
                self.assertEqual(collector.post(sample_reports.raw(2))[0], 201)
                until = server.ask("SELECT clock_timestamp()")
                self.assertEqual(collector.post(sample_reports.raw(3))[0], 201)
            segment = server.ask("SELECT pg_walfile_name(pg_switch_wal())")
            limit = time.monotonic() + 60
            while not os.path.exists(f"{archive}/{segment}"):
                self.assertLess(time.monotonic(), limit, "the log was not archived")
                time.sleep(0.05)
            run("restore to a time", UNTIL=until, **variables)
        with Restored(self.folder + "/base") as server:
            with Collector(BINARY, store=server.address("made1")) as collector:
                numbers = sorted(int(i[-12:], 16) for i in stored(collector))
                self.assertEqual(numbers, [1, 2])
                self.assertEqual(collector.post(sample_reports.raw(4))[0], 201)

    def test_z_every_command_was_run(self):
        if postgres.programs() is None or shutil.which("sqlite3") is None:
            self.skipTest("not all can be run here")
        self.assertEqual(set(commands()), RUN)

    def need_server(self):
        if postgres.programs() is None:
            self.skipTest("no PostgreSQL server is installed (package postgresql)")

    @contextlib.contextmanager
    def programs_of(self, server):
        """The programs of the server's version are found first."""
        path = os.environ["PATH"]
        os.environ["PATH"] = server.programs + ":" + path
        try:
            yield
        finally:
            os.environ["PATH"] = path


class Restored(postgres.Postgres):
    """A server over data that were restored."""

    def __init__(self, data):
        super().__init__()
        self.data = data

    def __enter__(self):
        self.make_folder()
        shutil.move(self.data, self.folder + "/data")
        if self.user:
            for folder, _, files in os.walk(self.folder + "/data"):
                for path in [folder, *(os.path.join(folder, name) for name in files)]:
                    os.chown(path, self.user["user"], self.user["group"])
        self.start()
        limit = time.monotonic() + postgres.PATIENCE_S
        while self.ask("SELECT pg_is_in_recovery()") == "t":
            if time.monotonic() > limit:
                raise RuntimeError("the server did not end its recovery")
            time.sleep(0.05)
        return self


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
