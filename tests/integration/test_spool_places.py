# SPDX-License-Identifier: Apache-2.0
#
# A crash is reported wherever the program may write by then, and where it may not
# anywhere, one line says so: daemons that gave up root, with the package's drop folder
# and without, and spools that are missing, full or somebody else's.

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import unittest

import harness
import private_folders
from harness import crashed_thread, frames_of, names_of, program, wait_for
from place import not_for_others

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


def setUpModule():
    # The machine's /tmp is replaced by a folder of the test's own.
    if harness.BUILD.startswith("/tmp/"):
        raise unittest.SkipTest("the build is below /tmp, which the tests put another over")
    # A program that has given up root reads its own files as that user.
    if os.geteuid() == 0 and not_for_others(harness.BUILD):
        raise unittest.SkipTest(f"others may not read the build: {not_for_others(harness.BUILD)}")


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
            path = os.path.join(SPOOL, row["id"] + ".json")
            found.append(harness.expanded(harness.read_when_done(path)))
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

    def test_run_leaves_the_records_of_programs_with_another_spool(self):
        with Machine(package=False) as machine:
            machine.preload = None
            spool = os.path.join(machine.folder, "spool")
            other = [program("gives_up_root_alone"), str(WORKER)]
            script = 'CRASHHOOK_SPOOL=/nowhere CRASHHOOK_AGENT=/nonexistent "$@"; kill -SEGV $$'
            ran = machine.command("run", "--spool", spool, "--", "sh", "-c", script, "sh", *other)
            self.assertIn(ran.returncode, (139, -11))
            left = entries(own_folder(WORKER))
            self.assertEqual([n.endswith(".record") for n in left], [True])
            self.assertEqual(len([n for n in entries(spool) if n.endswith(".json")
                                  and len(n) == 41]), 1, entries(spool))

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


