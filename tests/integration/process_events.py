# SPDX-License-Identifier: Apache-2.0
#
# Which process starts which, as the kernel tells it (its process events connector): what
# a crash starts is counted without asking the crashed program, and without tracing it,
# which would change what is counted. Needs root, and the machine's own namespaces.

import collections
import os
import socket
import struct
import threading

CONNECTOR = 11  # NETLINK_CONNECTOR
PROCESSES = (1, 1)  # CN_IDX_PROC, CN_VAL_PROC
LISTEN, FORK, EXEC = 1, 1, 2
RCVBUFFORCE = 33
HEAD = struct.Struct("=IHHII")  # struct nlmsghdr
MESSAGE = struct.Struct("=IIIIHH")  # struct cn_msg
EVENT = struct.Struct("=IIQ")  # of struct proc_event: what, processor, time


class ProcessEvents:
    """Listens from its making on. ok is False where the kernel does not tell."""

    def __init__(self):
        self.parents = {}
        # By maker: each child, when it was made, and whether its maker had executed
        # something by then.
        self.children = collections.defaultdict(list)
        self.executed = set()
        self.lock = threading.Condition()
        self.ok = False
        try:
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, CONNECTOR)
            self.socket.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, 16 << 20)
            self.socket.bind((0, PROCESSES[0]))
            body = MESSAGE.pack(*PROCESSES, 0, 0, 4, 0) + struct.pack("=I", LISTEN)
            self.socket.send(HEAD.pack(HEAD.size + len(body), 3, 0, 0, os.getpid()) + body)
        except OSError:
            return
        threading.Thread(target=self.listen, daemon=True).start()
        self.ok = self.hears_itself()

    def hears_itself(self):
        """A process of our own is heard of, in time."""
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        return self.wait_for(pid)

    def wait_for(self, pid, seconds=5):
        """All that happened before pid was made has been heard."""
        with self.lock:
            return self.lock.wait_for(lambda: pid in self.parents, seconds)

    def listen(self):
        while True:
            try:
                data = self.socket.recv(65536)
            except OSError:
                self.ok = False  # events were lost
                continue
            at = HEAD.size + MESSAGE.size
            if len(data) < at + EVENT.size + 16:
                continue
            what, _, when = EVENT.unpack_from(data, at)
            group, child, child_group = struct.unpack_from("=4xIII", data, at + EVENT.size)
            with self.lock:
                if what == FORK and child == child_group:
                    self.parents[child] = group
                    self.children.pop(child, None)  # of an earlier process
                    self.lock.notify_all()
                    self.children[group].append((child, when, group in self.executed))
                    self.executed.discard(child)
                elif what == EXEC:
                    self.executed.add(group)

    def started_by(self, program, since_ns):
        """How many processes program and those it made have made since, until each
        became another program."""
        if not self.ok or not self.hears_itself():
            return None
        with self.lock:
            return self.count(program, since_ns, True)

    def count(self, maker, since_ns, is_program):
        made = [child for child, when, executed in self.children.get(maker, [])
                if when >= since_ns and (is_program or not executed)]
        return len(made) + sum(self.count(child, since_ns, False) for child in made)
