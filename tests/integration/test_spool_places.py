# SPDX-License-Identifier: Apache-2.0
#
# A crash is reported wherever the program may write by then, and where it may not
# anywhere, one line says so: daemons that gave up root, with the package's drop folder
# and without, and spools that are missing, full or somebody else's.

import contextlib
import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import time
import unittest

import harness
import private_folders
from harness import crashed_thread, names_of, program

NOBODY = 65534
WORKER = 4711  # a user that has no name
SPOOL = "/var/lib/crashhook"
DROP = "/var/lib/crashhook-drop"
BOUND_S = 20  # beside others; alone a crash takes milliseconds


def own_folder(user):
    return f"/tmp/crashhook-{user}"


def entries(folder):
    return sorted(name for name in os.listdir(folder)
                  if name != ".filled") if os.path.isdir(folder) else []


class Machine(harness.Scene):
    """A machine with the package installed, or without it."""

    def __init__(self, package=True):
        super().__init__()
        self.package = package
        self.variables["HOME"] = "/root"
        os.chmod(self.folder, 0o755)
        if package:
            os.mkdir(DROP)
            os.chmod(DROP, 0o1733)

    def __exit__(self, *arguments):
        super().__exit__(*arguments)
        for folder in (SPOOL, DROP, own_folder(NOBODY), own_folder(WORKER), own_folder(0)):
            subprocess.run(["rm", "-rf", folder], check=True)

    def environment(self, variables):
        kept = super().environment(variables)
        if "CRASHHOOK_SPOOL" not in variables:
            kept.pop("CRASHHOOK_SPOOL")
        return kept

    def daemon(self, *arguments, way="alone", **variables):
        command = [program(f"gives_up_root_{way}"), str(WORKER), *arguments]
        if way == "shared":
            variables["LD_PRELOAD"] = ""
        ended = self.run(command, **variables)
        return ended

    def list(self):
        listed = self.command("list", "--json")
        return json.loads(listed.stdout or "[]"), listed.stderr

    def reports(self):
        """What a reader of the system's spool sees."""
        rows, _ = self.list()
        found = []
        for row in rows:
            with open(os.path.join(SPOOL, row["id"] + ".json"), encoding="utf-8") as file:
                found.append(json.load(file))
        return found


