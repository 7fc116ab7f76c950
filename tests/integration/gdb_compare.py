# SPDX-License-Identifier: Apache-2.0
#
# gdb_compare [SEED]: programs of Debian that nobody here wrote are crashed while they
# work, by a bug or by a signal to one of their threads at a random moment. Our report
# and the core file come from the same stopped process: every thread's frames in our
# report must be those that gdb finds in the core, address by address, to the outermost.
#
# A difference counts as known only if gdb_differences.txt lists it, exactly. Prints how
# many cases, threads and frames were compared, and fails below what is stated here.

import contextlib
import ctypes
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness
from harness import Scene, physical_frames

ROUNDS = 20 if harness.FULL else 3
# The fewest threads and frames that a round of all programs compares.
THREADS_PER_ROUND = 20
FRAMES_PER_ROUND = 100

SIGNALS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT,
           signal.SIGTRAP, signal.SIGSYS)
# zstd catches the first five itself, to print a backtrace of its own.
OWN_SIGNALS = {"zstd-T4": SIGNALS[5:]}

QUERY = ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
         "SELECT count(DISTINCT x % 9973), group_concat(x % 7) FROM n LIMIT 5")

# name, command, how many threads it has while it works, whether it crashes by itself
PROGRAMS = [
    ("sqlite3", ["/usr/bin/sqlite3", ":memory:", QUERY], 1, False),
    ("python3-null", ["/usr/bin/python3", "-c", "import ctypes; ctypes.string_at(0)"],
     1, True),
    ("python3-sort", ["/usr/bin/python3", "-c",
                      "import random\nwhile True:\n"
                      " sorted(map(lambda x: -x, range(100000)), key=lambda x: x % 77)"],
     1, False),
    ("xz", ["/usr/bin/xz", "-9", "-c", "NOISE"], 1, False),
    ("gzip", ["/usr/bin/gzip", "-9", "-c", "NOISE"], 1, False),
    ("pigz", ["/usr/bin/pigz", "-9", "-p", "4", "-c", "NOISE"], 5, False),
    ("xz-T4", ["/usr/bin/xz", "-6", "-T4", "--block-size=1MiB", "-c", "NOISE"], 5, False),
    ("zstd-T4", ["/usr/bin/zstd", "-q", "-19", "-T4", "-c", "NOISE"], 5, False),
]


# From this version on, xz lets Landlock refuse itself every exec and every new file: it can
# start no agent, and the kernel writes no core of it.
XZ_CONFINED = (5, 6)


def programs():
    said = subprocess.run(["xz", "--version"], stdout=subprocess.PIPE, text=True, check=True)
    version = tuple(int(part) for part in re.search(r"(\d+)\.(\d+)", said.stdout).groups())
    if version < XZ_CONFINED:
        return PROGRAMS
    print("skipped: xz: it confines itself, and leaves no core")
    return [entry for entry in PROGRAMS if not entry[0].startswith("xz")]


class Differences:
    """The known differences of gdb_differences.txt, and which of them were seen."""

    def __init__(self):
        path = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                            "gdb_differences.txt")
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file if line.strip() and not line.startswith("#")]
        self.known = {tuple(part.strip() for part in line.split("|")[:4]) for line in lines}
        self.seen = set()

    def is_known(self, key):
        if key in self.known:
            self.seen.add(key)
        return key in self.known


def write_noise(folder):
    """A file that takes the compressors many seconds; its path."""
    letters = bytes(b"etaoin shrdlu\n.,"[i % 16] for i in range(256))
    path = os.path.join(folder, "noise")
    noise = random.Random(7)  # one, or zstd would find the same megabyte again
    with open(path, "wb") as file:
        for _ in range(64):
            file.write(noise.randbytes(1 << 20).translate(letters))
    return path


def wait_until_at_work(process, threads):
    """Waits until the program has its threads and has used some processor time."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        tids = os.listdir(f"/proc/{process.pid}/task")
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
            ticks = int(file.read().rsplit(")", 1)[1].split()[11])
        if len(tids) >= threads and ticks >= 2:
            return
        time.sleep(0.002)
    raise AssertionError(f"{process.args[0]} did not get to work")


def heeds(pid, tid, number):
    """Whether the thread is there and does not block the signal; xz's workers block all of
    them, and the one that reads zstd's input ends with it."""
    try:
        with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8") as file:
            blocked = next(line for line in file if line.startswith("SigBlk:"))
    except (FileNotFoundError, ProcessLookupError):
        return False
    return not int(blocked.split()[1], 16) >> (number - 1) & 1


def send(pid, tid, number):
    """A signal to one thread; the C library has no name for this call here."""
    tgkill = 234
    if ctypes.CDLL(None, use_errno=True).syscall(tgkill, pid, tid, number) != 0:
        raise OSError(ctypes.get_errno(), "tgkill")


def send_to_any(process, number, chance):
    """A signal to one of the threads that heed it; one may end before it is sent."""
    while process.poll() is None:
        tids = sorted(map(int, os.listdir(f"/proc/{process.pid}/task")))
        heeding = [tid for tid in tids if heeds(process.pid, tid, number)]
        with contextlib.suppress(ProcessLookupError):
            send(process.pid, chance.choice(heeding), number)
            return


