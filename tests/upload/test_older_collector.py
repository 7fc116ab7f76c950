# SPDX-License-Identifier: Apache-2.0
#
# Reports that go to a collector of before version 2: the last release's own, built from
# the history where that is there, and a server that refuses as it does.

import http.client
import json
import os
import shutil
import subprocess
import sys
import unittest

import jsonschema

from fault_server import FaultServer, answer, take
from spool_folder import CRASHHOOK, Spool, expanded

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "collector"))
from running import Collector  # noqa: E402

BUILD = os.path.dirname(os.path.dirname(CRASHHOOK))
# The last commit whose collector knows version 1 alone.
LAST_RELEASE = "95a2a8b3f89ba962293dad8a04d7383ba3e84a75"

REFUSAL = b'{"error":"not a report: its schema is not crashhook.report/1"}'


def take_version_1(connection, request):
    """Answers as the last release's collector did."""
    if request.report()["schema"] == "crashhook.report/1":
        take(connection, request)
    else:
        answer(400, REFUSAL)(connection, request)


def run(*command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **options)


def older_collector():
    """The last release's collector, built once in the build folder; or why it is not."""
    folder = os.path.join(BUILD, "older")
    binary = os.path.join(folder, "build", "bin", "crashhook-collector")
    if os.path.exists(binary):
        return binary, ""
    if shutil.which("git") is None or run(
            "git", "-C", SOURCE, "cat-file", "-e", LAST_RELEASE + "^{commit}").returncode:
        return None, "the history that holds the last release is not here"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "source"))
    archive = os.path.join(folder, "source.tar")
    for command in (
            ["git", "-C", SOURCE, "archive", "-o", archive, LAST_RELEASE],
            ["tar", "-xf", archive, "-C", os.path.join(folder, "source")],
            ["cmake", "-S", os.path.join(folder, "source"), "-G", "Ninja",
             "-B", os.path.join(folder, "build"), "-DCMAKE_BUILD_TYPE=Debug",
             "-DCRASHHOOK_TESTS=OFF", "-DCRASHHOOK_WITH_CAPSTONE=OFF"],
            ["cmake", "--build", os.path.join(folder, "build"), "-j2",
             "--target", "crashhook-collector"]):
        done = run(*command)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.stdout.decode()[-2000:]}")
    return binary, ""


def add(spool, *names):
    """Puts cases into the spool; their paths there."""
    return [spool.file(spool.add(number, os.path.join("version2", name)))
            for number, name in enumerate(names)]


class Refused(unittest.TestCase):
    def test_every_frame_is_put_in_its_place_where_the_schema_is_refused(self):
        with Spool(0) as spool, FaultServer(take_version_1) as server:
            path, = add(spool, "threads_100.json")
            done = spool.upload("--url", server.url)
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertEqual([r.report()["schema"] for r in server.requests],
                             ["crashhook.report/2", "crashhook.report/1"])
            sent = server.requests[1].report()
            self.assertEqual(sent, expanded(path))
            with open(os.path.join(SOURCE, "docs", "report-1.schema.json"),
                      encoding="utf-8") as file:
                jsonschema.validate(sent, json.load(file))

    def test_what_a_target_takes_is_remembered_for_other_processes(self):
        with Spool(0) as spool, FaultServer(take_version_1) as server:
            add(spool, "null_write.json")
            first = spool.upload("--url", server.url)
            spool.add(1, "version2/divide.json")
            second = spool.upload("--url", server.url)
            self.assertEqual((first.returncode, second.returncode), (0, 0))
            with open(os.path.join(spool.path, "waits.json"), encoding="utf-8") as file:
                waits = json.load(file)["targets"][server.url]["tables"]
            self.assertGreater(waits[1], waits[0])
            self.assertEqual([r.report()["schema"][-1] for r in server.requests],
                             ["2", "1", "1"])

    def test_another_400_is_the_reports_own_trouble(self):
        with Spool(0) as spool, FaultServer(
                answer(400, b'{"error":"not a report: id is missing"}')) as server:
            add(spool, "divide.json")
            spool.upload("--url", server.url)
            self.assertEqual(len(server.requests), 1)


class LastRelease(unittest.TestCase):
    def test_its_collector_gets_reports_with_all_that_they_hold(self):
        binary, why_not = older_collector()
        if binary is None:
            self.skipTest(why_not)
        with Collector(binary) as collector, Spool(0) as spool:
            paths = add(spool, "null_write.json", "exception.json", "threads_100.json",
                        "values.json", "flight.json", "watches.json")
            done = spool.upload("--url", collector.url)
            self.assertEqual(done.returncode, 0, done.stderr_text)
            for path in paths:
                report = expanded(path)
                status, kept = collector.json(
                    "GET", f"/api/v1/reports/{report['id']}?form=sent")
                self.assertEqual(status, http.client.OK)
                self.assertEqual(kept, report)
                status, _ = collector.json(
                    "GET", f"/api/v1/groups/{report['fingerprint']}")
                self.assertEqual(status, http.client.OK)


if __name__ == "__main__":
    unittest.main(verbosity=2)
