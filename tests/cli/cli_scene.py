# SPDX-License-Identifier: Apache-2.0
#
# A folder with a spool, and crashhook run in it as people run it.

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import tempfile
import termios

BUILD = os.path.realpath(os.environ["CRASHHOOK_BUILD"])
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
CRASHHOOK = os.path.join(BUILD, "bin", "crashhook")
CASES = os.path.join(SOURCE, "tests", "cases", "report")
SANITIZED = bool(os.environ.get("SANITIZER"))

# For a build with AddressSanitizer; another ignores them. Its runtime takes SIGSEGV before
# our handler can, and its check for leaks ends a process that is traced with 1.
OWN_SIGSEGV = {"ASAN_OPTIONS": "handle_segv=0"}
TRACED = {"ASAN_OPTIONS": "detect_leaks=0"}


def case(name):
    return os.path.join(CASES, name)


def report_id(number):
    return f"01930000-{number:04x}-7788-99aa-{number:012x}"


def commands():
    """The commands as --help lists them."""
    shown = subprocess.run([CRASHHOOK, "--help"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    return re.findall(r"^  ([a-z-]+(?: [a-z]+)?)  +\S", shown, re.MULTILINE)


class Scene:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-test.")
        self.spool = os.path.join(self.folder, "spool")
        self.command = CRASHHOOK
        os.mkdir(self.spool, 0o700)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def admit_everybody(self):
        """Runs a copy of the product that other users may enter: the tree may lie where they
        cannot go."""
        os.chmod(self.folder, 0o755)
        for part in ("bin/crashhook", "lib/libcrashhook.so.1",
                     "libexec/crashhook/crashhook-agent"):
            copy = os.path.join(self.folder, "product", part)
            os.makedirs(os.path.dirname(copy))
            shutil.copy(os.path.join(BUILD, part), copy)
        self.command = os.path.join(self.folder, "product", "bin", "crashhook")

    def file(self, identity, suffix=".json"):
        return os.path.join(self.spool, identity + suffix)

    def add(self, number, name="named.json", **members):
        with open(case(name), encoding="utf-8") as file:
            report = json.load(file)
        report.update(members, id=report_id(number))
        with open(self.file(report["id"]), "w", encoding="utf-8") as file:
            json.dump(report, file)
        return report["id"]

    def report(self, identity):
        with open(self.file(identity), encoding="utf-8") as file:
            return json.load(file)

    def environment(self, variables):
        kept = {k: v for k, v in os.environ.items()
                if not k.startswith("CRASHHOOK_") and k not in ("NO_COLOR", "LD_PRELOAD")}
        return {**kept, "CRASHHOOK_SPOOL": self.spool, "no_proxy": "127.0.0.1", **variables}

    def start(self, *arguments, inherit=(), stderr=subprocess.PIPE, **variables):
        return subprocess.Popen([self.command, *arguments], cwd=self.folder, text=True,
                                env=self.environment(variables), pass_fds=inherit,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=stderr)

    def run(self, *arguments, stdin=None, **variables):
        return subprocess.run([self.command, *arguments], cwd=self.folder, text=True,
                              env=self.environment(variables), input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60, check=False)

    def on_terminal(self, *arguments, columns=None, **variables):
        """What the command writes where its stdout and stderr are one terminal."""
        child, fd = pty.fork()
        if child == 0:
            if columns is not None:
                fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.chdir(self.folder)
            os.execve(CRASHHOOK, [CRASHHOOK, *arguments],
                      self.environment({"TERM": "xterm", "PAGER": "", **variables}))
        written = b""
        while True:
            try:
                more = os.read(fd, 65536)
            except OSError:
                break
            if not more:
                break
            written += more
        os.close(fd)
        os.waitpid(child, 0)
        return written.decode()

    def finish(self, identity, inherit=True, stderr=subprocess.PIPE, **variables):
        """crashhook finish, as the agent becomes it: with the report's lock."""
        fd = os.open(self.file(identity), os.O_RDWR)
        fcntl.flock(fd, fcntl.LOCK_EX)
        process = self.start("finish", "--spool", self.spool, "--id", identity,
                             "--lock-fd", str(fd), inherit=(fd,) if inherit else (),
                             stderr=stderr, **variables)
        os.close(fd)
        return process