def crash(scene, entry, noise, chance):
    """Crashes one program; its report and core file."""
    name, command, threads, by_itself = entry
    command = [noise if word == "NOISE" else word for word in command]
    process = scene.start(command, core=True, CRASHHOOK_LIMIT="none",
                          CRASHHOOK_SYMBOLIZE="off")
    # What it writes is not looked at; somebody must read it, or it stops.
    reader = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
    process.stdout.close()
    number = signal.SIGSEGV
    if not by_itself:
        wait_until_at_work(process, threads)
        time.sleep(chance.random() * 0.3)
        number = chance.choice(OWN_SIGNALS.get(name, SIGNALS))
        send_to_any(process, number, chance)
    try:
        process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()
        reader.wait()
        process.stderr.close()
    if process.returncode != -number:
        raise AssertionError(f"ended with {process.returncode}, not by signal {number}")
    reports = scene.reports()
    if len(reports) != 1:
        raise AssertionError(f"{len(reports)} reports")
    return reports[0], scene.core(process.pid)


# gdb 16 wants the register of pointer authentication, which qemu's cores lack.
NO_REGISTER = "Register 69 is not available"


def gdb_frames(executable, core, gdb="gdb"):
    here = os.path.dirname(os.path.realpath(__file__))
    done = subprocess.run(
        [gdb, "-q", "-nx", "-batch", "-ex", "set debuginfod enabled off",
         "-ex", f'file "{executable}"', "-ex", f"core-file {core}",
         "-x", os.path.join(here, "gdb_frames.py")],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False)
    for line in done.stdout.split("\n"):
        if line.startswith("FRAMES "):
            return {int(tid): pcs for tid, pcs in json.loads(line[7:]).items()}
    if NO_REGISTER in done.stdout:
        raise unittest.SkipTest("this gdb misses a register in the core")
    raise AssertionError(f"gdb says nothing of {core}: {done.stdout[-500:]}")


def place(report, pc):
    """image+offset of an address, the same in every run; `-` for no frame."""
    if pc is None:
        return "-"
    for image in report["images"]:
        base, end = int(image["base"], 16), int(image["end_of_text"], 16)
        if base <= pc < end:
            return f"{image['name']}+{pc - base:#x}"
    return f"{pc:#x}"


def first_difference(ours, theirs):
    for index in range(max(len(ours), len(theirs))):
        mine = ours[index] if index < len(ours) else None
        other = theirs[index] if index < len(theirs) else None
        if mine != other:
            return index, mine, other
    return None


def compare(name, report, theirs, known):
    """What differs and is not known, thread by thread; how many frames were compared."""
    problems, frames = [], 0
    ours = {thread["tid"]: [int(f["address"], 16) for f in physical_frames(thread)]
            for thread in report["threads"]}
    if set(ours) != set(theirs):
        problems.append(f"{name}: threads {sorted(ours)}, gdb has {sorted(theirs)}")
    for tid in sorted(set(ours) & set(theirs)):
        frames += len(theirs[tid])
        difference = first_difference(ours[tid], theirs[tid])
        if difference is None:
            continue
        index, mine, other = difference
        agreed = place(report, ours[tid][index - 1]) if index else "innermost"
        key = (name, agreed, place(report, mine), place(report, other))
        if not known.is_known(key):
            problems.append(" | ".join(key) + f" | frame {index} of {len(theirs[tid])}")
    for thread in report["threads"]:
        if thread["backtrace"]["ended"] != "end-of-stack":
            problems.append(f"{name}: thread {thread['tid']} "
                            f"ended with {thread['backtrace']['ended']}")
    return problems, len(ours), frames


def one_case(entry, noise, chance, known):
    name, command = entry[:2]
    with Scene() as scene:
        try:
            report, core = crash(scene, entry, noise, chance)
            if core is None:
                raise AssertionError("no core file")
            theirs = gdb_frames(command[0], core)
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            return [f"{name}: {error}"], 0, 0
        return compare(name, report, theirs, known)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else harness.SEED
    if harness.no_cores():
        print(f"skipped: {harness.no_cores()}")
        return 77
    chance, known = random.Random(seed), Differences()
    problems, threads, frames = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="crashhook-test.") as folder:
        noise = write_noise(folder)
        entries = programs()
        for number, entry in itertools.product(range(ROUNDS), entries):
            found, thread_count, frame_count = one_case(entry, noise, chance, known)
            problems += found
            threads += thread_count
            frames += frame_count
            print(f"round {number} {entry[0]}: {thread_count} threads, "
                  f"{frame_count} frames, {len(found)} differences", flush=True)
    print("\n".join(problems))
    print(f"seed {seed}: {ROUNDS * len(entries)} cases, {threads} threads, "
          f"{frames} frames, {len(problems)} differences, {len(known.seen)} known ones")
    share = len(entries) / len(PROGRAMS)
    enough = (threads >= THREADS_PER_ROUND * ROUNDS * share and
              frames >= FRAMES_PER_ROUND * ROUNDS * share)
    if not enough:
        print("too little was compared")
    return 0 if enough and not problems else 1


if __name__ == "__main__":
    sys.exit(main())
