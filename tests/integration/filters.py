# SPDX-License-Identifier: Apache-2.0
#
# Crashes under seccomp filters: one row for each system call that the handler or the
# agent makes, each answer that a filter may give it, each mode, and one thread or three.
# test_filters.py asserts them, write_survival.py writes a table of all of them.

import collections
import concurrent.futures
import dataclasses
import functools
import glob
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import Scene
from process_events import ProcessEvents
from seatbelt import Seatbelt

PROGRAM = harness.program("filtered")
ANSWERS = ("EPERM", "ENOSYS", "TRAP", "KILL_THREAD", "KILL_PROCESS")
# How the agent is had; `no agent` leaves a record.
MODES = {
    "spawn": {"CRASHHOOK_MODE": "spawn"},
    "daemon": {"CRASHHOOK_MODE": "daemon"},
    "no agent": {"CRASHHOOK_AGENT": "/nonexistent/crashhook-agent"},
}
THREADS = (1, 3)
TIMEOUT = 1.0  # CRASHHOOK_TIMEOUT, in seconds
BOUND = TIMEOUT + 1.0
# A busy machine adds to it; who is not ended at all takes longer.
AT_MOST = BOUND if harness.FULL else 15.0
# The calls by which the kernel is told of the bound: nothing can be before them.
BOUND_CALLS = ("timer_create", "timer_settime")
ROWS_AT_ONCE = 12
CALL = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed)")


@dataclasses.dataclass(frozen=True)
class Row:
    call: str
    answer: str
    mode: str
    threads: int
    memory_mb: int = 0


@dataclasses.dataclass
class Seen:
    signal: str  # by which the program ended; "" where it had to be ended
    seconds: float  # from the last moment before the filter to the end
    processes: object  # that the handler has started; None: not known
    spool: str  # what is left there
    leftover: bool  # processes that did not end, or wanted to be too many


@functools.lru_cache
def call_numbers():
    """The numbers of all system calls, as the C headers have them. Where there is no
    compiler, CRASHHOOK_CALLS is a file with what it says elsewhere."""
    path = os.environ.get("CRASHHOOK_CALLS")
    said = ["cat", path] if path else ["cc", "-dM", "-E", "-include", "sys/syscall.h", "-x", "c",
                                       "/dev/null"]
    text = subprocess.run(said, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name: int(number) for name, number in
            re.findall(r"#define __NR_(\w+) (\d+)\n", text)}


def crash_calls(log):
    """The calls in a log of strace -f from the crash on, but for those of what the agent
    becomes once the report is written."""
    calls, not_asked, agents, crashed = set(), set(), set(), None
    for line in log:
        match = CALL.match(line)
        if crashed is None and "--- SIGSEGV" in line:
            crashed = line.split()[0]
            not_asked -= {crashed, *agents}
        if not match:
            continue
        task, call = match.groups()
        if crashed is None:
            not_asked.add(task)
            if call == "execve" and "crashhook-agent" in line:
                agents.add(task)
        elif task not in not_asked:
            calls.add(call)
            if call == "execve" and '"finish"' in line:
                not_asked.add(task)
    return calls


def agent_calls(log):
    """The calls in a log of the agent alone, until it is something else."""
    calls, started = set(), False
    for line in log:
        match = CALL.match(line)
        if match and started and match.group(2) == "execve":
            break
        started = started or (match and match.group(2) == "execve")
        if match:
            calls.add(match.group(2))
    return calls


def traced(mode, threads, agent_alone):
    """The calls of one crash under strace. The agent alone may trace the program, which
    strace does otherwise: so it is seen both ways."""
    with Scene() as scene:
        log = os.path.join(scene.folder, "strace.log")
        command = [PROGRAM, "0", "NONE", str(threads), "0"]
        variables = dict(MODES[mode])
        if agent_alone:
            path = os.path.join(scene.folder, "agent")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\nexec strace -D -f -o {log} {shlex.quote(harness.AGENT)} \"$@\"\n")
            os.chmod(path, 0o755)
            variables["CRASHHOOK_AGENT"] = path
        else:
            command = ["strace", "-f", "-o", log, "-E", f"LD_PRELOAD={scene.preload}",
                       *command]
            scene.preload = None
        scene.run(command, **variables)
        scene.reports()
        with open(log, encoding="utf-8", errors="replace") as file:
            return agent_calls(file) if agent_alone else crash_calls(file)


@functools.lru_cache
def calls():
    """Every system call that the handler or the agent make in a crash."""
    found = set()
    for mode in MODES:
        for threads in THREADS:
            found |= traced(mode, threads, False)
        if mode != "no agent":
            found |= traced(mode, 3, True)
    return sorted(found & set(call_numbers()))


def rows():
    return [Row(call, answer, mode, threads) for call in calls() for mode in MODES
            for threads in THREADS for answer in ANSWERS]


def files_in(folder):
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder) if name[0] != "."]
    except OSError:
        return []


def is_of(path, pid):
    """A report or a record of that process."""
    if path.endswith(".record"):
        return path.endswith(f"-{pid:08x}.record")
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)["process"]["pid"] == pid
    except (OSError, ValueError, KeyError):
        return False


