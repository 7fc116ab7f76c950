#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_crowd COLLECTOR: what very many connections, unfinished bodies and requests that
# hide another one do to a collector and to its other senders.

import contextlib
import resource
import socket
import struct
import sys
import threading
import time
import unittest

import sample_reports
from running import Collector

BINARY = None
IDLE = 5000
UNFINISHED = 400
PIECE = 512 << 10         # bytes that each of these sends of a body twice as long
MEMORY_MIB = 512          # docs/reference/collector-limits.md

HIDDEN = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def upload(headers, body=b"{}", version=b"HTTP/1.1"):
    return (b"POST /api/v1/reports " + version + b"\r\nHost: 127.0.0.1\r\n" + headers +
            b"\r\n" + body + HIDDEN)


# Each head can be read in more than one way, or in none.
IN_DOUBT = {
    "two lengths": upload(b"Content-Length: 2\r\nContent-Length: 46\r\n"),
    "a length twice": upload(b"Content-Length: 2\r\nContent-Length: 2\r\n"),
    "length and chunks": upload(b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
                                b"2\r\n{}\r\n0\r\n\r\n"),
    "chunks twice": upload(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                           b"2\r\n{}\r\n0\r\n\r\n"),
    "not quite chunks": upload(b"Transfer-Encoding: xchunked\r\n",
                               b"2\r\n{}\r\n0\r\n\r\n"),
    "another coding": upload(b"Transfer-Encoding: gzip\r\n"),
    "chunks of 1.0": upload(b"Transfer-Encoding: chunked\r\n", b"2\r\n{}\r\n0\r\n\r\n",
                            b"HTTP/1.0"),
    "a sign": upload(b"Content-Length: +2\r\n"),
    "hexadecimal": upload(b"Content-Length: 0x2\r\n"),
    "a list": upload(b"Content-Length: 2,2\r\n"),
    "no number": upload(b"Content-Length: \r\n"),
    "a space before the colon": upload(b"Content-Length : 2\r\n"),
    "a line that goes on": upload(b"Content-Length: \r\n 2\r\n"),
    "bad chunks": upload(b"Transfer-Encoding: chunked\r\n", b"0x2\r\n{}\r\n0\r\n\r\n"),
    "two hosts": upload(b"Host: elsewhere\r\nContent-Length: 2\r\n"),
}


def read_all(client):
    """What comes until the other side closes."""
    got = b""
    try:
        while piece := client.recv(65536):
            got += piece
    except ConnectionResetError:
        pass
    return got


def idle_connection(collector):
    """A connection whose end is a reset: thousands that were closed in order would each
    keep a port from others for a minute."""
    client = collector.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return client


def memory_mib(pid, what):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        kib = next(line for line in file if line.startswith(what + ":")).split()[1]
    return int(kib) / 1024


def is_sanitized(pid):
    """Whether the program keeps notes of its memory, which take terabytes of addresses."""
    return memory_mib(pid, "VmSize") > 1 << 20


class Crowd(unittest.TestCase):
    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < IDLE + 500:
            self.skipTest(f"at most {hard} descriptors here")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def test_no_request_is_hidden_in_the_body_of_another(self):
        with Collector(BINARY) as collector:
            for name, request in IN_DOUBT.items():
                with self.subTest(name), collector.socket() as client:
                    client.sendall(request)
                    answer = read_all(client)
                    self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer)
                    self.assertNotIn(b'{"status":"ok"}', answer)
            with collector.socket() as client:
                client.sendall(upload(b"Content-Length: 2\r\n").replace(
                    HIDDEN, HIDDEN.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")))
                self.assertIn(b'{"status":"ok"}', read_all(client))

    def test_idle_connections_make_room_for_others(self):
        with Collector(BINARY, tokens=["s3cret"]) as collector:
            idle = []
            try:
                for _ in range(IDLE):
                    idle.append(idle_connection(collector))
                slowest = 0
                for i in range(20):
                    began = time.monotonic()
                    self.assertEqual(collector.request("GET", "/healthz")[0], 200)
                    self.assertEqual(collector.post(sample_reports.raw(i))[0], 201)
                    slowest = max(slowest, time.monotonic() - began)
            finally:
                for client in idle:
                    client.close()
        print(f"beside {IDLE} idle connections: {slowest * 1000:.0f} ms at most", flush=True)
        self.assertLess(slowest, 10)

    def test_a_connection_that_is_used_outlives_idle_ones(self):
        with Collector(BINARY, tokens=["s3cret"]) as collector:
            used = collector.connection()
            used.request("GET", "/api/v1/reports", headers={"Authorization": "Bearer s3cret"})
            used.getresponse().read()
            client = used.sock
            idle = []
            for i in range(IDLE):
                idle.append(idle_connection(collector))
                if i % 200 != 0:
                    continue
                used.request("GET", "/api/v1/starts",
                             headers={"Authorization": "Bearer s3cret"})
                answer = used.getresponse()
                answer.read()
                self.assertEqual(answer.status, 200)
                self.assertIs(used.sock, client)
            used.close()
            for other in idle:
                other.close()

    def begin_bodies(self, collector):
        """Sends half of many bodies; the connections."""
        head = (b"POST /api/v1/reports HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                b"Authorization: Bearer greedy\r\nContent-Length: %d\r\n\r\n")
        clients = [collector.socket() for _ in range(UNFINISHED)]

        def send(mine):
            for client in mine:
                with contextlib.suppress(OSError):  # one that was cut off meanwhile
                    client.sendall(head % (2 * PIECE) + b" " * PIECE)
        threads = [threading.Thread(target=send, args=(clients[i::4],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return clients

    def test_unfinished_bodies_take_no_more_than_the_bound(self):
        with Collector(BINARY, tokens=["s3cret", "greedy"]) as collector:
            clients = self.begin_bodies(collector)
            # Others are served meanwhile, and so are small reports of the same token.
            for i, token in enumerate(("s3cret", "greedy")):
                headers = {"Authorization": "Bearer " + token}
                self.assertEqual(collector.post(sample_reports.raw(i), headers)[0], 201)
            refused = cut_off = 0
            for client in clients:
                answer = b""
                with contextlib.suppress(OSError), client:
                    client.sendall(b" " * PIECE)
                    answer = client.recv(4096)
                if answer.startswith(b"HTTP/1.1 429 "):
                    self.assertIn(b"\r\nRetry-After: ", answer)
                    refused += 1
                elif not answer:
                    # What it sent after the refusal has reset the connection, and the
                    # answer with it.
                    cut_off += 1
            used = memory_mib(collector.process.pid, "VmHWM")
            sanitized = is_sanitized(collector.process.pid)
        print(f"{UNFINISHED} bodies of {2 * PIECE >> 10} KiB: {refused} refused,"
              f" {cut_off} cut off, {used:.0f} MiB", flush=True)
        self.assertGreater(refused, 0)
        self.assertGreater(refused + cut_off, UNFINISHED // 4)
        if not sanitized:
            self.assertLess(used, MEMORY_MIB)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
