# SPDX-License-Identifier: Apache-2.0
#
# A file system with files that a test chooses, served over /dev/fuse by a child process,
# which can be stopped: then nobody who asks it anything gets an answer. Needs root.

import contextlib
import ctypes
import errno
import os
import signal
import stat
import struct
import subprocess
import unittest

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 14, 15, 17, 18
FLUSH, INIT, INTERRUPT, BATCH_FORGET = 25, 26, 36, 42
ROOT = 1
FOREVER = 1 << 30  # seconds for which the kernel may remember an answer
PAGE = 4096


class Server:
    """Answers the requests that libfuse's fuse_kernel.h describes, for version 7.31."""

    def __init__(self, fd, files):
        self.fd = fd
        self.files = dict(enumerate(files.items(), ROOT + 1))

    def attributes(self, node):
        folder = node == ROOT
        size = 0 if folder else len(self.files[node][1])
        mode = stat.S_IFDIR | 0o755 if folder else stat.S_IFREG | 0o755
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, size // 512 + 1, 0, 0, 0, 0, 0, 0,
                           mode, 1, 0, 0, 0, PAGE, 0)

    def answer(self, code, node, body):
        if code == INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, PAGE, 0, 1, 1, PAGE, 1, 1, 0, 0)
        if code == LOOKUP:
            name = body.rstrip(b"\0").decode()
            for number, (known, _) in self.files.items():
                if known == name:
                    return struct.pack("<QQQQII", number, 0, FOREVER, FOREVER, 0,
                                       0) + self.attributes(number)
            return -errno.ENOENT
        if code == GETATTR:
            return struct.pack("<QII", FOREVER, 0, 0) + self.attributes(node)
        if code == OPEN:
            return struct.pack("<QII", 0, 0, 0)
        if code == READ:
            offset, size = struct.unpack_from("<8xQI", body)
            return self.files[node][1][offset:offset + size]
        if code == STATFS:
            return struct.pack("<QQQQQIII28x", 0, 0, 0, 0, 0, PAGE, 255, PAGE)
        return b"" if code in (FLUSH, RELEASE) else -errno.ENOSYS

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 20)
            except OSError as error:
                if error.errno == errno.ENODEV:  # unmounted
                    return
                continue
            _, code, unique, node = struct.unpack_from("<IIQQ", request)
            if code in (FORGET, INTERRUPT, BATCH_FORGET):
                continue
            answer = self.answer(code, node, request[40:])
            failed = answer if isinstance(answer, int) else 0
            body = b"" if failed else answer
            os.write(self.fd, struct.pack("<IiQ", 16 + len(body), failed, unique) + body)


def mount(place):
    """Makes the folder and mounts there; gives the server's descriptor."""
    os.mkdir(place)
    try:
        fd = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        raise unittest.SkipTest(f"/dev/fuse: {error.strerror}") from error
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(b"files", place.encode(), b"fuse", 0, options.encode()) != 0:
        os.close(fd)
        raise unittest.SkipTest(f"mount: {os.strerror(ctypes.get_errno())}")
    return fd


@contextlib.contextmanager
def silent_folder(place):
    """A mount whose server never answers."""
    fd = mount(place)
    try:
        yield
    finally:
        os.close(fd)  # whoever waits for an answer gets an error
        subprocess.run(["umount", "-l", place], check=False)


class FuseFolder:
    """The mount; files maps names to bytes."""

    def __init__(self, place, files):
        self.place = place
        fd = mount(place)
        self.server = os.fork()
        if self.server == 0:
            try:
                Server(fd, files).serve()
            finally:
                os._exit(0)
        os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # With the server its descriptor goes, and whoever waits gets an error.
        os.kill(self.server, signal.SIGKILL)
        os.waitpid(self.server, 0)
        subprocess.run(["umount", "-l", self.place], check=False)

    def stop(self):
        os.kill(self.server, signal.SIGSTOP)
        os.waitpid(self.server, os.WUNTRACED)
