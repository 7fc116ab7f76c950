#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# idle.py BUILD [ROUNDS]: what the library costs a program that does not crash: its start,
# a thread, a fork, memory of its own and mappings, without the library and with it
# preloaded, in turn. The least of the rounds, because other work only adds; prints the table
# of docs/costs.md.

import os
import subprocess
import sys
import tempfile
import time

STARTS = 20
FORKS = """
import os, time
began = time.perf_counter()
for _ in range(50):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
print((time.perf_counter() - began) / 50 * 1e6)
"""


def start_us(environment):
    began = time.perf_counter()
    for _ in range(STARTS):
        os.waitpid(os.posix_spawn("/bin/true", ["true"], environment), 0)
    return (time.perf_counter() - began) / STARTS * 1e6


def thread_us(build, environment):
    done = subprocess.run([os.path.join(build, "bench", "thread_cost"), "2000"], check=True,
                          env=environment, stdout=subprocess.PIPE)
    return float(done.stdout)


def fork_us(environment):
    done = subprocess.run(["/usr/bin/python3", "-S", "-c", FORKS], check=True, env=environment,
                          stdout=subprocess.PIPE)
    return float(done.stdout)


def resident(environment):
    """Private memory in KiB and the number of mappings of a program that waits."""
    process = subprocess.Popen(["/bin/cat"], env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    process.stdin.write(b"x")
    process.stdin.flush()
    process.stdout.read(1)
    with open(f"/proc/{process.pid}/smaps", encoding="ascii", errors="replace") as file:
        lines = file.readlines()
    process.communicate()
    private = sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
    return private, sum(line.startswith("VmFlags") for line in lines)


def main(build, rounds):
    with tempfile.TemporaryDirectory() as spool:
        plain = {"PATH": "/usr/bin:/bin", "HOME": spool}
        ours = {**plain, "LD_PRELOAD": os.path.join(build, "lib", "libcrashhook.so"),
                "CRASHHOOK_SPOOL": spool}
        rows = [("start of a program, µs", start_us), ("thread, started and joined, µs",
                                                       lambda e: thread_us(build, e)),
                ("fork and wait, µs", fork_us), ("private memory, KiB", lambda e: resident(e)[0]),
                ("mappings", lambda e: resident(e)[1])]
        print("| | without | with | more |\n| --- | --- | --- | --- |")
        for name, measure in rows:
            pairs = [(measure(plain), measure(ours)) for _ in range(rounds)]
            without, with_us = (min(column) for column in zip(*pairs))
            print(f"| {name} | {without:.0f} | {with_us:.0f} | {with_us - without:.0f} |",
                  flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 15)
