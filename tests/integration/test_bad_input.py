# SPDX-License-Identifier: Apache-2.0
#
# Values nobody can understand, folders that cannot be written, disks that are full,
# servers that are not there or lie: one clear line each, and nothing is lost.

import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import unittest
import urllib.request

import harness
from harness import Scene, example, wait_for
from ports import held_port

BAD_VALUES = {
    "CRASHHOOK_ENABLE": "maybe",
    "CRASHHOOK_SPOOL_MAX": "64",
    "CRASHHOOK_SIGNALS": "SEGV,TERM",
    "CRASHHOOK_UNWIND": "magic",
    "CRASHHOOK_LIMIT": "0",
    "CRASHHOOK_TOP": "-1",
    "CRASHHOOK_THREADS": "some",
    "CRASHHOOK_IMAGES": "few",
    "CRASHHOOK_SYMBOLIZE": "on",
    "CRASHHOOK_HOLD": "forever",
    "CRASHHOOK_MODE": "fork",
    "CRASHHOOK_TIMEOUT": "30",
    "CRASHHOOK_PRINT": "loud",
    "CRASHHOOK_PRESET": "pretty",
    "CRASHHOOK_FORMAT": "xml",
    "CRASHHOOK_REGISTERS": "some",
    "CRASHHOOK_DEMANGLE": "tty",
    "CRASHHOOK_COLOR": "red",
    "CRASHHOOK_INTERACTIVE": "tty",
    "CRASHHOOK_WARNINGS": "some",
    "CRASHHOOK_CACHE": "tty",
    "CRASHHOOK_SANITIZE": "off",
    "CRASHHOOK_TAGS": "a=1,b",
    "CRASHHOOK_RATE": "10",
    "CRASHHOOK_FLIGHT": "64 K",
}


class Variables(unittest.TestCase):
    def test_each_bad_value_is_complained_about_once_and_the_default_used(self):
        for name, value in BAD_VALUES.items():
            with self.subTest(name), Scene() as scene:
                variables = {name: value}
                if name != "CRASHHOOK_PRINT":
                    variables["CRASHHOOK_PRINT"] = "no"
                ended = scene.run([example("null_write")], **variables)
                self.assertEqual(ended.signal, signal.SIGSEGV)
                self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
                self.assertIn(name, ended.stderr)
                self.assertIn(value, ended.stderr)
                self.assertEqual(len(scene.reports()), 1)


class Spool(unittest.TestCase):
    def complaint_about(self, scene, spool):
        """What the agent logs when the program crashes with this spool: one line."""
        log = os.path.join(scene.folder, "log")
        ended = scene.run([example("null_write")], CRASHHOOK_SPOOL=spool,
                          CRASHHOOK_LOG=log)
        self.assertEqual(ended.signal, signal.SIGSEGV)
        self.assertLess(ended.seconds, 20)
        with open(log, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(spool, lines[0])
        return lines[0]

    def test_a_spool_that_is_a_file_is_named(self):
        with Scene() as scene:
            path = os.path.join(scene.folder, "taken")
            with open(path, "w", encoding="ascii") as file:
                file.write("mine\n")
            self.complaint_about(scene, path)
            with open(path, encoding="ascii") as file:
                self.assertEqual(file.read(), "mine\n")

    def test_a_spool_others_may_write_is_refused(self):
        with Scene() as scene:
            path = os.path.join(scene.folder, "open")
            os.mkdir(path)
            os.chmod(path, 0o777)
            self.complaint_about(scene, path)
            self.assertEqual(os.listdir(path), [])

    def test_a_spool_that_cannot_be_read_fails_list_and_upload_with_one_line(self):
        with Scene() as scene:
            for command in ("list", "upload"):
                done = scene.command(command, "--spool", "/proc/version", "--url",
                                     "http://127.0.0.1:9") if command == "upload" else \
                    scene.command(command, "--spool", "/proc/version")
                self.assertEqual(done.returncode, 1, command)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn("/proc/version", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "mounts a small file system")
    def test_a_full_disk_loses_no_report_that_was_there(self):
        with Scene() as scene:
            disk = os.path.join(scene.folder, "disk")
            os.mkdir(disk)
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=700",
                                      "tmpfs", disk], check=False)
            if mounted.returncode != 0:
                self.skipTest("mounting is forbidden here")
            try:
                self.fill_and_crash(scene, os.path.join(disk, "spool"))
            finally:
                subprocess.run(["umount", "-l", disk], check=True)

    def fill_and_crash(self, scene, spool):
        scene.spool = spool
        scene.run([example("null_write")])
        before = scene.reports()
        self.assertEqual(len(before), 1)
        with open(os.path.join(os.path.dirname(spool), "ballast"), "wb", 0) as file:
            try:
                while file.write(bytes(4096)) > 0:
                    pass
            except OSError:
                pass
        line = self.complaint_about(scene, spool)
        self.assertIn("No space left on device", line)
        self.assertEqual(scene.reports(), before)
        self.assertEqual([name for name in os.listdir(spool) if name.endswith(".tmp")], [])


