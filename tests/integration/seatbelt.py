# SPDX-License-Identifier: Apache-2.0
#
# A room for programs that may start processes without end if the product is broken: a
# control group of processes where the machine has them (version 1 or 2), or else another
# user with a limit of processes. Nothing in it survives it.

import os
import resource
import signal
import tempfile

import harness

NOBODY = 65534
ROOTS = ("/sys/fs/cgroup/pids", "/sys/fs/cgroup")


def find_root():
    """Where control groups of processes can be made, or None."""
    for root in ROOTS:
        try:
            probe = tempfile.mkdtemp(prefix="crashhook-probe.", dir=root)
        except OSError:
            continue
        there = os.path.exists(os.path.join(probe, "pids.max"))
        os.rmdir(probe)
        if there:
            return root
    return None


class Seatbelt:
    """Room for `most` processes and threads; used as a context."""

    root = find_root()

    def __init__(self, most=64):
        self.most = most
        self.group = None

    def __enter__(self):
        if self.root:
            self.group = tempfile.mkdtemp(prefix="crashhook-seatbelt.", dir=self.root)
            self.write("pids.max", self.most)
        return self

    def __exit__(self, *_):
        if self.group:
            self.kill()
            self.await_empty()
            os.rmdir(self.group)

    def write(self, name, value):
        with open(os.path.join(self.group, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def enter(self):
        """To be called in the child, before it becomes the program."""
        if self.group:
            self.write("cgroup.procs", 0)
            return
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        resource.setrlimit(resource.RLIMIT_NPROC, (512, 512))

    def pids(self):
        if not self.group:
            return []
        with open(os.path.join(self.group, "cgroup.procs"), encoding="ascii") as file:
            return [int(line) for line in file]

    def kill(self):
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def await_empty(self, seconds=30):
        """Which processes are left when all should have ended by themselves."""
        while pids := self.pids():
            for pid in pids:
                if not harness.await_end(pid, seconds):
                    return pids
        return []

    def was_full(self):
        """Somebody wanted more processes than there was room for."""
        if not self.group:
            return False
        try:
            with open(os.path.join(self.group, "pids.events"), encoding="ascii") as file:
                return "max 0" not in file.read()
        except OSError:
            return False
