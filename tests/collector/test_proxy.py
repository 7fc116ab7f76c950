#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_proxy COLLECTOR NGINX_CONF HAPROXY_CFG: two collectors over one PostgreSQL database
# behind nginx and behind HAProxy, configured by the files that we ship: uploads, debug
# files, sources, pages and forms, whichever collector answers; one of them stops in between.

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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))

import postgres
import sample_reports
from ports import held_port
from running import Collector

BINARY, NGINX_CONF, HAPROXY_CFG = None, None, None
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
HAPROXY = shutil.which("haproxy") or "/usr/sbin/haproxy"
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


def replaced(path, pairs):
    """A file that we ship, with what is different here."""
    with open(path, encoding="utf-8") as file:
        ours = file.read()
    for shipped, here in pairs:
        if shipped not in ours:
            raise RuntimeError(f"{path} does not hold {shipped}")
        ours = ours.replace(shipped, here)
    return ours


class Proxy:
    """Something in front of collectors, with TLS, in a folder of its own."""

    def __init__(self, collectors):
        self.collectors = collectors
        self.folder = tempfile.mkdtemp(prefix="crashhook-proxy-")
        self.port = held_port()

    def __enter__(self):
        key, certificate = self.folder + "/key.pem", self.folder + "/cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
                        "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out",
                        certificate], check=True, stderr=subprocess.DEVNULL)
        self.process = subprocess.Popen(self.command(key, certificate))
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


class Nginx(Proxy):
    def command(self, key, certificate):
        servers = "\n".join(f"server 127.0.0.1:{c.port};" for c in self.collectors)
        ours = replaced(NGINX_CONF, (
            ("server 127.0.0.1:8765;", servers),
            ("listen 443 ssl;", f"listen 127.0.0.1:{self.port} ssl;"),
            ("server_name crashes.example;", "server_name localhost;"),
            ("/etc/ssl/certs/crashes.example.pem", certificate),
            ("/etc/ssl/private/crashes.example.key", key)))
        user = f"user {pwd.getpwuid(os.geteuid()).pw_name};" if os.geteuid() == 0 else ""
        path = self.folder + "/nginx.conf"
        with open(path, "w", encoding="utf-8") as file:
            file.write(AROUND.format(folder=self.folder, ours=ours, user=user))
        return [NGINX, "-p", self.folder, "-e", self.folder + "/error.log", "-c", path]


class HAProxy(Proxy):
    def command(self, key, certificate):
        both, path = self.folder + "/both.pem", self.folder + "/haproxy.cfg"
        with open(both, "w", encoding="ascii") as file:
            for part in (certificate, key):
                with open(part, encoding="ascii") as source:
                    file.write(source.read())
        servers = "\n    ".join(f"server c{c.port} 127.0.0.1:{c.port}"
                                for c in self.collectors)
        with open(path, "w", encoding="utf-8") as file:
            file.write("global\n    maxconn 256\n" + replaced(HAPROXY_CFG, (
                ("bind :443", f"bind 127.0.0.1:{self.port}"),
                ("/etc/ssl/private/crashes.example.pem", both),
                ("server one 127.0.0.1:8765", servers))))
        return [HAPROXY, "-q", "-db", "-f", path]


BEARER = {"Authorization": "Bearer s3cret"}


class Behind:
    """What has to pass, whatever is in front."""

    proxy_class = None
    program = None

    @classmethod
    def setUpClass(cls):
        if not os.access(cls.program, os.X_OK):
            raise unittest.SkipTest(f"{cls.program} is not installed")
        server = cls.enterClassContext(postgres.Postgres())
        store = server.database()
        cls.collectors = [cls.enterClassContext(Collector(
            BINARY, tokens=["s3cret"], store=store, extra=["--log", "requests"]))
            for _ in range(2)]
        cls.proxy = cls.enterClassContext(cls.proxy_class(cls.collectors))

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

    def test_large_debug_files_and_sources_reach_the_collector(self):
        # Larger than a report may be. It is not what it should be, which the collector says.
        body = b"no ELF " * (3 << 20)
        for kind, said in (("symbols", b"no ELF file"), ("sources", b"no whole source")):
            status, _, answer = self.proxy.request("PUT", f"/api/v1/{kind}/{'ab' * 20}", body,
                                                   BEARER)
            self.assertEqual(status, 400, answer)
            self.assertIn(said, answer)

    def test_every_kind_of_request_passes(self):
        report = sample_reports.null_write(902)
        self.assertEqual(self.post(report)[0], 201)
        for path in ("/", "/groups?q=is:any", "/reports/" + report["id"], "/style.css",
                     "/healthz", "/readyz", "/metrics", "/api/v1/starts",
                     f"/api/v1/reports/{report['id']}?form=text",
                     f"/compare?r={report['id']}&r={report['id']}"):
            self.assertEqual(self.proxy.request("GET", path, None, BEARER)[0], 200, path)
        status, headers, body = self.proxy.request("HEAD", "/groups", None, BEARER)
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["Content-Length"]), 0)
        status, headers, _ = self.proxy.request("GET", "/groups", None,
                                                {**BEARER, "Accept-Encoding": "gzip"})
        self.assertEqual((status, headers["Content-Encoding"]), (200, "gzip"))
        chunks = (piece for piece in (json.dumps(report).encode(), b"\n"))
        self.assertEqual(self.proxy.request("POST", "/api/v1/reports", chunks, BEARER)[0], 200)
        erased = self.proxy.request("DELETE", "/api/v1/reports?host=nowhere", None, BEARER)
        self.assertEqual(erased[0], 200, erased)

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
        lines = [line for line in map(json.loads, said.splitlines())
                 if line["path"] != "/readyz"]  # the proxy asks that for itself
        self.assertTrue(lines)
        self.assertTrue(all(line["forwarded_for"] == "127.0.0.1" for line in lines))
        reports = [sample_reports.raw(500 + i, release="later") for i in range(10)]
        for report in reports:
            self.assertEqual(self.post(report)[0], 201)
        self.assertEqual(self.listed("later"), {report["id"] for report in reports})


class BehindNginx(Behind, unittest.TestCase):
    proxy_class, program = Nginx, NGINX


class BehindHAProxy(Behind, unittest.TestCase):
    proxy_class, program = HAProxy, HAPROXY


if __name__ == "__main__":
    postgres.require()
    if not any(os.access(program, os.X_OK) for program in (NGINX, HAPROXY)):
        print("SKIPPED: neither nginx nor HAProxy is installed (packages nginx-light, haproxy)")
        sys.exit(77)
    BINARY, NGINX_CONF, HAPROXY_CFG = (sys.argv.pop(1) for _ in range(3))
    unittest.main(verbosity=2)