class HostileFolder(unittest.TestCase):
    """What one user leaves for root to trip over, whatever fs.protected_* say."""

    @classmethod
    def setUpClass(cls):
        with Machine() as machine:
            machine.daemon()
            wait_for(machine.reports)
            name, = [n for n in entries(SPOOL) if len(n) == 41]
            with open(os.path.join(SPOOL, name), encoding="utf-8") as file:
                cls.report = json.load(file)

    def leave(self, identity, content, user=WORKER, folder=DROP):
        """A file of user's in the folder, under a report's name."""
        path = os.path.join(folder, identity + ".json")
        if isinstance(content, dict):
            content = json.dumps({**content, "id": identity}).encode()
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, 0o600)
        os.chown(path, user, user)
        return path

    def ids(self, machine):
        rows, said = machine.list()
        return [row["id"] for row in rows], said

    def test_links_and_devices_lead_root_nowhere(self):
        with Machine() as machine:
            secret = self.leave(report_id(1), self.report, user=0, folder=machine.folder)
            os.symlink(secret, os.path.join(DROP, report_id(1) + ".json"))
            os.link(self.leave(report_id(2), self.report, folder="/var/lib"),
                    os.path.join(DROP, report_id(2) + ".json"))
            os.mkfifo(os.path.join(DROP, report_id(3) + ".json"))
            os.mkdir(os.path.join(DROP, report_id(4) + ".json"))
            os.mknod(os.path.join(DROP, report_id(5) + ".json"), stat.S_IFCHR | 0o666,
                     os.makedev(1, 5))
            with socket.socket(socket.AF_UNIX) as listening:
                os.chdir(DROP)
                listening.bind(report_id(6) + ".json")
                os.chdir("/")
            self.leave(report_id(7), self.report)
            found, said = self.ids(machine)
            self.assertEqual(found, [report_id(7)])
            self.assertIn("passed over 6", said)
            self.assertTrue(os.path.exists(secret))
            os.unlink("/var/lib/" + report_id(2) + ".json")

    def test_a_file_is_its_owners_whatever_it_says(self):
        with Machine() as machine:
            self.leave(report_id(1), {**self.report, "process": {
                **self.report["process"], "uid": 0}})
            report, = machine.reports()
            self.assertEqual(report["process"]["uid"], WORKER)
            self.assertIn("the report names user 0; its file in",
                          [p for p in report["problems"] if p["stage"] == "collect"]
                          [0]["status"])

    def test_what_is_no_report_is_said_and_deleted(self):
        bombs = {
            "deep": b'{"schema":' + b"[" * 5000000,
            "wide": b'{"a":[' + b"{},[]," * 4000000 + b"0]}",
            "words": b"not a report",
            "another id": json.dumps(self.report).encode(),
            "empty": b"",
            "huge number": b'{"schema":' + b"9" * 30000000 + b"}",
        }
        for name, content in bombs.items():
            with self.subTest(name), Machine() as machine:
                self.leave(report_id(1), content)
                self.leave(report_id(2), self.report)
                began = time.monotonic()
                found, said = self.ids(machine)
                self.assertLess(time.monotonic() - began, 60)
                self.assertEqual(found, [report_id(2)])
                self.assertIn(f"deleted '{DROP}/{report_id(1)}.json' of user {WORKER}: ", said)
                self.assertEqual(entries(DROP), [])

    def test_a_file_that_is_too_large_is_not_opened(self):
        with Machine() as machine:
            path = self.leave(report_id(1), b"")
            os.truncate(path, 1 << 40)
            self.leave(report_id(2), self.report)
            found, said = self.ids(machine)
            self.assertEqual(found, [report_id(2)])
            self.assertIn("passed over 1", said)

    def test_thousands_of_files_of_one_user_crowd_nobody_out(self):
        count = 5000 if harness.FULL else 1500
        with Machine() as machine:
            for number in range(count):
                self.leave(report_id(number), b"x")
            self.leave(report_id(count), self.report, user=NOBODY)
            found, said = self.ids(machine)
            self.assertEqual(found, [report_id(count)])
            self.assertIn(f"left {count - 64} in '{DROP}'", said)
            self.assertEqual(said.count("deleted"), 64)
            # Nor does asking again within the hour.
            found, said = self.ids(machine)
            self.assertNotIn("deleted", said)
            self.assertEqual(len(entries(DROP)), count - 64)

    def test_a_report_that_is_there_is_not_replaced(self):
        with Machine() as machine:
            self.leave(report_id(1), {**self.report, "release": "first"})
            self.assertEqual(len(machine.reports()), 1)
            self.leave(report_id(1), {**self.report, "release": "second"})
            _, said = self.ids(machine)
            self.assertIn("there is a report of that id already", said)
            report, = machine.reports()
            self.assertEqual(report["release"], "first")

    def test_one_that_is_worked_on_stays_until_it_is_free(self):
        with Machine() as machine:
            path = self.leave(report_id(1), self.report)
            with open(path, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                self.assertEqual(self.ids(machine)[0], [])
            self.assertEqual(self.ids(machine)[0], [report_id(1)])

    def test_a_file_that_changes_while_it_is_read_is_a_report_or_nothing(self):
        rounds = 40 if harness.FULL else 8
        whole = json.dumps({**self.report, "id": report_id(1)}).encode()
        with Machine() as machine:
            for number in range(rounds):
                path = self.leave(report_id(1), whole)
                writer = subprocess.Popen(
                    [sys.executable, "-c", "import sys, os\n"
                     "fd = os.open(sys.argv[1], os.O_RDWR)\n"
                     "size = os.fstat(fd).st_size\n"
                     "while True:\n"
                     "    os.pwrite(fd, b'[' * 4096, size // 2)\n"
                     "    os.ftruncate(fd, size // 3)\n"
                     "    os.ftruncate(fd, size)\n", path])
                try:
                    self.ids(machine)
                finally:
                    writer.kill()
                    writer.wait()
                for report in machine.reports():
                    self.assertEqual(report["id"], report_id(1))
                for name in entries(SPOOL) + entries(DROP):
                    folder = SPOOL if os.path.exists(os.path.join(SPOOL, name)) else DROP
                    os.unlink(os.path.join(folder, name))

    def test_files_below_tmp_have_to_be_of_the_folders_user(self):
        with Machine(package=False) as machine:
            os.mkdir(own_folder(WORKER), 0o700)
            os.chown(own_folder(WORKER), WORKER, WORKER)
            self.leave(report_id(1), self.report, user=NOBODY, folder=own_folder(WORKER))
            self.leave(report_id(2), self.report, folder=own_folder(WORKER))
            os.mkdir(own_folder(NOBODY), 0o700)
            os.chown(own_folder(NOBODY), WORKER, WORKER)  # somebody else's
            self.leave(report_id(3), self.report, folder=own_folder(NOBODY))
            self.assertEqual(self.ids(machine)[0], [report_id(2)])

    def test_a_lock_that_another_user_holds_keeps_no_daemon_waiting(self):
        with Machine() as machine:
            held = []
            for name in ("counts", "waits", "prune"):
                path = os.path.join(DROP, f"{name}-{WORKER}.lock")
                held.append(open(path, "wb"))  # pylint: disable=consider-using-with
                os.chmod(path, 0o666)
                os.chown(path, NOBODY, NOBODY)
                fcntl.flock(held[-1], fcntl.LOCK_EX)
            machine.daemon(CRASHHOOK_URL="http://127.0.0.1:1")
            self.assertEqual(len(wait_for(machine.reports)), 1)
            for file in held:
                file.close()

    def test_nothing_of_a_strangers_is_read_as_root(self):
        with Machine() as machine:
            self.leave(report_id(1), self.report)
            log = os.path.join(machine.folder, "calls")
            subprocess.run(["strace", "-f", "-o", log, "-e", "trace=read,setresuid,seccomp,"
                            "openat", "-y", harness.CRASHHOOK, "list"], check=True,
                           env=machine.environment({"LD_PRELOAD": ""}),
                           stdout=subprocess.DEVNULL)
            became, read = {}, set()
            with open(log, encoding="utf-8", errors="replace") as file:
                for line in file:
                    pid = line.split()[0]
                    if "setresuid(" in line:
                        became[pid] = True
                    if "read(" in line and DROP in line:
                        read.add(pid)
            self.assertTrue(read)
            self.assertLessEqual(read, set(became))


def report_id(number):
    return f"01a200f1-a884-7a0a-8d5e-{number:012x}"


class Unreported(unittest.TestCase):
    """No place takes a report: the spool's folder and /tmp are what the case makes of
    them, and one line says so on standard error and in the system's log."""

    def crash(self, machine, log, **variables):
        ended = machine.daemon(**variables)
        self.assertEqual(ended.signal, signal.SIGSEGV)
        self.assertLess(ended.seconds, BOUND_S)
        # Of an agent that is missing the program has heard at its start.
        lines = [line for line in ended.complaints() if "is not found" not in line and
                 "CRASHHOOK_AGENT" not in line]
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
            ended = machine.run(
                [sys.executable, "-c", "import os, signal, sys\n"
                 "os.dup2(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o666), 2)\n"
                 f"os.setuid({WORKER})\n"
                 "os.kill(os.getpid(), signal.SIGSEGV)\n", data])
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


class Confined(unittest.TestCase):
    """Programs that may write or execute nothing, or see another root."""

    def test_under_landlock_one_line_says_so(self):
        with Machine() as machine, SystemLog() as log:
            ended = machine.run([program("landlocked")])
            if ended.status == 77:
                self.skipTest("this kernel has no Landlock")
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertLess(ended.seconds, BOUND_S)
            line, = ended.complaints()
            self.assertTrue(line.startswith("crashhook: landlocked: SIGSEGV is not reported: "))
            self.assertEqual(log.lines(), ["<11>" + line])

    def test_under_landlock_an_agent_from_the_start_reports(self):
        with Machine() as machine:
            ended = machine.run([program("landlocked")], CRASHHOOK_MODE="daemon")
            if ended.status == 77:
                self.skipTest("this kernel has no Landlock")
            self.assertEqual(ended.complaints(), [])
            report, = wait_for(machine.reports)
            self.assertEqual(names_of(crashed_thread(report))[:2], ["parse_input", "main"])

    def test_under_landlock_a_supervisor_reports_the_end(self):
        """With `crashhook run`, or an agent that was started with the program."""
        for ways in ({"CRASHHOOK_KILLS": "yes"}, {"CRASHHOOK_STARTS": "yes"}, {}):
            with self.subTest(ways), Machine() as machine:
                run = [] if ways else [harness.CRASHHOOK, "run", "--"]
                ended = machine.run([*run, program("landlocked")], **ways)
                if ended.status == 77:
                    self.skipTest("this kernel has no Landlock")
                self.assertLess(ended.seconds, BOUND_S)
                report, = wait_for(machine.reports)
                self.assertEqual(report["process"]["executable"].split("/")[-1], "landlocked")
                self.assertEqual(report["crash"]["name"], "SIGSEGV")
                self.assertEqual(report["crash"]["summary"],
                                 "Ended by SIGSEGV, which no handler could report: only the "
                                 "end is known")
                self.assertNotIn("frames", str(report.get("threads", "")))

    def jail(self, machine, *copied):
        """A root that has what is copied, a /tmp and nothing else."""
        root = os.path.join(machine.folder, "jail")
        for folder in ("tmp", "lib"):
            os.makedirs(os.path.join(root, folder))
        os.chmod(os.path.join(root, "tmp"), 0o1777)
        for path in copied:
            shutil.copy(path, os.path.join(root, "lib"))
        return root

    def test_in_a_chroot_an_agent_from_the_start_reports_outside(self):
        with Machine() as machine:
            ended = machine.daemon(self.jail(machine), CRASHHOOK_MODE="daemon")
            self.assertEqual(ended.signal, signal.SIGSEGV)
            report, = wait_for(machine.reports)
            self.assertEqual(names_of(crashed_thread(report))[:2], ["serve_request", "main"])

    def test_in_a_chroot_without_an_agent_the_record_is_in_the_jail_and_a_line_says_so(self):
        with Machine() as machine, SystemLog() as log:
            root = self.jail(machine)
            os.mkdir(os.path.join(root, "dev"))
            subprocess.run(["mount", "--bind", "/dev", os.path.join(root, "dev")], check=True)
            ended = machine.daemon(root)
            subprocess.run(["umount", "-l", os.path.join(root, "dev")], check=True)
            self.assertEqual(ended.signal, signal.SIGSEGV)
            left = os.path.join(root, own_folder(WORKER).lstrip("/"))
            self.assertEqual([n.endswith(".record") for n in entries(left)], [True])
            # Without /proc there is the command's name alone, of 15 bytes.
            line = ("crashhook: gives_up_root_a: SIGSEGV is not reported yet: no agent starts; "
                    f"its record is in '{own_folder(WORKER)}' as it sees that; "
                    "set CRASHHOOK_AGENT or, in a chroot, CRASHHOOK_MODE=daemon")
            self.assertEqual(ended.complaints(), [line])
            self.assertEqual(log.lines(), ["<11>" + line])

    def test_an_agent_that_has_no_command_says_why_there_are_no_names(self):
        with Machine() as machine:
            root = self.jail(machine, harness.AGENT)
            os.mkdir(os.path.join(root, "proc"))
            subprocess.run(["mount", "--bind", "/proc", os.path.join(root, "proc")],
                           check=True)
            ended = machine.daemon(root, CRASHHOOK_AGENT="/lib/crashhook-agent")
            subprocess.run(["umount", "-l", os.path.join(root, "proc")], check=True)
            self.assertEqual(ended.signal, signal.SIGSEGV)
            left = os.path.join(root, own_folder(WORKER).lstrip("/"))
            name, = entries(left)
            with open(os.path.join(left, name), encoding="utf-8") as file:
                report = json.load(file)
            self.assertEqual(report["revision"], 0)
            self.assertIn("there is no command crashhook beside the agent",
                          " ".join(p["status"] for p in report["problems"]))


class Deleted(unittest.TestCase):
    def test_a_program_whose_file_was_deleted_has_its_names(self):
        for user in (0, WORKER):
            with self.subTest(user), Machine() as machine:
                copy = os.path.join(machine.folder, "copy")
                shutil.copy(program("removes_itself"), copy)
                os.chmod(machine.folder, 0o777)
                done = subprocess.run([copy], user=user, check=False,
                                      env=machine.environment({}))
                self.assertEqual(done.returncode, -signal.SIGSEGV)
                report, = wait_for(machine.reports)
                self.assertTrue(report["images"][0]["deleted"])
                self.assertEqual(names_of(crashed_thread(report))[:2],
                                 ["use_old_version", "main"])
                self.assertIn("removes_itself.c",
                              frames_of(crashed_thread(report))[0]["file"])


class Run(unittest.TestCase):
    def lines(self, ran):
        return [line for line in ran.stderr.splitlines() if line.startswith("crashhook: ")]

    def test_it_says_that_a_program_it_cannot_be_preloaded_into_left_nothing(self):
        with Machine() as machine:
            static = program("core_threads_static")
            ran = machine.command("run", "--via", "preload", "--", static, "1")
            self.assertIn(ran.returncode, (139, -11))
            self.assertEqual(self.lines(ran), [
                f"crashhook: '{static}' died by SIGSEGV and left no report of its own, since it is "
                "statically linked; 'crashhook run --via trace' watches it from outside"])

    def test_it_says_where_the_report_is_that_the_spool_did_not_take(self):
        for package, place in ((True, DROP), (False, own_folder(WORKER))):
            with self.subTest(place), Machine(package) as machine:
                os.mkdir(SPOOL, 0o777)
                os.chmod(SPOOL, 0o777)
                worker = program("gives_up_root_alone")
                ran = machine.command("run", "--via", "preload", "--", worker, str(WORKER))
                self.assertIn("cannot open spool '/var/lib/crashhook'", ran.stderr)
                self.assertEqual(self.lines(ran)[-1],
                                 f"crashhook: '{worker}' died by SIGSEGV; the report is "
                                 f"in '{place}'")
                self.assertEqual(len(entries(place)), 1)

    def test_it_does_not_deny_a_report_that_its_user_cannot_see(self):
        with Machine() as machine:
            worker = program("core_threads_pie")
            done = subprocess.run(
                [harness.CRASHHOOK, "run", "--via", "preload", "--", worker, "1"], user=WORKER,
                group=WORKER, extra_groups=[], check=False, text=True, stderr=subprocess.PIPE,
                env={**machine.environment({}), "HOME": "/"}, timeout=60)
            self.assertEqual(self.lines(done)[-1],
                             f"crashhook: '{worker}' died by SIGSEGV; if it left a report, root "
                             f"finds that in '{DROP}'; see 'crashhook doctor'")
            self.assertEqual(len(wait_for(machine.reports)), 1)

    def test_a_traced_program_that_nothing_is_left_of_is_said_by_its_tracer(self):
        with Machine() as machine, SystemLog() as log, closed(DROP):
            os.mkdir(SPOOL, 0o777)
            os.chmod(SPOOL, 0o777)
            os.symlink("/var", own_folder(0))
            ran = machine.command("run", "--via", "trace", "--",
                                  program("core_threads_static"), "1")
            self.assertEqual(ran.returncode, -signal.SIGSEGV)
            line = self.lines(ran)[-1]
            self.assertTrue(line.startswith(
                "crashhook: core_threads_static: SIGSEGV is not reported: cannot write to "
                f"'{SPOOL}': "), line)
            self.assertEqual([line in heard for heard in log.lines()], [True])

    def test_it_says_nothing_of_a_crash_that_is_reported(self):
        with Machine() as machine:
            ran = machine.command("run", "--", program("gives_up_root_alone"), str(WORKER))
            self.assertEqual(self.lines(ran), [])
            self.assertEqual(len(machine.reports()), 1)

    def test_it_says_nothing_of_a_program_that_was_ended(self):
        with Machine() as machine:
            ran = machine.command("run", "--via", "preload", "--", "/bin/sh", "-c",
                                  "kill -TERM $$")
            self.assertEqual(self.lines(ran), [])


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
