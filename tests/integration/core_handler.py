# SPDX-License-Identifier: Apache-2.0
#
# Has the kernel of this machine pass cores on to a test, and restores what was set before
# in any case: also if the test is killed, which a process of its own watches for. Cores of
# programs that are not the test's get the treatment that they had before: a program is the
# test's if its environment has the test's mark, or if it descends from the test: redis, for
# one, writes its title over its environment.

import contextlib
import fcntl
import json
import os
import re
import select
import shutil
import stat
import subprocess
import time
import unittest

import harness
from harness import FULL, expanded, wait_for

SETTINGS = {"core_pattern": "/proc/sys/kernel/core_pattern",
            "core_pipe_limit": "/proc/sys/kernel/core_pipe_limit",
            "suid_dumpable": "/proc/sys/fs/suid_dumpable"}
# The kernel takes 127 bytes of a pattern.
COMMAND = harness.through_link(harness.CRASHHOOK)
MARK = f"{os.getpid()}.{int(time.time())}"
WORKER = 4711  # a user
OWN_KERNEL = FULL and os.geteuid() == 0 and os.access(SETTINGS["core_pattern"], os.W_OK)
SECONDS = 300  # after which the watching process restores them

# A core of a program without the mark is written as the pattern `core` has it.
FILTER = """#!/bin/sh
mark=$1 pid=$2
shift 2
if cat /proc/$pid/task/*/environ 2>/dev/null | grep -qz "^CRASHHOOK_TEST_MARK=$mark\\$"; then
    exec "$@"
fi
of=$pid
while [ "${of:-0}" -gt 1 ]; do
    of=$(awk '/^PPid:/ {print $2}' /proc/$of/status)
    [ "$of" != "${mark%.*}" ] || exec "$@"
done
limit=$(awk '/^Max core file size/ {print $5}' /proc/$pid/limits)
[ "$limit" = 0 ] || dd of=/proc/$pid/cwd/core bs=64k conv=sparse iflag=fullblock 2>/dev/null
"""


def read(name):
    with open(SETTINGS[name], encoding="ascii") as file:
        return file.read().strip()


def write(name, value):
    with open(SETTINGS[name], "w", encoding="ascii") as file:
        file.write(value + "\n")


def restore(before):
    for name, value in before.items():
        if read(name) != value:
            write(name, value)


def watch(before, ended):
    """In a process of its own: restores when the test has ended, or its time is over."""
    os.setsid()
    select.select([ended], [], [], SECONDS)
    restore(before)
    os._exit(0)


@contextlib.contextmanager
def kept_settings():
    """Restores the settings at the end. One test at a time."""
    with harness.lock_core_pattern(fcntl.LOCK_EX):
        before = {name: read(name) for name in SETTINGS}
        ended, open_end = os.pipe()
        watcher = os.fork()
        if watcher == 0:
            os.close(open_end)
            watch(before, ended)
        os.close(ended)
        try:
            yield before
        finally:
            restore(before)
            os.close(open_end)
            os.waitpid(watcher, 0)


def filtered(folder, mark, command):
    """A pattern by which cores of programs with the mark go to the command."""
    script = os.path.join(folder, "f")
    with open(script, "w", encoding="ascii") as file:
        file.write(FILTER)
    os.chmod(script, stat.S_IRWXU)
    pattern = f"|{script} {mark} %P {command}"
    assert len(pattern) <= 127, pattern
    return pattern


def kernel_version():
    return tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2])


def ledger(scene):
    """The lines of deaths; none before the agent has made its spool."""
    return json.loads(scene.command("deaths", "--json").stdout or "[]")


def become(user):
    def change():
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    return change


