#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# s3.py COMMAND...: runs COMMAND with CRASHHOOK_TEST_S3 naming a server of the S3 protocol
# that others wrote, which refuses a wrong secret and a wrong hash: OpenStack's Swift
# (swift_server.py), in a temporary folder. The keys are in the variables that the AWS
# command reads. Exit 77, and says so, where Swift is not installed.
#
# In front of it is a proxy of ours that does to requests what a test tells it.

import contextlib
import datetime
import hashlib
import hmac
import http.client
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
KEY, SECRET = "test:tester", "testing"
REGION = "us-east-1"
BUCKET = "segments"


def signed(method, host, path, query="", body=b"", secret=SECRET):
    """The headers of a request for that body, signed by AWS's description of version 4."""
    def mac(key, message):
        return hmac.new(key, message.encode(), hashlib.sha256).digest()

    moment = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    day, digest = moment[:8], hashlib.sha256(body).hexdigest()
    names = "host;x-amz-content-sha256;x-amz-date"
    canonical = "\n".join([method, path, query, f"host:{host}",
                           f"x-amz-content-sha256:{digest}", f"x-amz-date:{moment}", "",
                           names, digest])
    scope = f"{day}/{REGION}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = mac(mac(mac(mac(b"AWS4" + secret.encode(), day), REGION), "s3"), "aws4_request")
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return {"Host": host, "x-amz-content-sha256": digest, "x-amz-date": moment,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={KEY}/{scope}, SignedHeaders="
                             f"{names}, Signature={signature}"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def relay(self):
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        proxy.seen.append((self.command, self.path, len(body)))
        fault = proxy.fault
        if fault is not None and fault(self, body):
            return
        connection = http.client.HTTPConnection("127.0.0.1", proxy.behind, timeout=60)
        try:
            connection.request(self.command, self.path, body, dict(self.headers))
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        kept = [(name, value) for name, value in answer.getheaders()
                if name.lower() not in ("transfer-encoding", "content-length", "connection",
                                        "date", "server")]
        self.answer(answer.status, content, kept)

    do_GET = do_PUT = do_DELETE = do_HEAD = relay

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Who is killed, or cut off, closes its connection."""


class Proxy:
    """Relays requests; what fault returns true for is answered already, by the fault."""

    def __init__(self, behind):
        self.behind = behind
        self.fault = None
        self.seen = []
        self.port = 0
        self.listen()

    def listen(self):
        """Begins to listen, at the port that it had before."""
        self.server = Server(("127.0.0.1", self.port), Handler)
        self.server.proxy = self
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def refuse(self):
        """Connections are refused until listen()."""
        self.server.shutdown()
        self.server.server_close()


def installed():
    """Whether there is a Swift."""
    return os.path.exists("/usr/lib/python3/dist-packages/swift/proxy/server.py")


class Swift:
    """A running server with an empty bucket, behind a proxy."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-s3-")
        self.process = subprocess.Popen(
            ["/usr/bin/python3", os.path.join(HERE, "swift_server.py"), self.folder],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.strip().isdigit():
            self.process.wait()
            shutil.rmtree(self.folder)
            print(line or "SKIPPED: Swift does not start", end="")
            sys.exit(77)
        self.proxy = Proxy(int(line))
        assert self.request("PUT", "") == 200
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        with contextlib.suppress(OSError):
            self.proxy.refuse()
        shutil.rmtree(self.folder)

    def request(self, method, name, body=b"", secret=SECRET, change=None, signed_body=None):
        """A request for an object, or for the bucket: the status. signed_body: what its
        hash and signature are of, where that is not what it carries."""
        host, path = f"127.0.0.1:{self.proxy.behind}", f"/{BUCKET}" + (name and "/" + name)
        headers = signed(method, host, path, "", signed_body or body, secret)
        headers.update(change or {})
        connection = http.client.HTTPConnection(host, timeout=60)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            self.content = answer.read()
            return answer.status
        finally:
            connection.close()

    def names(self):
        """The names of all objects."""
        assert self.request("GET", "") == 200
        return [part.split(b"</Key>")[0].decode() for part in self.content.split(b"<Key>")[1:]]

    def settings(self):
        return f"endpoint=http://127.0.0.1:{self.proxy.port}&region={REGION}"


def main():
    os.environ.update(AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET)
    with Swift() as server:
        os.environ["CRASHHOOK_TEST_S3"] = server.settings()
        return subprocess.run(sys.argv[1:], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
