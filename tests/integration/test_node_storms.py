# SPDX-License-Identifier: Apache-2.0
#
# crashhook node under many crashes at a time, while its parts are stopped, killed and crash:
# no process is held for longer than the deadline, and no user delays the reports of another.
# A supervisor stands for systemd: it keeps the socket, starts the agent again, and kills all
# of it if its watchdog is not fed.

import contextlib
import os
import random
import select
import signal
import socket
import subprocess
import threading
import time
import unittest

import core_handler
import harness
from core_handler import MARK, WORKER, become, kernel_version, ledger
from harness import SEED, Scene, program, wait_for

RATE, SECONDS = 200, 20
DEADLINE_S = 2
WATCHDOG_S = 5  # as in crashhook-node.service
MEMORY = "/sys/fs/cgroup/memory"
MEMORY_MAX = 2 << 30


def descendants(pid):
    """The process's children, and theirs."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            found = [int(word) for word in file.read().split()]
    except OSError:
        return []
    return found + [deeper for child in found for deeper in descendants(child)]


def send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def processes_of(group):
    with open(group + "/cgroup.procs", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


@contextlib.contextmanager
def limited_group():
    """A memory control group; None where there are none of version 1."""
    group = os.path.join(MEMORY, f"crashhook-storm-{os.getpid()}")
    try:
        os.mkdir(group)
        with open(group + "/memory.limit_in_bytes", "w", encoding="ascii") as file:
            file.write(str(MEMORY_MAX))
    except OSError:
        yield None
        return
    try:
        yield group
        with open(group + "/memory.max_usage_in_bytes", encoding="ascii") as file:
            print(f"at most {int(file.read()) >> 20} MiB of memory")
    finally:
        with contextlib.suppress(AssertionError, OSError):
            wait_for(lambda: not processes_of(group), 10)
            os.rmdir(group)


class Supervised:
    """The service, in a thread that does what systemd does for it."""

    def __init__(self, scene, group, *options):
        self.path = os.path.join(scene.folder, "crashhook-node")
        self.listens = socket.socket(socket.AF_UNIX)
        self.listens.bind(self.path)
        self.listens.listen(4096)
        self.told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.told.bind(os.path.join(scene.folder, "told"))
        self.command = [harness.CRASHHOOK, "node", "--listen", "/not/used", "--spool",
                        scene.spool, *options]
        self.environment = {**scene.environment({}), "LISTEN_FDS": "1",
                            "NOTIFY_SOCKET": self.told.getsockname()}
        self.group = group
        self.starts = 0
        self.ends = False
        self.start()
        self.thread = threading.Thread(target=self.supervise)
        self.thread.start()

    def start(self):
        self.starts += 1
        enter = f"echo $$ >{self.group}/cgroup.procs\n" if self.group else ""
        script = (f"{enter}exec 3<&{self.listens.fileno()}\n"
                  'LISTEN_PID=$$ exec "$@"')
        self.process = subprocess.Popen(["/bin/bash", "-c", script, "bash", *self.command],
                                        pass_fds=[self.listens.fileno()], env=self.environment)
        self.fed = time.monotonic()

    def stop_all(self):
        """As systemd: all processes of the service."""
        pids = [self.process.pid, *descendants(self.process.pid)]
        if self.group:
            pids += processes_of(self.group)
        for pid in pids:
            send(pid, signal.SIGKILL)
        self.process.wait()

    def supervise(self):
        while not self.ends:
            if select.select([self.told], [], [], 0.1)[0]:
                self.told.recv(64)
                self.fed = time.monotonic()
            if self.process.poll() is None and time.monotonic() - self.fed < WATCHDOG_S:
                continue
            self.stop_all()
            time.sleep(0.1)
            self.start()

    def close(self):
        self.ends = True
        self.thread.join()
        self.stop_all()
        self.listens.close()
        self.told.close()


@unittest.skipUnless(core_handler.OWN_KERNEL and kernel_version() >= (6, 17),
                     "changes settings of the whole machine")
class Storms(core_handler.Kernel):
    @contextlib.contextmanager
    def supervised(self, scene, *options):
        """The kernel hands all crashes to the service."""
        os.chmod(scene.folder, 0o755)
        scene.preload = None
        scene.variables["CRASHHOOK_TEST_MARK"] = MARK
        with core_handler.kept_settings(), limited_group() as group:
            node = Supervised(scene, group, *options)
            core_handler.write("core_pattern", "@@" + node.path)
            try:
                yield node
            finally:
                core_handler.write("core_pattern", "core")
                node.close()

    def loop(self, scene, user, rate, seconds):
        return subprocess.Popen(
            [scene.copy(program("crash_loop")), str(rate), str(seconds)], preexec_fn=become(user), text=True,
            cwd="/", env={**scene.environment({}), "CRASHHOOK_SPOOL": ""}, stdout=subprocess.PIPE)

    def disturb(self, node, chosen, until):
        """Stops, kills and crashes parts of the service. Returns how often."""
        count = 0
        while time.monotonic() < until:
            time.sleep(0.25)
            top = node.process.pid
            below = descendants(top)  # the acceptor, its workers, and what these start
            part = chosen.choice([[top], below[:1], below[1:], below[1:]])
            if part:
                send(chosen.choice(part), chosen.choice([signal.SIGSTOP, signal.SIGKILL,
                                                         signal.SIGSEGV]))
                count += 1
        return count

    def test_no_part_that_fails_holds_a_process_for_longer_than_the_deadline(self):
        chosen = random.Random(SEED)
        with Scene() as scene, self.supervised(scene, f"--deadline={DEADLINE_S}",
                                               "--per-minute=60000") as node:
            loop = self.loop(scene, WORKER, RATE, SECONDS)
            done = self.disturb(node, chosen, time.monotonic() + SECONDS)
            out, _ = loop.communicate(timeout=120)
            count, refused, slowest_ms = (int(word) for word in out.split())
            print(f"seed {SEED}: {count} crashes, {done} parts stopped, killed or crashed, "
                  f"{node.starts} starts; the slowest ended after {slowest_ms} ms; "
                  f"{len(scene.report_paths())} reports, {len(ledger(scene))} lines")
            self.assertEqual((count, refused), (RATE * SECONDS, 0))
            self.assertGreaterEqual(slowest_ms, 0, "one is still held")
            # If supervisor and acceptor are stopped at once, the watchdog ends them.
            self.assertLess(slowest_ms, 1000 * (WATCHDOG_S + DEADLINE_S + 3))

    def test_a_loop_of_crashes_does_not_delay_the_report_of_another_user(self):
        with Scene() as scene, self.supervised(scene) as node:
            copy = scene.copy(program("core_threads_pie"))

            def report_s():
                began = time.monotonic()
                pid = self.crash(scene, [copy, "3"], preexec_fn=become(WORKER + 1))
                self.assertIn("report", self.death(scene, pid))
                return time.monotonic() - began

            report_s()
            alone = max(report_s() for _ in range(3))
            loop = self.loop(scene, WORKER, 1000, 15)
            time.sleep(1)
            beside = [report_s() for _ in range(6)]
            out, _ = loop.communicate(timeout=120)
            count, refused, slowest_ms = (int(word) for word in out.split())
            print(f"{count} crashes of a user at 1,000 a second, {refused} could not start, the "
                  f"slowest ended after {slowest_ms} ms; another's report took {max(beside):.2f} s, "
                  f"alone {alone:.2f} s; {node.starts} starts")
            self.assertLess(max(beside) - alone, 2)


if __name__ == "__main__":
    harness.main()
