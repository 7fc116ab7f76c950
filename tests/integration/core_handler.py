# SPDX-License-Identifier: Apache-2.0
#
# Has the kernel of this machine pass cores on to a test, and restores what was set before
# in any case: also if the test is killed, which a process of its own watches for. Cores of
# programs that are not the test's get the treatment that they had before: a program is the
# test's if its environment has the test's mark.

import contextlib
import fcntl
import os
import select
import stat

import harness

SETTINGS = {"core_pattern": "/proc/sys/kernel/core_pattern",
            "core_pipe_limit": "/proc/sys/kernel/core_pipe_limit",
            "suid_dumpable": "/proc/sys/fs/suid_dumpable"}
SECONDS = 300  # after which the watching process restores them

# A core of a program without the mark is written as the pattern `core` has it.
FILTER = """#!/bin/sh
mark=$1 pid=$2
shift 2
if grep -qz "^CRASHHOOK_TEST_MARK=$mark\\$" /proc/$pid/environ 2>/dev/null; then
    exec "$@"
fi
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
