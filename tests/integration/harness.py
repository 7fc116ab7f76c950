# SPDX-License-Identifier: Apache-2.0
#
# What the integration tests share: a Scene is a folder with a spool in which programs
# are started by execve with the handler preloaded, and from which the reports that the
# product wrote are read. Nothing here calls a part of the product any other way.

import atexit
import errno
import fcntl
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

import place  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.realpath(
    os.environ.get("CRASHHOOK_BUILD", os.path.join(SOURCE, "build", "release")))
FULL = os.environ.get("CRASHHOOK_FULL") == "1"
# What a harness draws its cases from: any seed at the full count, else the same in each run.
SEED = int(os.environ.get("CRASHHOOK_SEED", "0")) or (random.randrange(1, 1 << 30) if FULL
                                                      else 7)

CRASHHOOK = os.path.join(BUILD, "bin", "crashhook")
COLLECTOR = os.path.join(BUILD, "bin", "crashhook-collector")
AGENT = os.path.join(BUILD, "libexec", "crashhook", "crashhook-agent")
NOBODY = 65534


def without_blanks(path):
    """The path, or one through a link where LD_PRELOAD, say, would take it for several."""
    return through_link(path) if re.search("[ :]", path) else path


def through_link(path):
    """A short path to what is in the build, however long that of the tree is."""
    links = tempfile.mkdtemp(prefix="crashhook-link.")
    atexit.register(shutil.rmtree, links, ignore_errors=True)
    os.symlink(BUILD, os.path.join(links, "build"))
    return os.path.join(links, "build", os.path.relpath(path, BUILD))


HANDLER = without_blanks(os.path.join(BUILD, "lib", "libcrashhook.so"))

# Paths below HOME are written with a ~, and whoever clones a tree does so at home. So the
# programs of tests have another home, of which no other path here is a part.
HOME = os.path.join(BUILD, "tests", "home")
os.makedirs(HOME, exist_ok=True)

# What go has compiled, for all tests that build with it: its runtime takes longest.
GO_CACHE = os.path.join(BUILD, "tests", "go-cache")


def example(name):
    return os.path.join(BUILD, "examples", name)


def program(name):
    return os.path.join(BUILD, "tests", "programs", name)


def crash_line(source):
    """The number of the line that an example's source marks."""
    with open(os.path.join(SOURCE, source), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if "crashes here" in line:
                return number
    raise AssertionError(f"{source} marks no line")


class Ended:
    """How a program ended: its signal (0: none), exit status, and what it wrote."""

    def __init__(self, process, seconds, stdout, stderr):
        self.signal = -process.returncode if process.returncode < 0 else 0
        self.status = process.returncode if process.returncode >= 0 else None
        self.pid = process.pid
        self.seconds = seconds
        self.stdout = stdout
        self.stderr = stderr

    def complaints(self):
        """The lines on stderr that are the product's."""
        return [line for line in self.stderr.splitlines() if "crashhook" in line]


def read_url(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


class Scene:
    """A folder, a spool in it, and the programs run there."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-test.")
        self.spool = os.path.join(self.folder, "spool")
        self.preload = HANDLER
        self.variables = {"CRASHHOOK_PRINT": "no"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def copy(self, path):
        """A copy of a program in the scene's folder."""
        copied = os.path.join(self.folder, os.path.basename(path))
        shutil.copy(path, copied)
        return copied

    def admit_nobody(self):
        """Lets user nobody enter the folder and have the spool. The tree may lie where that
        user cannot go, so the product is copied here too. Needs root."""
        os.chmod(self.folder, 0o755)
        os.mkdir(self.spool, 0o700)
        os.chown(self.spool, NOBODY, NOBODY)
        for path in (CRASHHOOK, AGENT, os.path.join(BUILD, "lib", "libcrashhook.so")):
            copied = os.path.join(self.folder, "product", os.path.relpath(path, BUILD))
            os.makedirs(os.path.dirname(copied))
            shutil.copy(path, copied)
        if self.preload:
            self.preload = os.path.join(self.folder, "product", "lib", "libcrashhook.so")

    def environment(self, variables):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("CRASHHOOK_")}
        kept.update(self.variables)
        kept["HOME"] = HOME
        kept["CRASHHOOK_SPOOL"] = self.spool
        if self.preload:
            kept["LD_PRELOAD"] = self.preload
        kept.update(variables)
        return kept

    def start(self, command, core=False, **variables):
        most = place.core_limit() if core else 0
        if core and most == 0:
            raise unittest.SkipTest("the hard limit of core files is 0")

        def limit_core():
            resource.setrlimit(resource.RLIMIT_CORE, (most, most))

        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment(variables),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=limit_core)

    def run(self, command, core=False, timeout=60 * place.SLOWER, **variables):
        """Runs command to its end. Keywords in capitals are variables."""
        began = time.monotonic()
        process = self.start(command, core, **variables)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:  # tests that follow find nothing of it
            process.kill()
            process.communicate()
            raise
        return Ended(process, time.monotonic() - began, out.decode(errors="replace"),
                     err.decode(errors="replace"))

    def command(self, *arguments, timeout=60 * place.SLOWER, **variables):
        """Runs the crashhook command itself, without the handler."""
        environment = self.environment(variables)
        environment.pop("LD_PRELOAD", None)
        return subprocess.run(
            [CRASHHOOK, *arguments], cwd=self.folder, env=environment, timeout=timeout,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, check=False)

    def report_paths(self):
        if not os.path.isdir(self.spool):
            return []
        return [os.path.join(self.spool, name) for name in sorted(os.listdir(self.spool))
                if re.fullmatch(r"[0-9a-f-]{36}\.json", name)]

    def reports(self):
        """Every report in the spool, once nobody works on it any more, with every frame
        in its place."""
        found = []
        for path in self.report_paths():
            try:
                found.append(read_when_done(path))
            except FileNotFoundError:  # another report tells the same death
                continue
        return [expanded(report) for report in found]

    def page(self, path):
        """All that a collector of the scene's own shows of the report at path."""
        return self.collected(path, "/reports/{name}?all=yes")[0]

    def collected(self, path, *places):
        """What a collector of the scene's own answers at places, where {name} stands for the
        name of the report at path, after it was sent the spool."""
        collector = subprocess.Popen(
            [COLLECTOR, "--listen", "127.0.0.1:0", "--store", f"sqlite:{self.folder}/store.db"],
            stderr=subprocess.PIPE, text=True)
        try:
            url = re.search(r"http://127\.0\.0\.1:\d+", collector.stderr.readline()).group()
            done = self.command("upload", "--url", url)
            assert done.returncode == 0, done.stderr
            name = os.path.basename(path)[:-5]
            return [read_url(url + place.format(name=name)) for place in places]
        finally:
            collector.kill()
            collector.communicate()

    def core(self, pid):
        """The core file that the program left, or None."""
        for name in ("core", f"core.{pid}"):
            path = os.path.join(self.folder, name)
            if os.path.exists(path):
                return path
        return None


