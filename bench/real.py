#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# real.py BUILD [RUNS]: from a signal that ends a real program to the program being gone,
# without the library and with it, in turn, and to its report being complete: SQLite in a
# query, Redis with 100 connections, Python with threads and a Java virtual machine, as
# far as they are installed. Prints a table of medians.

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import crash
import figures

CONNECTIONS = 100
READY_S = 60
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
            yield "Java, 20 threads beside the machine's own", \
                ["java", "-Xmx256m", "-cp", folder, "Waits"], await_line


def complete(spool):
    """The report of the spool if its names are there."""
    for name in os.listdir(spool):
        if name.endswith(".json"):
            with open(os.path.join(spool, name), encoding="utf-8") as file:
                report = json.load(file)
            return report if report["revision"] > 0 else None
    return None


def one_end(build, folder, program, spool):
    """Ms until the program was gone, and until its report was complete; 0: without us."""
    _, command, is_ready = program
    environment = crash.environment(build, spool)
    preload = environment.pop("LD_PRELOAD", None)
    if preload:
        command = ["env", f"LD_PRELOAD={preload}", *command]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, cwd=folder) as process:
        kept = is_ready(process, folder)
        began = time.perf_counter()
        os.kill(process.pid, signal.SIGABRT)
        process.wait()
        gone = time.perf_counter()
        for client in kept:
            client.close()
        if spool == "-":
            return (gone - began) * 1000, 0
        poll("a report", lambda: complete(spool))
        return (gone - began) * 1000, (time.perf_counter() - began) * 1000


def main(build, runs):
    build = os.path.realpath(build)
    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as folder:
        spool = os.path.join(folder, "spool")
        found = list(programs(folder))
        print("| program | without us, gone (ms) | gone (ms) | complete (ms) |")
        print("|---|---|---|---|")
        for program in found:
            none, ours = [], []
            for _ in range(runs):
                none.append(one_end(build, folder, program, "-")[0])
                crash.empty(spool)
                ours.append(one_end(build, folder, program, spool))
            without = statistics.median(none)
            gone = statistics.median(end[0] for end in ours)
            done = statistics.median(end[1] for end in ours)
            print(f"| {program[0]} | {without:.2f} | {gone:.2f} | {done:.1f} |", flush=True)
            figures.record("real programs", f"{program[0]}, gone", gone, "ms", None,
                           {"no reporter": without})
            figures.record("real programs", f"{program[0]}, complete", done, "ms")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 9)
