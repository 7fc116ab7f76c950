# SPDX-License-Identifier: Apache-2.0
#
# A collector that runs in a folder of its own, and requests to it: what the tests of the
# whole program share.

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import weakref

PATIENCE_S = 90


def wait_for(what, why, patience=PATIENCE_S):
    """What `what` gives once it is true; it is asked again until then."""
    give_up = time.monotonic() + patience
    while time.monotonic() < give_up:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {patience} s: {why}")


def fresh_store():
    """A database of its own where postgres.py runs the test, else None: a file."""
    server = os.environ.get("CRASHHOOK_TEST_POSTGRESQL")
    if server is None:
        return None
    fresh_store.made += 1
    name = f"fresh{os.getpid()}_{fresh_store.made}"
    subprocess.run(["psql", "-q", server, "-c", f"CREATE DATABASE {name}"], check=True)
    return re.sub(r"/made\d+\?", f"/{name}?", server)


fresh_store.made = 0


class Collector:
    """A collector on a free port. When the `with` block ends without a failure, it is asked
    to end and has to do so with 0, which it does not when it leaks under AddressSanitizer.
    Its folder goes."""

    def __init__(self, binary, tokens=None, extra=(), store=None):
        self.binary = binary
        self.store = store
        self.folder = tempfile.mkdtemp(prefix="crashhook-collector-")
        # That of one that did not start goes, too.
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.extra = list(extra)
        self.token = None
        self.process = None
        if tokens:
            path = os.path.join(self.folder, "tokens")
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(tokens) + "\n")
            self.extra += ["--token-file", path]
            self.token = tokens[0]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, failure, *_):
        status, said = 0, ""
        if failure is None and self.process is not None:
            status, said = self.stop()
        self.kill()
        # A child that was naming reports ends a moment after its collector: what it still
        # makes goes too.
        wait_for(self.remove_folder, "the collector's folder is removed")
        if status != 0:
            raise RuntimeError(f"the collector ended with {status}: {said}")

    def remove_folder(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        return not os.path.exists(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self):
        store = self.store or "sqlite:" + self.path("store.db")
        command = [self.binary, "--listen", "127.0.0.1:0", "--store", store,
                   "--symbols", self.path("symbols"), *self.extra]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        while line.startswith("query: "):
            line = self.process.stderr.readline()
        match = re.search(r"listening on http://(127\.0\.0\.1):(\d+)/", line)
        if not match:
            self.kill()
            raise RuntimeError(f"the collector did not start: {line}")
        self.host, self.port = match.group(1), int(match.group(2))
        self.url = f"http://{self.host}:{self.port}"

    def kill(self):
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        self.process = None

    def stop(self):
        """Asks it to end; its exit status and the rest of its messages."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=30)
        said = self.process.stderr.read()
        self.process.stderr.close()
        self.process = None
        return status, said

    def connection(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=60)

    def request(self, method, path, body=None, headers=None):
        """One request: its status, headers and body."""
        headers = dict(headers or {})
        if self.token and "Authorization" not in headers:
            headers["Authorization"] = "Bearer " + self.token
        connection = self.connection()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, headers=None):
        status, _, answer = self.request(method, path, body, headers)
        return status, json.loads(answer)

    def post(self, report, headers=None):
        """Sends a report (a value, or bytes as they are): status and answer."""
        body = report if isinstance(report, bytes) else json.dumps(report).encode()
        return self.json("POST", "/api/v1/reports", body, headers)

    def socket(self):
        return socket.create_connection((self.host, self.port), timeout=60)