class GaveUpRoot(unittest.TestCase):
    def check(self, ended, report):
        self.assertEqual(ended.signal, signal.SIGSEGV)
        self.assertLess(ended.seconds, BOUND_S)
        self.assertEqual(names_of(crashed_thread(report))[:2], ["serve_request", "main"])
        self.assertEqual(report["process"]["uid"], WORKER)
        self.assertEqual(report["revision"], 1)
        refused = [p["status"] for p in report["problems"] if p["stage"] == "spool"]
        self.assertEqual(len(refused), 1, report["problems"])
        self.assertIn("Permission denied", refused[0])

    def test_its_report_is_in_the_drop_folder_and_root_finds_it(self):
        for way in ("alone", "shared"):
            with self.subTest(way), Machine() as machine:
                ended = machine.daemon(way=way)
                left = entries(DROP)
                self.assertEqual(len(left), 1)
                file = os.stat(os.path.join(DROP, left[0]))
                self.assertEqual((file.st_uid, stat.S_IMODE(file.st_mode)), (WORKER, 0o600))
                reports = wait_for(machine.reports)
                self.assertEqual(len(reports), 1)
                self.check(ended, reports[0])
                self.assertEqual(entries(DROP), [])

    def test_without_the_package_it_is_below_tmp(self):
        for way in ("alone", "shared"):
            with self.subTest(way), Machine(package=False) as machine:
                ended = machine.daemon(way=way)
                folder = os.stat(own_folder(WORKER))
                self.assertEqual((folder.st_uid, stat.S_IMODE(folder.st_mode)),
                                 (WORKER, 0o700))
                reports = wait_for(machine.reports)
                self.assertEqual(len(reports), 1)
                self.check(ended, reports[0])

    def test_show_finds_it_by_its_id(self):
        with Machine() as machine:
            machine.daemon()
            name = entries(DROP)[0]
            wait_for(lambda: not is_locked(os.path.join(DROP, name)))
            shown = machine.command("show", name[:13])
            self.assertIn("serve_request", shown.stdout)

    def test_run_brings_it_into_the_spool_it_was_given(self):
        for package in (True, False):
            with self.subTest(package=package), Machine(package) as machine:
                machine.preload = None
                spool = os.path.join(machine.folder, "spool")
                ran = machine.command("run", "--spool", spool, "--",
                                      program("gives_up_root_alone"), str(WORKER))
                self.assertIn(ran.returncode, (139, -11))
                self.assertEqual(len([n for n in entries(spool) if n.endswith(".json")
                                      and len(n) == 41]), 1, entries(spool))

    def test_a_record_takes_the_same_ways(self):
        for package in (True, False):
            with self.subTest(package=package), Machine(package) as machine:
                ended = machine.daemon(CRASHHOOK_AGENT="/nonexistent")
                self.assertEqual(ended.signal, signal.SIGSEGV)
                left = entries(DROP if package else own_folder(WORKER))
                self.assertEqual([n.endswith(".record") for n in left], [True])
                reports = machine.reports()
                self.assertEqual(len(reports), 1)
                self.assertEqual(reports[0]["agent"]["tier"], "record")
                self.assertEqual(reports[0]["process"]["uid"], WORKER)
                self.assertIn("serve_request", names_of(crashed_thread(reports[0])))

    def test_memcached_is_reported(self):
        for package in (True, False):
            with self.subTest(package=package), Machine(package) as machine:
                socket = os.path.join("/tmp", "memcached.sock")
                server = machine.start(["memcached", "-u", "nobody", "-p", "0", "-s", socket])
                wait_for(lambda: os.path.exists(socket))
                wait_for(lambda: user_of(server.pid) == NOBODY)
                wait_for(lambda: waits_for_events(server.pid))
                server.send_signal(signal.SIGSEGV)
                server.communicate(timeout=BOUND_S)
                self.assertEqual(server.returncode, -signal.SIGSEGV)
                report, = wait_for(machine.reports)
                self.assertEqual(report["process"]["pid"], server.pid)
                self.assertEqual(report["process"]["uid"], NOBODY)
                self.assertIn("epoll_wait", names_of(crashed_thread(report)))
                os.unlink(socket)

    def test_a_worker_of_nginx_is_reported(self):
        for package in (True, False):
            with self.subTest(package=package), Machine(package) as machine:
                config = os.path.join(machine.folder, "nginx.conf")
                with open(config, "w", encoding="ascii") as file:
                    file.write("daemon off; user nobody nogroup; worker_processes 1;\n"
                               f"pid {machine.folder}/pid; error_log {machine.folder}/log;\n"
                               "events {} http { access_log off; }\n")
                server = machine.start(["nginx", "-c", config, "-p", machine.folder])
                try:
                    worker, = wait_for(lambda: children_of(server.pid))
                    wait_for(lambda: user_of(worker) == NOBODY)
                    os.kill(worker, signal.SIGSEGV)
                    report, = wait_for(machine.reports)
                    self.assertEqual(report["process"]["pid"], worker)
                    self.assertEqual(report["process"]["uid"], NOBODY)
                finally:
                    server.terminate()
                    server.communicate(timeout=BOUND_S)


