#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_proxy COLLECTOR CONFIGURATION: two collectors over one PostgreSQL database behind
# nginx, which is configured as packaging/collector-nginx.conf says: uploads, pages and
# forms through it, whichever collector answers; one of them stops in between.

import http.client
import json
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

import postgres
import sample_reports
from running import Collector

BINARY, CONFIGURATION = None, None
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
PATIENCE_S = 60

# What of an nginx.conf stands around the file we ship.
AROUND = """
worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log; {user}
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  {ours}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Proxy:
    """nginx in front of collectors, with TLS, in a folder of its own."""

    def __init__(self, collectors):
        self.collectors = collectors
        self.folder = tempfile.mkdtemp(prefix="crashhook-nginx-")
        self.port = free_port()

    def __enter__(self):
        key, certificate = self.folder + "/key.pem", self.folder + "/cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
                        "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out",
                        certificate], check=True, stderr=subprocess.DEVNULL)
        with open(CONFIGURATION, encoding="utf-8") as file:
            ours = file.read()
        servers = "\n".join(f"server 127.0.0.1:{c.port};" for c in self.collectors)
        for shipped, here in (("server 127.0.0.1:8765;", servers),
                              ("listen 443 ssl;", f"listen 127.0.0.1:{self.port} ssl;"),
                              ("server_name crashes.example;", "server_name localhost;"),
                              ("/etc/ssl/certs/crashes.example.pem", certificate),
                              ("/etc/ssl/private/crashes.example.key", key)):
            if shipped not in ours:
                raise RuntimeError(f"{CONFIGURATION} does not hold {shipped}")
            ours = ours.replace(shipped, here)
        user = f"user {pwd.getpwuid(os.geteuid()).pw_name};" if os.geteuid() == 0 else ""
        path = self.folder + "/nginx.conf"
        with open(path, "w", encoding="utf-8") as file:
            file.write(AROUND.format(folder=self.folder, ours=ours, user=user))
        self.process = subprocess.Popen([NGINX, "-p", self.folder, "-e",
                                         self.folder + "/error.log", "-c", path])
        self.context = ssl.create_default_context(cafile=certificate)
        limit = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                if self.process.poll() is not None or time.monotonic() > limit:
                    raise
                time.sleep(0.05)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=60,
                                                 context=self.context)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()


BEARER = {"Authorization": "Bearer s3cret"}


class BehindProxy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server = cls.enterClassContext(postgres.Postgres())
        store = server.database()
        cls.collectors = [cls.enterClassContext(Collector(
            BINARY, tokens=["s3cret"], store=store, extra=["--log", "requests"]))
            for _ in range(2)]
        cls.proxy = cls.enterClassContext(Proxy(cls.collectors))

    def post(self, report):
        status, _, body = self.proxy.request("POST", "/api/v1/reports",
                                             json.dumps(report).encode(), BEARER)
        return status, json.loads(body)

    def listed(self, release):
        _, _, body = self.proxy.request(
            "GET", "/api/v1/reports?limit=200&release=" + release, None, BEARER)
        return {row["id"] for row in json.loads(body)["reports"]}

    def test_uploads_at_once_are_kept_once_whoever_takes_them(self):
        reports = [sample_reports.raw(i, release="many") for i in range(200)]
        answers = []

        def send(mine):
            answers.extend(self.post(report)[0] for report in mine)

        threads = [threading.Thread(target=send, args=(reports[i::10] * 2,))
                   for i in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answers), [200] * 200 + [201] * 200)
        self.assertEqual(self.listed("many"), {report["id"] for report in reports})

    def test_a_large_report_passes(self):
        report = sample_reports.many_threads(900, 2000)
        self.assertGreater(len(json.dumps(report)), 1 << 20)
        self.assertEqual(self.post(report)[0], 201)

    def test_people_log_in_and_decide_through_it(self):
        group = self.post(sample_reports.null_write(901))[1]["group"]
        status, _, page = self.proxy.request("GET", "/groups/" + group)
        self.assertEqual(status, 401)
        self.assertIn(b"Log in", page)
        origin = {"Origin": f"https://localhost:{self.proxy.port}",
                  "Content-Type": "application/x-www-form-urlencoded"}
        status, headers, _ = self.proxy.request(
            "POST", "/login", urllib.parse.urlencode({"token": "s3cret", "to": "/"}),
            origin)
        self.assertEqual((status, headers["Location"]), (303, "/"))
        self.assertIn("; Secure", headers["Set-Cookie"])
        cookie = {"Cookie": headers["Set-Cookie"].split(";")[0]}
        for _ in range(4):  # either collector knows the cookie
            self.assertEqual(
                self.proxy.request("GET", "/groups/" + group, None, cookie)[0], 200)
        status, _, _ = self.proxy.request("POST", "/groups/" + group,
                                          "status=ignored&note=x", {**cookie, **origin})
        self.assertEqual(status, 303)
        foreign = {**cookie, **origin, "Origin": "https://evil.example"}
        self.assertEqual(self.proxy.request("POST", "/groups/" + group, "status=open",
                                            foreign)[0], 403)
        _, _, body = self.proxy.request("GET", "/api/v1/groups/" + group, None, BEARER)
        self.assertEqual(json.loads(body)["status"], "ignored")

    def test_z_when_one_stops_the_other_goes_on(self):
        status, said = self.collectors[0].stop()
        self.assertEqual(status, 0)
        lines = [json.loads(line) for line in said.splitlines()]
        self.assertTrue(lines)
        self.assertTrue(all(line["forwarded_for"] == "127.0.0.1" for line in lines))
        reports = [sample_reports.raw(500 + i, release="later") for i in range(10)]
        for report in reports:
            self.assertEqual(self.post(report)[0], 201)
        self.assertEqual(self.listed("later"), {report["id"] for report in reports})


if __name__ == "__main__":
    postgres.require()
    if not os.access(NGINX, os.X_OK):
        print("SKIPPED: nginx is not installed (package nginx-light)")
        sys.exit(77)
    BINARY, CONFIGURATION = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