def left_of(pid, spool):
    """What is left of a crash, in its spool or in the other places that are tried."""
    words = {".json": "report", ".record": "record"}
    found = [words.get(os.path.splitext(path)[1], "") for path in files_in(spool)]
    elsewhere = [path for folder in glob.glob("/tmp/crashhook-[0-9]*")
                 for path in files_in(folder) if is_of(path, pid)]
    for path in elsewhere:
        found.append(words[os.path.splitext(path)[1]])
        os.unlink(path)
    return " + ".join(sorted(filter(None, found), reverse=True))


class Runner:
    """Runs rows, each in a room of its own."""

    def __init__(self):
        self.events = ProcessEvents()
        # Where the user that the seatbelt makes of root's program may enter, as it may not in
        # a tree below a home.
        self.public = Scene()
        if os.geteuid() == 0:
            self.public.admit_nobody()
        self.program = self.public.copy(PROGRAM)

    def crash(self, scene, belt, row):
        process = subprocess.Popen(
            [self.program, str(call_numbers()[row.call]), row.answer, str(row.threads),
             str(row.memory_mb)],
            cwd=scene.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, preexec_fn=belt.enter,
            env=scene.environment({"CRASHHOOK_TIMEOUT": f"{TIMEOUT:.0f}s",
                                   **MODES[row.mode]}))
        fd = os.pidfd_open(process.pid)
        with process.stdout:
            said = os.read(process.stdout.fileno(), 8)
        assert len(said) == 8, f"{row} did not come to its crash"
        began = int.from_bytes(said, sys.byteorder)
        patience = (BOUND if is_exempt(row) else AT_MOST) + 2
        ended = select.select([fd], [], [], patience)[0]
        seconds = (time.monotonic_ns() - began) / 1e9
        os.close(fd)
        if not ended:
            process.kill()
        status = process.wait()
        name = signal.Signals(-status).name if status < 0 else f"exit {status}"
        return process.pid, began, name if ended else "", seconds

    def run(self, row):
        with Scene() as scene, Seatbelt() as belt:
            scene.preload = self.public.preload
            os.chmod(scene.folder, 0o777)
            pid, began, name, seconds = self.crash(scene, belt, row)
            processes = self.events.started_by(pid, began)
            left = belt.await_empty()
            spool = left_of(pid, scene.spool)
            return Seen(name, seconds, processes, spool, bool(left) or belt.was_full())

    def run_all(self, wanted):
        """Each row with what was seen of it. A row that is not as promised beside the
        others is measured again alone, and named."""
        with concurrent.futures.ThreadPoolExecutor(ROWS_AT_ONCE) as pool:
            seen = dict(zip(wanted, pool.map(self.run, wanted)))
        for row, first in seen.items():
            if problems(row, first):
                print(f"again: {row}: {problems(row, first)}", flush=True)
                seen[row] = self.run(row)
        shutil.rmtree(self.public.folder)
        return seen


def is_exempt(row):
    """The thread is gone before the kernel knows of the bound, and others stay."""
    return row.call in BOUND_CALLS and row.answer == "KILL_THREAD" and row.threads > 1


def problems(row, seen):
    """What of a row is not as promised."""
    found = []
    if seen.processes is not None and seen.processes > 2:
        found.append(f"{seen.processes} processes")
    if seen.leftover:
        found.append("processes left")
    if is_exempt(row):
        return found
    if seen.seconds > AT_MOST:
        found.append(f"{seen.seconds:.2f} s")
    allowed = {"SIGSEGV"}
    if row.answer.startswith("KILL"):
        allowed |= {"SIGSYS"}
    if row.answer == "KILL_THREAD" and row.threads > 1:
        allowed = {"SIGSEGV", "SIGKILL"}
    if seen.signal not in allowed:
        found.append(f"ended by {seen.signal or 'us'}")
    return found


def describe(seen):
    """One crash in a word each: signal, seconds, processes, what is left."""
    if not seen.signal:
        return "stays"
    count = "?" if seen.processes is None else seen.processes
    return (f"{seen.signal.removeprefix('SIG')} {seen.seconds:.1f} {count} "
            f"{seen.spool or 'nothing'}")


def cell(by_threads):
    """The crashes of one call, mode and answer. Where one thread and three end alike the
    longer time and the greater number stand for both."""
    one, three = (by_threads[threads] for threads in THREADS)
    if (one.signal, one.spool) != (three.signal, three.spool):
        return f"{describe(one)}; {describe(three)}"
    both = dataclasses.replace(three, seconds=max(one.seconds, three.seconds))
    if None not in (one.processes, three.processes):
        both.processes = max(one.processes, three.processes)
    return describe(both)


def table(results):
    """The lines of a table: a row for each call and mode."""
    places = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row, seen in results.items():
        places[(row.call, row.mode)][row.answer][row.threads] = seen
    lines = ["| call | agent | " + " | ".join(ANSWERS) + " |\n",
             "| --- | --- |" + " --- |" * len(ANSWERS) + "\n"]
    for (call, mode), by_answer in places.items():
        cells = " | ".join(cell(by_answer[answer]) for answer in ANSWERS)
        lines.append(f"| {call} | {mode} | {cells} |\n")
    return lines
