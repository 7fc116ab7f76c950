# SPDX-License-Identifier: Apache-2.0
#
# An HTTP and a SOCKS5 proxy, each a listening socket and a thread a connection. They
# count what went through them and may ask for a password.

import base64
import socket
import threading
from urllib.parse import urlsplit

from listener import Listener


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def join(one, other):
    with other:
        back = threading.Thread(target=pump, args=(one, other), daemon=True)
        back.start()
        pump(other, one)
        back.join()


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise OSError("it hung up")
        data += more
    return data


class Proxy(Listener):
    def __init__(self, password=None):
        self.password = password
        self.passed = []  # where connections went
        self.heads = []  # what an HTTP proxy was told
        self.address = f"127.0.0.1:{self.listen()}"

    def _serve(self, connection):
        try:
            self.serve(connection)
        except OSError:
            pass
        connection.close()

    def connect(self, host, port):
        self.passed.append(f"{host}:{port}")
        return socket.create_connection((host, port))


class HttpProxy(Proxy):
    def serve(self, connection):
        head = b""
        while b"\r\n\r\n" not in head:
            more = connection.recv(65536)
            if not more:
                return
            head += more
        self.heads.append(head.partition(b"\r\n\r\n")[0])
        wanted = b"Basic " + base64.b64encode((self.password or "").encode())
        if self.password and wanted not in head:
            connection.sendall(b"HTTP/1.1 407 who?\r\nProxy-Authenticate: Basic realm=x\r\n"
                               b"Content-Length: 0\r\nConnection: close\r\n\r\n")
            return
        method, where, _ = head.split(b" ", 2)
        if method == b"CONNECT":
            host, _, port = where.decode().partition(":")
            upstream = self.connect(host, int(port))
            connection.sendall(b"HTTP/1.1 200 go on\r\n\r\n")
        else:
            url = urlsplit(where.decode())
            upstream = self.connect(url.hostname, url.port)
            upstream.sendall(head.replace(where, url.path.encode(), 1))
        join(connection, upstream)


class Socks5Proxy(Proxy):
    def serve(self, connection):
        _, count = read_exactly(connection, 2)
        methods = read_exactly(connection, count)
        wanted = 2 if self.password else 0
        if wanted not in methods:
            connection.sendall(b"\x05\xff")
            return
        connection.sendall(bytes([5, wanted]))
        if self.password and not self._login(connection):
            return
        _, _, _, kind = read_exactly(connection, 4)
        if kind == 1:
            host = socket.inet_ntoa(read_exactly(connection, 4))
        else:
            host = read_exactly(connection, read_exactly(connection, 1)[0]).decode()
        port = int.from_bytes(read_exactly(connection, 2), "big")
        upstream = self.connect(host, port)
        connection.sendall(b"\x05\0\0\x01\0\0\0\0\0\0")
        join(connection, upstream)

    def _login(self, connection):
        read_exactly(connection, 1)
        name = read_exactly(connection, read_exactly(connection, 1)[0]).decode()
        word = read_exactly(connection, read_exactly(connection, 1)[0]).decode()
        right = f"{name}:{word}" == self.password
        connection.sendall(b"\x01\x00" if right else b"\x01\x01")
        return right
