#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# real.py BUILD [RUNS]: from a signal that ends a real program to the program being gone,
# without the library and with it, in turn, and to its report being complete, with symbol
# caches and at the first crash, with the agent's peak memory: SQLite in a query, Redis with
# 100 connections, Python with threads and a Java virtual machine, as far as they are
# installed; of Java with its debug data if that is (openjdk-17-dbg). Prints a table of
# medians.

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import crash
import figures
import names

CONNECTIONS = 100
READY_S = 60
PR_SET_CHILD_SUBREAPER = 36
IN_MOVED_TO = 0x80
LIBC = ctypes.CDLL(None)
# The program that has targets: Debian's debug data of it has 364 MB once decompressed.
WITH_DATA = "Java, 20 threads beside the machine's own, with its debug data"
TARGETS = {"gone": 4, "complete": 25, "complete, first crash": 400, "agent": 60,
           "agent, first crash": 150}
QUERY = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) "
         "SELECT count(*) FROM c WHERE x % 7 = 3;")
PYTHON = """
import threading, time
def down(depth):
    if depth:
        return down(depth - 1)
    arrived.release()
    time.sleep(1000)
arrived = threading.Semaphore(0)
for _ in range(20):
    threading.Thread(target=down, args=(30,), daemon=True).start()
for _ in range(20):
    arrived.acquire()
print("ready", flush=True)
down(30)
"""
JAVA = """
public class Waits {
    static int down(int depth) throws Exception {
        if (depth != 0)
            return down(depth - 1) + 1;
        Thread.sleep(1000000);
        return 0;
    }
    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 20; i++) {
            Thread thread = new Thread(() -> { try { down(30); } catch (Exception e) { } });
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        down(30);
    }
}
"""


def poll(what, condition):
    """What condition gives once that is true."""
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.002)
    return sys.exit(f"real.py: {what} took more than {READY_S} s")


def processor_ms(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return int(file.read().rpartition(")")[2].split()[11]) * 1000 / os.sysconf("SC_CLK_TCK")


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    try:
        client.connect(path)
    except OSError:
        client.close()
        return None
    client.sendall(b"PING\r\n")
    return client if client.recv(16) == b"+PONG\r\n" else None


def await_line(process, _folder):
    process.stdout.readline()
    return []


def await_query(process, _folder):
    poll("a query", lambda: processor_ms(process.pid) > 100)
    return []


def await_clients(_process, folder):
    path = os.path.join(folder, "socket")
    return [poll("Redis", lambda: connect(path)) for _ in range(CONNECTIONS)]


def java_name():
    """What the row of Java is called; the targets are of one with debug data."""
    machine = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(
        shutil.which("java")))), "lib", "server", "libjvm.so")
    with_data = names.debug_file("", machine) is not None
    return WITH_DATA if with_data else f"{WITH_DATA}, which is not there"


def programs(folder):
    """(name, command, function that waits until it is at work and gives what to keep)."""
    if figures.installed("sqlite3", "SQLite"):
        yield "SQLite in a query", ["sqlite3", ":memory:", QUERY], await_query
    if figures.installed("redis-server", "Redis"):
        yield (f"Redis, {CONNECTIONS} connections",
               ["redis-server", "--port", "0", "--unixsocket", os.path.join(folder, "socket"),
                "--save", "", "--crash-log-enabled", "no", "--dir", folder], await_clients)
    yield "Python, 21 threads", ["/usr/bin/python3", "-c", PYTHON], await_line
    if figures.installed("javac", "Java"):
        with open(os.path.join(folder, "Waits.java"), "w", encoding="ascii") as file:
            file.write(JAVA)
        if subprocess.run(["javac", "-d", folder, os.path.join(folder, "Waits.java")],
                          check=False).returncode == 0:
            yield java_name(), ["java", "-Xmx256m", "-cp", folder, "Waits"], await_line


