#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_body_store COLLECTOR: bodies that are packed into a store of the S3 protocol, which
# fails in every way: what was acknowledged stays, once, and can be read again.

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import s3
import sample_reports
from running import PATIENCE_S, Collector, wait_for

BINARY = None
VIEWS = 8  # at once, of a body that is slow to come


def hung_up(connection):
    """Whether whoever asked has closed the connection."""
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""


class Packing(Collector):
    """A collector that packs what it has at once."""

    def __init__(self, server, prefix, store=None):
        place = f"s3://{s3.BUCKET}/{prefix}?{server.settings()}"
        super().__init__(BINARY, store=store, extra=["--body-store", place,
                                                     "--body-segments", "1M/0m"])

    def figure(self, name):
        text = self.request("GET", "/metrics")[2].decode()
        lines = [line for line in text.splitlines() if line.startswith(name + " ")]
        return float(lines[0].split()[1])

    def wait_packed(self):
        wait_for(lambda: self.figure("crashhook_bodies_staged") == 0, "all bodies packed")

    def sent(self, report):
        status, _, body = self.request("GET", f"/api/v1/reports/{report['id']}?form=sent")
        return status, body


class BodyStore(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ.update(AWS_ACCESS_KEY_ID=s3.KEY, AWS_SECRET_ACCESS_KEY=s3.SECRET)
        cls.server = cls.enterClassContext(s3.Swift())
        cls.made = 0

    def setUp(self):
        self.server.proxy.fault = None
        BodyStore.made += 1
        self.prefix = f"test{self.made}"

    def post(self, collector, count):
        """Sends some reports, each of which has to be taken."""
        reports = [sample_reports.null_write(self.count_up()) for _ in range(count)]
        for report in reports:
            self.assertEqual(collector.post(report)[0], 201)
        return reports

    numbers = 100

    def count_up(self):
        BodyStore.numbers += 1
        return BodyStore.numbers

    def check_all(self, collector, reports):
        """Each report is there, with its body, and no other one."""
        for report in reports:
            status, body = collector.sent(report)
            self.assertEqual(status, 200)
            self.assertIn(report["id"].encode(), body)
        listed = collector.json("GET", "/api/v1/reports?limit=200")[1]["reports"]
        self.assertEqual(sorted(row["id"] for row in listed),
                         sorted(report["id"] for report in reports))

    def objects(self):
        return [name for name in self.server.names() if name.startswith(self.prefix + "/")]

    def test_the_server_refuses_a_wrong_secret_and_a_wrong_hash(self):
        put = self.server.request
        self.assertEqual(put("PUT", "a", b"content"), 200)
        self.assertEqual(put("PUT", "b", b"content", secret="wrong"), 403)
        self.assertIn(b"SignatureDoesNotMatch", self.server.content)
        self.assertEqual(put("PUT", "b", b"content", change={"Content-MD5": "AAAA"}), 400)
        # x-amz-content-sha256, and the signature, are of as many other bytes.
        self.assertEqual(put("PUT", "b", b"content", signed_body=b"another"), 400)
        # The second name is S3's, and that of later versions of this server.
        self.assertRegex(self.server.content, b"<Code>(BadDigest|XAmzContentSHA256Mismatch)")
        self.assertNotIn("b", self.server.names())

    def test_bodies_are_packed_and_read_from_there(self):
        with Packing(self.server, self.prefix) as collector:
            reports = self.post(collector, 5)
            collector.wait_packed()
            self.assertNotEqual(self.objects(), [])
            self.check_all(collector, reports)
            page = collector.request("GET", "/reports/" + reports[0]["id"])
            self.assertEqual(page[0], 200)
            collector.stop()
            collector.start()
            self.check_all(collector, reports)
            collector.stop()
            refused = subprocess.run(
                [BINARY, "--listen", "127.0.0.1:0", "--store",
                 "sqlite:" + collector.path("store.db")], check=False, text=True,
                stderr=subprocess.PIPE)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("start with the --body-store that has them", refused.stderr)

    def fail_for_a_while(self, fault, at_least):
        """Reports come while requests fail, and are packed when they do not any more."""
        with Packing(self.server, self.prefix) as collector:
            reports = self.post(collector, 2)
            collector.wait_packed()
            self.server.proxy.fault = fault
            reports += self.post(collector, 3)
            wait_for(lambda: collector.figure("crashhook_segment_failures_total") >= at_least,
                     "attempts that fail")
            reports += self.post(collector, 3)
            status, _, body = collector.request("GET", "/api/v1/reports/" + reports[0]["id"])
            self.assertEqual(status, 503, body)
            self.assertEqual(collector.sent(reports[-1])[0], 200)
            self.assertEqual(collector.json("GET", "/readyz")[0], 200)
            self.server.proxy.fault = None
            collector.wait_packed()
            wait_for(lambda: collector.sent(reports[0])[0] == 200, "a body of before")
            self.check_all(collector, reports)

    def test_internal_errors_stop_no_upload(self):
        self.fail_for_a_while(
            lambda handler, body: handler.answer(500, b"<Code>InternalError</Code>") or True, 2)

    def test_requests_to_slow_down_are_followed(self):
        times = []

        def slow_down(handler, _):
            if handler.command == "PUT":
                times.append(time.monotonic())
            handler.answer(503, b"<Error><Code>SlowDown</Code></Error>",
                           [("Retry-After", "2")])
            return True

        self.fail_for_a_while(slow_down, 2)
        # It rests for as long as it is told to, and not for a second as otherwise.
        self.assertGreaterEqual(times[1] - times[0], 1.9)

    def test_answers_that_break_off_are_no_answers(self):
        def break_off(handler, _):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b"x")
            handler.close_connection = True
            return True

        self.fail_for_a_while(break_off, 1)

    def test_a_segment_that_arrived_otherwise_is_not_referred_to(self):
        def change(handler, _):
            if handler.command != "GET" or "/bodies/" not in handler.path:
                return False
            handler.answer(200, b"something else")
            return True

        self.fail_for_a_while(change, 1)

    def test_a_store_that_refuses_connections_stops_no_upload(self):
        with Packing(self.server, self.prefix) as collector:
            self.server.proxy.refuse()
            try:
                reports = self.post(collector, 3)
                wait_for(lambda: collector.figure("crashhook_segment_failures_total") >= 1,
                         "an attempt that fails")
                reports += self.post(collector, 3)
            finally:
                self.server.proxy.listen()
            collector.wait_packed()
            self.check_all(collector, reports)

    def test_a_store_that_is_silent_holds_neither_uploads_nor_the_end(self):
        released = threading.Event()
        asked = threading.Event()

        def stay_silent(*_):
            asked.set()
            released.wait(PATIENCE_S)
            return True

        try:
            with Packing(self.server, self.prefix) as collector:
                self.server.proxy.fault = stay_silent
                reports = self.post(collector, 2)
                self.assertTrue(asked.wait(PATIENCE_S))
                reports += self.post(collector, 2)
                self.assertEqual(collector.stop()[0], 0)
                released.set()
                self.server.proxy.fault = None
                collector.start()
                collector.wait_packed()
                self.check_all(collector, reports)
        finally:
            released.set()

    def test_a_store_that_is_slow_holds_up_no_pages(self):
        released = threading.Event()
        lock = threading.Lock()
        waiting = most = 0

        def drag_on(handler, _):
            nonlocal waiting, most
            with lock:
                waiting += 1
                most = max(most, waiting)
            while not released.wait(0.02) and not hung_up(handler.connection):
                pass
            with lock:
                waiting -= 1
            return False

        with Packing(self.server, self.prefix) as collector:
            reports = self.post(collector, 1)
            collector.wait_packed()
            self.server.proxy.fault = drag_on
            answers = []
            asking = [threading.Thread(target=lambda: answers.append(
                collector.sent(reports[0])[0])) for _ in range(VIEWS)]
            try:
                for thread in asking:
                    thread.start()
                wait_for(lambda: len(answers) >= VIEWS - 2, "views that are refused")
                page = collector.request("GET", "/groups")
            finally:
                released.set()
                for thread in asking:
                    thread.join()
            self.assertEqual(page[0], 200)
            # Of four threads that show pages, and one for large reports, so many waited.
            self.assertIn(most, (1, 2))
            self.assertLessEqual(answers.count(200), 2)
            self.assertEqual(answers.count(503), VIEWS - answers.count(200))

    def test_what_a_kill_leaves_between_segment_and_commit_is_packed_again(self):
        killed = threading.Event()
        read = threading.Event()

        def wait_for_kill(handler, _):
            if handler.command == "GET":
                read.set()
                killed.wait(PATIENCE_S)
            return False

        try:
            with Packing(self.server, self.prefix) as collector:
                self.server.proxy.fault = wait_for_kill
                reports = self.post(collector, 4)
                self.assertTrue(read.wait(PATIENCE_S))
                collector.process.send_signal(signal.SIGKILL)
                collector.kill()
                killed.set()
                before = self.objects()
                self.assertNotEqual(before, [])
                self.server.proxy.fault = None
                collector.start()
                collector.wait_packed()
                self.check_all(collector, reports)
                # The stray object stays for a day; nobody refers to it.
                self.assertGreater(len(self.objects()), len(before))
        finally:
            killed.set()

    def test_a_wrong_secret_stops_no_upload(self):
        os.environ["AWS_SECRET_ACCESS_KEY"] = "wrong"
        try:
            with Packing(self.server, self.prefix) as collector:
                self.post(collector, 1)
                wait_for(lambda: collector.figure("crashhook_segment_failures_total") >= 1,
                         "an attempt that fails")
                status, said = collector.stop()
                self.assertEqual(status, 0)
                self.assertIn("403 SignatureDoesNotMatch", said)
        finally:
            os.environ["AWS_SECRET_ACCESS_KEY"] = s3.SECRET

    def test_what_cannot_be_a_place_is_refused(self):
        for extra, why in ((["--body-store", "s3://"], "it names no bucket"),
                           (["--body-store", "/proc/nothing"], "cannot use the folder"),
                           (["--body-segments", "8M"], "--body-segments is not a size and a time")):
            with self.subTest(extra=extra), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([BINARY, "--listen", "127.0.0.1:0", "--store",
                                       f"sqlite:{folder}/store.db", *extra], check=False, text=True,
                                      stderr=subprocess.PIPE)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(why, done.stderr)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