class Liar(http.server.BaseHTTPRequestHandler):
    """Answers every request as its server's `lie` says."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, body = self.server.lie
        if status == 0:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:9/")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


LIES = {
    "a page instead of an answer": (200, b"<html>Welcome to our hotel</html>"),
    "an answer about another report": (
        201, b'{"id":"00000000-0000-7000-8000-000000000000","group":"1"}'),
    "an empty answer": (201, b""),
    "a redirect": (302, b""),
    "a refusal": (404, b"no"),
    "a failure": (500, b"oops"),
    "nothing at all": (0, b""),
}


class Server(unittest.TestCase):
    def states(self, scene):
        done = scene.command("list", "--json")
        return [target["state"] for entry in json.loads(done.stdout)
                for target in entry["targets"]]

    def fails_with_one_line(self, scene, url):
        done = scene.command("upload", "--url", url, CRASHHOOK_TIMEOUT="2s")
        self.assertEqual(done.returncode, 1, done.stderr)
        # A line says what is wrong with this target; another may sum up.
        self.assertEqual(len({line for line in done.stderr.splitlines() if url in line}), 1,
                         done.stderr)
        self.assertNotIn("sent", self.states(scene))

    def test_a_report_for_an_unreachable_server_waits_and_is_sent_later(self):
        with Scene() as scene:
            url = f"http://127.0.0.1:{held_port()}"
            ended = scene.run([example("null_write")], CRASHHOOK_URL=url,
                              CRASHHOOK_TIMEOUT="2s")
            self.assertEqual(ended.signal, signal.SIGSEGV)
            report = scene.reports()[0]
            self.fails_with_one_line(scene, url)
            collector = self.start_collector(scene, url)
            try:
                done = scene.command("upload", "--url", url)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.states(scene), ["sent"])
                address = f"{url}/api/v1/reports/{report['id']}"
                with urllib.request.urlopen(address, timeout=10) as answer:
                    self.assertEqual(json.loads(answer.read())["id"], report["id"])
            finally:
                collector.terminate()
                collector.wait()

    def start_collector(self, scene, url):
        collector = subprocess.Popen(
            [harness.COLLECTOR, "--listen", url.removeprefix("http://"),
             "--store", f"sqlite:{scene.folder}/reports.db"],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(collector.kill)

        def answers():
            try:
                urllib.request.urlopen(url + "/healthz", timeout=60).close()
            except OSError:
                return False
            return True

        wait_for(answers)
        return collector

    def test_a_lying_server_does_not_get_a_report_struck_off(self):
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_address[1]}"
            for name, lie in LIES.items():
                with self.subTest(name), Scene() as scene:
                    server.lie = lie
                    scene.run([example("null_write")])
                    before = scene.reports()
                    self.fails_with_one_line(scene, url)
                    self.assertEqual(scene.reports(), before)
            server.shutdown()


if __name__ == "__main__":
    harness.main()