class Unreported(unittest.TestCase):
    """No place takes a report: the spool's folder and /tmp are what the case makes of
    them, and one line says so on standard error and in the system's log."""

    def crash(self, machine, log, **variables):
        ended = machine.daemon(**variables)
        self.assertEqual(ended.signal, signal.SIGSEGV)
        self.assertLess(ended.seconds, BOUND_S)
        lines = ended.complaints()
        self.assertEqual(len(lines), 1, ended.stderr)
        self.assertTrue(lines[0].startswith(
            "crashhook: gives_up_root_alone: SIGSEGV is not reported: "), lines)
        self.assertEqual(log.lines(), ["<11>" + lines[0]])
        self.assertEqual(entries(DROP), [])
        return lines[0]

    def test_one_line_says_program_signal_reason_and_remedy(self):
        with Machine() as machine, SystemLog() as log, closed("/tmp"), closed(DROP):
            line = self.crash(machine, log)
            for place in ("'~/.local/state/crashhook': Permission denied",
                          f"'{DROP}': it belongs to another user",
                          f"'{own_folder(WORKER)}': Permission denied"):
                self.assertIn(place, line)
            self.assertIn("set CRASHHOOK_SPOOL", line)
            self.assertIn("mode 1733", line)

    def test_the_handler_says_it_where_no_agent_starts(self):
        with Machine() as machine, SystemLog() as log, closed("/tmp"), closed(DROP):
            line = self.crash(machine, log, CRASHHOOK_AGENT="/nonexistent")
            self.assertIn("no agent starts", line)
            self.assertIn("crashhook doctor", line)

    def test_a_full_disk_is_named(self):
        with Machine() as machine, SystemLog() as log, closed("/tmp"), full(DROP):
            line = self.crash(machine, log)
            self.assertIn(f"'{DROP}': No space left on device", line)

    def test_a_full_spool_gives_way_to_the_drop_folder(self):
        with Machine() as machine, full(SPOOL, 0o700):
            ended = machine.run([program("gives_up_root_alone"), "0"])
            self.assertEqual(ended.signal, signal.SIGSEGV)
            left = [name for name in entries(DROP) if name.endswith(".json")]
            self.assertEqual(len(left), 1)

    def test_a_folder_of_somebody_else_below_tmp_is_refused(self):
        for make in (lambda: os.mkdir(own_folder(WORKER), 0o777),
                     lambda: os.symlink("/var", own_folder(WORKER))):
            with self.subTest(make), Machine(package=False) as machine, SystemLog() as log:
                make()
                line = self.crash(machine, log)
                self.assertIn(f"'{own_folder(WORKER)}': it ", line)

    def test_a_reported_crash_says_nothing(self):
        with Machine() as machine, SystemLog() as log:
            self.assertEqual(machine.daemon().complaints(), [])
            self.assertEqual(log.lines(), [])

    def test_a_file_of_the_program_in_the_place_of_standard_error_stays_as_it_is(self):
        with Machine() as machine, closed("/tmp"), closed(DROP):
            data = os.path.join(machine.folder, "data")
            ended = machine.run(["/bin/sh", "-c",
                                 f"exec {program('gives_up_root_alone')} {WORKER} 2>{data}"],
                                LD_PRELOAD="")
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertEqual(os.path.getsize(data), 0)

    def test_an_unread_pipe_does_not_hold_the_program(self):
        with Machine() as machine, closed("/tmp"), closed(DROP):
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(writing, bytes(4096))
            began = time.monotonic()
            done = subprocess.run([program("gives_up_root_alone"), str(WORKER)],
                                  env=machine.environment({}), stderr=writing, check=False)
            self.assertEqual(done.returncode, -signal.SIGSEGV)
            self.assertLess(time.monotonic() - began, BOUND_S)
            os.close(reading)
            os.close(writing)


class SystemLog:
    """What a log daemon would hear, in a /dev of our own."""

    def __enter__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "dev", "/dev"], check=True)
        for name, numbers in (("null", (1, 3)), ("zero", (1, 5)), ("urandom", (1, 9))):
            os.mknod("/dev/" + name, stat.S_IFCHR | 0o666, os.makedev(*numbers))
            os.chmod("/dev/" + name, 0o666)
        self.socket.bind("/dev/log")
        os.chmod("/dev/log", 0o666)
        self.socket.setblocking(False)
        return self

    def __exit__(self, *_):
        self.socket.close()
        subprocess.run(["umount", "-l", "/dev"], check=True)

    def lines(self):
        heard = []
        with contextlib.suppress(BlockingIOError):
            while True:
                heard.append(self.socket.recv(4096).decode().rstrip("\n"))
        return heard


@contextlib.contextmanager
def closed(folder):
    """A folder that only root may write to."""
    before = os.stat(folder).st_mode
    os.chmod(folder, 0o755)
    try:
        yield
    finally:
        os.chmod(folder, stat.S_IMODE(before))


@contextlib.contextmanager
def full(folder, mode=0o1733):
    """A folder on a disk that has no room left."""
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=64k,nr_inodes=100,mode={mode:o}",
                    "full", folder], check=True)
    file = os.open(os.path.join(folder, ".filled"), os.O_WRONLY | os.O_CREAT, 0o600)
    with contextlib.suppress(OSError):
        while True:
            os.write(file, bytes(4096))
    os.close(file)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def wait_for(condition, seconds=60):
    """What condition gives once it is true; it is asked again until then."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def is_locked(path):
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def waits_for_events(pid):
    with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
        return "poll" in file.read()


def user_of(pid):
    return os.stat(f"/proc/{pid}").st_uid


if __name__ == "__main__":
    private_folders.enter([harness.SOURCE, harness.BUILD])
    harness.main()