def watch_renames(folder):
    """An inotify descriptor for files that are renamed into the folder, as complete
    reports are. Looking for them again and again slows down what makes them."""
    watch = LIBC.inotify_init1(os.O_CLOEXEC)
    if watch < 0 or LIBC.inotify_add_watch(watch, folder.encode(), IN_MOVED_TO) < 0:
        sys.exit(f"real.py: cannot watch {folder}")
    return watch


def is_complete(spool):
    """Whether the spool has a report with its names."""
    for name in os.listdir(spool):
        if name.endswith(".json"):
            with open(os.path.join(spool, name), encoding="utf-8") as file:
                return json.load(file)["revision"] > 0
    return False


def await_complete(watch, spool):
    """The time at which the report with names was there."""
    while select.select([watch], [], [], READY_S)[0]:
        now = time.perf_counter()
        os.read(watch, 4096)
        if is_complete(spool):
            return now
    return sys.exit(f"real.py: a report took more than {READY_S} s")


def one_end(build, folder, program, spool, **variables):
    """Ms until the program was gone, and until its report was complete; 0: without us.
    What goes on afterwards, the writing of caches, has ended when it returns."""
    _, command, is_ready = program
    environment = crash.environment(build, spool, **variables)
    preload = environment.pop("LD_PRELOAD", None)
    if preload:
        command = ["env", f"LD_PRELOAD={preload}", *command]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, cwd=folder) as process:
        kept = is_ready(process, folder)
        watch = watch_renames(spool) if spool != "-" else -1
        began = time.perf_counter()
        os.kill(process.pid, signal.SIGABRT)
        process.wait()
        gone = time.perf_counter()
        for client in kept:
            client.close()
        if spool == "-":
            return (gone - began) * 1000, 0
        ended = ((gone - began) * 1000, (await_complete(watch, spool) - began) * 1000)
        os.close(watch)
    reap()
    return ended


def reap():
    """Waits for all that has become our child because its parent died."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def one_peak(build, folder, program, **variables):
    """The agent's peak memory in MB."""
    wrapper, peak = crash.wrapped_agent(build, folder, False)
    one_end(build, folder, program, crash.new_spool(folder), CRASHHOOK_AGENT=wrapper,
            **variables)
    return crash.used(peak)[0]


def measure(build, folder, program, runs):
    """Medians in ms: gone without us and with us, complete, complete at the first crash;
    and the agent's peak MB with caches and at the first crash."""
    none, ours = [], []

    def first(caches):
        return one_end(build, folder, program, crash.new_spool(folder),
                       XDG_CACHE_HOME=caches)[1]

    def first_peak(caches):
        return one_peak(build, folder, program, XDG_CACHE_HOME=caches)

    for _ in range(runs):
        none.append(one_end(build, folder, program, "-")[0])
        ours.append(one_end(build, folder, program, crash.new_spool(folder)))
    gone, done = zip(*ours)
    return {"none": statistics.median(none), "gone": statistics.median(gone),
            "complete": statistics.median(done),
            "complete, first crash": statistics.median(crash.first_crashes(folder, first)),
            "agent": one_peak(build, folder, program),
            "agent, first crash": max(crash.first_crashes(folder, first_peak))}


def main(build, runs):
    build = os.path.realpath(build)
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as folder:
        print("| program | without us, gone (ms) | gone (ms) | complete (ms) "
              "| first crash (ms) | agent (MB) | first crash (MB) |")
        print("|---|---|---|---|---|---|---|")
        for program in programs(folder):
            m = measure(build, folder, program, runs)
            print(f"| {program[0]} | {m['none']:.2f} | {m['gone']:.2f} | "
                  f"{m['complete']:.1f} | {m['complete, first crash']:.0f} | "
                  f"{m['agent']:.1f} | {m['agent, first crash']:.1f} |", flush=True)
            targets = TARGETS if program[0] == WITH_DATA else {}
            for what in list(m)[1:]:
                figures.record("real programs", f"{program[0]}, {what}", m[what],
                               "MB" if what.startswith("agent") else "ms",
                               ("<=", targets[what]) if what in targets else None,
                               {"no reporter": m["none"]} if what == "gone" else {})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 9)