def state_of(pid):
    """The state letter of a process's first thread: one that has come to where it waits
    sleeps (S)."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(") ")[2][0]


def expanded(report):
    """A report's bytes as the product expands them: in the keys of version 1."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(report)
        file.flush()
        done = subprocess.run([CRASHHOOK, "show", "--json", file.name], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def wait_for(condition, seconds=60):
    """What condition gives once it is true; it is asked again until then."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def agent_script(scene, text):
    """A shell script in the place of the agent; its path."""
    path = os.path.join(scene.folder, "agent")
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n" + text + "\n")
    os.chmod(path, 0o755)
    return path


def await_end(pid, seconds=30):
    """Whether a process, which need not be a child, has ended by then."""
    try:
        fd = os.pidfd_open(pid)
    except OSError as error:
        # EINVAL is of one that is being reaped.
        if error.errno not in (errno.ESRCH, errno.EINVAL):
            raise
        return True
    try:
        return bool(select.select([fd], [], [], seconds)[0])
    finally:
        os.close(fd)


def read_when_done(path, seconds=60):
    """A report's bytes; who works on a report holds flock on the file it has now."""
    def give_up(*_):
        raise AssertionError(f"{path} is still being worked on after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        while True:
            with open(path, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                if os.fstat(file.fileno()).st_ino == os.stat(path).st_ino:
                    return file.read()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def crashed_thread(report):
    crashed = [thread for thread in report["threads"] if thread.get("crashed")]
    assert len(crashed) == 1, f"{len(crashed)} crashed threads"
    return crashed[0]


def dumped_registers_of(thread):
    """A thread's registers without the bases of fs and gs, for which minidumps have no place."""
    return {name: value for name, value in thread["registers"].items()
            if name not in ("fs_base", "gs_base")}


def frames_of(thread):
    """A thread's frames, those of inlined calls among them."""
    return [f for f in thread["backtrace"].get("frames", []) if "address" in f]


def physical_frames(thread):
    return [f for f in frames_of(thread) if not f.get("inline")]


def addresses_of(thread):
    return [frame["address"] for frame in physical_frames(thread)]


def names_of(thread):
    return [f["function"] for f in frames_of(thread) if "function" in f]


def lock_core_pattern(how=fcntl.LOCK_SH):
    """Waits until nobody else has the setting as a test of his own needs it, and keeps it so
    until the lock is closed, which is returned; None: there is no such lock."""
    try:
        lock = open("/run/crashhook-core-pattern.lock", "a", encoding="ascii")
    except OSError:
        return None
    fcntl.flock(lock, how)
    kept_locks.append(lock)
    return lock


kept_locks = []  # until the end of the process, unless they are closed before


def cores_land_in_folder():
    """Has core files written to the working folder of who dumps, if it can."""
    path = "/proc/sys/kernel/core_pattern"
    if not kept_locks:
        lock_core_pattern()
    with open(path, encoding="ascii") as file:
        before = file.read()
    if before.strip() == "core":
        return True
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write("core")
    except OSError:
        return False

    def restore():
        with open(path, "w", encoding="ascii") as file:
            file.write(before)

    atexit.register(restore)
    return True


def no_cores():
    """Why no crash can be compared with its core file here; empty where it can."""
    if place.core_limit() == 0:
        return "the hard limit of core files is 0"
    if not cores_land_in_folder():
        return "kernel.core_pattern sends cores elsewhere and needs root"
    return place.no_tracing()


def main():
    """Runs the tests of a file, where a program that crashes can be traced."""
    why = place.no_tracing()
    if why:
        print(f"skipped: {why}")
        sys.exit(77)
    unittest.main(verbosity=2)
