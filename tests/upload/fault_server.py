# SPDX-License-Identifier: Apache-2.0
#
# A server that does as it is told: each request is answered by the next behaviour of a
# list, the last one again and again. It keeps what it was sent.

import email.utils
import gzip
import json
import socket
import struct
import subprocess
import threading
import time

from listener import Listener


class Request:
    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.line = lines[0]
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
        self.body = body

    def plain(self):
        """The body as it was before it was compressed."""
        if self.headers.get("content-encoding") == "gzip":
            return gzip.decompress(self.body)
        assert "content-encoding" not in self.headers, self.headers
        return self.body

    def report(self):
        assert self.headers.get("content-encoding") == "zstd", self.headers
        done = subprocess.run(["zstd", "-dc"], input=self.body, check=True,
                              stdout=subprocess.PIPE)
        return json.loads(done.stdout)


def response(status, body=b"", headers=()):
    lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}",
             "Connection: close", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


# Behaviours: they get the connection and the request.

def take(connection, request):
    report = request.report()
    answer = json.dumps({"id": report["id"], "group": "g1"}).encode()
    connection.sendall(response(201, answer))


def answer(status, body=b"", headers=()):
    return lambda connection, request: connection.sendall(
        response(status, body, headers))


def take_event(connection, request, headers=()):
    """Sentry's answer to an envelope."""
    event_id = json.loads(request.plain().split(b"\n", 1)[0])["event_id"]
    connection.sendall(response(200, json.dumps({"id": event_id}).encode(), headers))


def take_event_but(limits):
    return lambda connection, request: take_event(
        connection, request, [f"X-Sentry-Rate-Limits: {limits}"])


take_logs = answer(200, b'{"partialSuccess":{}}')


def retry_after_date(seconds):
    def behave(connection, _):
        date = email.utils.formatdate(time.time() + seconds, usegmt=True)
        connection.sendall(response(429, b"", [f"Retry-After: {date}"]))
    return behave


def hang_up(connection, _):
    connection.close()


def early(behave):
    """Behaves so before the body has been read."""
    behave.early = True
    return behave


@early
def reset_in_mid_body(connection, _):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def trickle(connection, _):
    """A byte now and then: never silent, never done."""
    try:
        for byte in b"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n" + b"X: y\r\n" * 999:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)
    except OSError:
        pass


def say_nothing(connection, _):
    connection.settimeout(60)
    try:
        connection.recv(1)  # until the client has had enough
    except OSError:
        pass


def forever(chunk, head=b""):
    """Sends chunk until the client has had enough."""
    def behave(connection, _):
        try:
            connection.sendall(head)
            while True:
                connection.sendall(chunk)
        except OSError:
            pass
    return behave


endless_body = forever(b"x" * 65536, b"HTTP/1.1 201 x\r\n\r\n")
endless_headers = forever(b"X-More: " + b"x" * 1000 + b"\r\n", b"HTTP/1.1 201 x\r\n")
endless_continue = forever(b"HTTP/1.1 100 Continue\r\n\r\n")


class FaultServer(Listener):
    def __init__(self, *behaviours, tls=None):
        self.tls = tls  # an ssl.SSLContext: it speaks https
        self.behaviours = list(behaviours) or [take]
        self.requests = []
        self.arrived = threading.Condition()
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self.listen()}"

    def _behave_next(self):
        with self.arrived:
            behave = self.behaviours[0]
            if len(self.behaviours) > 1:
                self.behaviours.pop(0)
            return behave

    def _read(self, connection):
        """The next request and what to do about it."""
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return None, None
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        request = Request(head, body)
        behave = self._behave_next()
        if getattr(behave, "early", False):
            return request, behave
        while len(request.body) < int(request.headers.get("content-length", 0)):
            more = connection.recv(65536)
            if not more:
                break
            request.body += more
        return request, behave

    def _serve(self, connection):
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
        except OSError:  # the client did not like us
            connection.close()
            return
        with connection:
            request, behave = self._read(connection)
            if request is None:
                return
            with self.arrived:
                self.requests.append(request)
                self.arrived.notify_all()
            behave(connection, request)

    def await_requests(self, count, seconds=20):
        with self.arrived:
            if not self.arrived.wait_for(lambda: len(self.requests) >= count, seconds):
                raise AssertionError(
                    f"{len(self.requests)} requests of {count} came in {seconds} s")

    def ids(self):
        return [request.report()["id"] for request in self.requests]
