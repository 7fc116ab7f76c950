#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# node.py BUILD [TURNS [GIB]]: what a crash costs that the kernel hands to the node agent, as
# root. First the time from the fault until the process can be waited for, without a reporter
# and by both forms. Then, for a service with GIB of memory (4; 0: left out), the time from the
# fault until the service that was started again answers: without a reporter, with each kind of
# core that the agent keeps, with systemd-coredump, and with the kernel's own core file. While
# it runs, all crashes of the machine are handed over.

import contextlib
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "tests",
                                "integration"))

import figures

THREADS = ((1, 1), (200, 15), (1000, 60))  # and how many milliseconds they may take
COREDUMP = "/lib/systemd/systemd-coredump"
COREDUMP_PATTERN = f"|{COREDUMP} %P %u %g %s %t 9223372036854775808 %h"

SERVICE = """
import ctypes, mmap, os, socket, sys
path, size = sys.argv[1], int(sys.argv[2]) << 20
memory = mmap.mmap(-1, size or 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
block = os.urandom(1 << 18) + bytes(range(256)) * 3072
for at in range(0, size, len(block)):
    memory[at:at + len(block)] = block
listens = socket.socket(socket.AF_UNIX)
listens.bind(path + ".new")
listens.listen()
os.rename(path + ".new", path)
while True:
    client, _ = listens.accept()
    if client.recv(1) == b"x":
        ctypes.string_at(0)
    client.send(b"y")
"""


def ask(path, word):
    """Waits until the service takes the word; the connection."""
    while True:
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(path)
            client.send(word)
            return client
        except OSError:
            client.close()
            time.sleep(0.001)


def start_service(folder, mib, core_bytes):
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (core_bytes, core_bytes))
    return subprocess.Popen([sys.executable, "-SE", "-c", SERVICE, folder + "/service", str(mib)],
                            cwd=folder, preexec_fn=limit, stderr=subprocess.DEVNULL)


def restart_s(folder, mib, core_bytes):
    """From the fault until the service answers again."""
    path = folder + "/service"
    service = start_service(folder, mib, core_bytes)
    ask(path, b"a").recv(1)
    os.sync()
    began = time.monotonic()
    ask(path, b"x")
    service.wait()
    os.unlink(path)
    service = start_service(folder, 0, 0)
    ask(path, b"a").recv(1)
    took = time.monotonic() - began
    service.kill()
    service.wait()
    os.unlink(path)
    return took


@contextlib.contextmanager
def coredump_service():
    """What systemd does for systemd-coredump: a process of it for each connection."""
    os.makedirs("/run/systemd", exist_ok=True)
    path = "/run/systemd/coredump"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listens = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listens.bind(path)
    listens.listen(16)

    def serve():
        while True:
            try:
                client, _ = listens.accept()
            except OSError:
                return
            subprocess.run(["/bin/sh", "-c", f"exec 3<&{client.fileno()}\n"
                            f"LISTEN_PID=$$ LISTEN_FDS=1 exec {COREDUMP}"],
                           pass_fds=[client.fileno()], check=False)
            client.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listens.shutdown(socket.SHUT_RDWR)
        listens.close()
        os.unlink(path)


class Bench:
    def __init__(self, build, turns):
        import core_handler
        import harness
        self.handler = core_handler
        self.build, self.turns = build, turns
        self.scene = harness.Scene()

    @contextlib.contextmanager
    def form(self, name, *options):
        """Crashes are handed to the agent by a pipe or a socket, or to nobody."""
        write = self.handler.write
        with self.handler.kept_settings():
            write("core_pipe_limit", "16")
            if name == "pipe":
                words = " ".join([f"--spool={self.scene.spool}", *options])
                write("core_pattern", f"|{self.handler.COMMAND} node --pipe %P {words}")
                yield
            elif name == "socket":
                with self.handler.Node(self.scene, *options) as node:
                    write("core_pattern", "@@" + node.path)
                    yield
            else:
                write("core_pattern", name)
                yield

    def gone_ms(self, threads):
        done = subprocess.run(
            [os.path.join(self.build, "bench", "crash_timer"), "-",
             os.path.join(self.build, "bench", "crash_target"), str(threads), "8", "1"],
            check=True, stdout=subprocess.PIPE, text=True, cwd=self.scene.folder)
        return json.loads(done.stdout)["gone_us"] / 1000

    def hold_table(self):
        print("| threads | no reporter | pipe | socket | at most |\n|---|---|---|---|---|")
        found = {}
        for form in ("core", "pipe", "socket"):
            with self.form(form, "--per-minute=60000"):
                for threads, _ in THREADS:
                    times = []
                    for _ in range(self.turns):
                        times.append(self.gone_ms(threads))
                        time.sleep(0.5)  # names are added after that
                    found[form, threads] = statistics.median(times)
        for threads, most in THREADS:
            none, pipe, by_socket = (found[form, threads] for form in ("core", "pipe", "socket"))
            print(f"| {threads} | {none:.2f} ms | {pipe:.2f} ms | {by_socket:.2f} ms | {most} ms |")
            for form, value in (("pipe", pipe), ("socket", by_socket)):
                figures.record("node agent", f"{threads} threads, by a {form}: gone", value, "ms",
                               ("<=", most), {"no reporter": none})

    def restart_table(self, gib):
        rows = [("no reporter", "core", (), 0), ("node agent", "pipe", (), 0),
                ("small core", "pipe", ("--core=small",), 0),
                ("the kernel's file", "core", (), resource.RLIM_INFINITY)]
        if figures.installed("zstd", "a full core"):
            rows.append(("full core", "pipe", ("--core=full", "--core-max=32768"), 0))
        if os.path.exists(COREDUMP):
            rows.append(("systemd-coredump", COREDUMP_PATTERN, (), resource.RLIM_INFINITY))
        print(f"\n| {gib} GiB, a crash until the next answer | |\n|---|---|")
        for name, form, options, core_bytes in rows:
            service = coredump_service() if form == COREDUMP_PATTERN else contextlib.nullcontext()
            with self.form(form, *options), service:
                took = restart_s(self.scene.folder, gib << 10, core_bytes)
            print(f"| {name} | {took:.2f} s |", flush=True)
            figures.record("node agent", f"{gib} GiB, {name}: restarted", took, "s")
            for place in (self.scene.spool, self.scene.folder, "/var/lib/systemd/coredump"):
                for file in os.listdir(place) if os.path.isdir(place) else ():
                    if file.startswith("core") or ".core" in file:
                        os.unlink(os.path.join(place, file))


def main():
    os.environ.setdefault("CRASHHOOK_BUILD", os.path.realpath(sys.argv[1]))
    bench = Bench(os.path.realpath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 15)
    gib = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    with bench.scene:
        os.chmod(bench.scene.folder, 0o755)
        bench.scene.preload = None
        bench.hold_table()
        if gib:
            bench.restart_table(gib)


if __name__ == "__main__":
    main()