class Node:
    """A node agent in the socket's form."""

    def __init__(self, scene, *options, through=()):
        self.path = os.path.join(scene.folder, "crashhook-node")
        self.process = subprocess.Popen(
            [*through, harness.CRASHHOOK, "node", "--listen", self.path, "--spool", scene.spool, *options],
            env=scene.environment({}))
        wait_for(lambda: os.path.exists(self.path))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Kernel(unittest.TestCase):
    """Crashes that the kernel of this machine hands to a node agent."""

    @contextlib.contextmanager
    def handed_over(self, scene, form, *options, through=()):
        """Crashes of programs with our mark go to the node agent."""
        os.chmod(scene.folder, 0o755)
        scene.preload = None
        scene.variables["CRASHHOOK_TEST_MARK"] = MARK
        root = os.path.join(scene.folder, "root")
        state = root + "/var/lib/crashhook-node"
        os.makedirs(state)
        with kept_settings() as before:
            with open(state + "/core_pattern", "w", encoding="ascii") as file:
                file.write(before["core_pattern"] + "\n")
            write("core_pipe_limit", "16")
            if form == "pipe":
                script = os.path.join(scene.folder, "n")
                words = " ".join(["node", "--spool=" + scene.spool, "--root=" + root, *options])
                with open(script, "w", encoding="ascii") as file:
                    file.write(f'#!/bin/sh\nexec {COMMAND} {words} --pipe "$1"\n')
                os.chmod(script, 0o700)
                pattern = filtered(scene.folder, MARK, f"{script} %P")
                write("core_pattern", pattern)
                yield
                return
            # The others' cores are written by --then.
            with Node(scene, "--root", root, "--then", *options, through=through) as node:
                write("core_pattern", "@@" + node.path)
                yield

    def forms(self):
        yield "pipe"
        if kernel_version() >= (6, 17):
            yield "socket"

    def crash(self, scene, command, environment=None, **options):
        process = subprocess.Popen(
            command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**scene.environment(environment or {}), "CRASHHOOK_SPOOL": ""}, **options)
        self.assertNotEqual(process.wait(timeout=60), 0)
        return process.pid

    def death(self, scene, pid):
        """The ledger's line about a process, which comes after the report."""
        def find():
            return next((d for d in ledger(scene) if d["pid"] == pid), None)
        return wait_for(find, 150)  # names take long beside other work

    def report(self, scene, pid):
        death = self.death(scene, pid)
        self.assertIn("report", death, death)
        path = os.path.join(scene.spool, death["report"] + ".json")
        return expanded(harness.read_when_done(path))


def as_streamed(core):
    """Makes gdb's core what the kernel streams first: headers and notes, and no memory."""
    shutil.copy(core, core + ".whole")
    with open(core, "r+b") as file:
        whole = file.read()
        count = int.from_bytes(whole[56:58], "little")
        at, size = (int.from_bytes(whole[n:n + 8], "little") for n in (64 + 8, 64 + 32))
        end = 64 + 56 * count
        head = bytearray(whole[:end])
        head[64 + 8:64 + 16] = end.to_bytes(8, "little")
        file.seek(0)
        file.write(bytes(head) + whole[at:at + size])
        file.truncate()


class HeldByDebugger(unittest.TestCase):
    """gdb stops a crashed program and writes its core: what the kernel does, but for the
    hold, which is ptrace's here."""

    @contextlib.contextmanager
    def held(self, scene, command, preexec=None, **variables):
        core = os.path.join(scene.folder, "gdb.core")
        environment = scene.environment({"CRASHHOOK_ENABLE": "no", **variables})
        debugger = subprocess.Popen(
            ["gdb", "-q", "-nx", "--args", *command], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=scene.folder,
            preexec_fn=preexec,
            env={k: v for k, v in environment.items() if k != "LD_PRELOAD"})
        try:
            debugger.stdin.write("set confirm off\nset debuginfod enabled off\n"
                                 f"run\ngenerate-core-file {core}\n"
                                 "python print('held', gdb.selected_inferior().pid)\n")
            debugger.stdin.flush()
            for line in debugger.stdout:
                found = re.search(r"held (\d+)$", line)
                if found:
                    self.assertTrue(os.path.exists(core), "gdb wrote no core")
                    as_streamed(core)
                    yield int(found.group(1)), core
                    return
            self.skipTest("gdb does not run programs here")
        finally:
            debugger.stdin.write("kill\nquit\n")
            debugger.communicate(timeout=60)

    def report(self, scene, pid, core, *options, through=()):
        with open(core, "rb") as stream:
            done = subprocess.run(
                [*through, harness.CRASHHOOK, "node", "--pipe", str(pid), *options, "--spool",
                 scene.spool], stdin=stream, env=scene.environment({}), check=False,
                stderr=subprocess.PIPE, text=True, timeout=60)
        if os.geteuid() != 0 and "cannot read process" in done.stderr:
            self.skipTest("one program may not read another here")
        return done
