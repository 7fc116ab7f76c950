# SPDX-License-Identifier: Apache-2.0
#
# What root's processes do for a program with fewer rights: whoever makes its report
# (the agent that the crash starts, the one that waits, the tracer, the node agent,
# `crashhook show` of a report that was not finished, `attach`) opens nothing that the
# program may not open itself, and stops no process but it. And which agent a program
# starts: none that somebody else could have put there. The node agent is tried at the
# full count alone: the kernel's settings are those of the whole machine.

import contextlib
import ctypes
import json
import os
import shutil
import signal
import struct
import subprocess
import unittest

import core_handler
import harness
from harness import NOBODY, SOURCE, Scene, crashed_thread, names_of, wait_for
from place import no_root

SECRET = "the-key-of-root"
PROGRAM = os.path.join(SOURCE, "tests", "integration", "programs", "asks_for_others.c")
CASES = []  # what was asked for, of whom


class Opened:
    """Whether anybody opens a file: a context."""

    IN_OPEN = 0x20

    def __init__(self, *paths):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for path in paths:
            assert libc.inotify_add_watch(self.fd, path.encode(), self.IN_OPEN) >= 0, path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def count(self):
        try:
            return len(os.read(self.fd, 65536)) // struct.calcsize("iIII")
        except BlockingIOError:
            return 0


def secret_file(folder, name="secret", mode=0o600, owner=0):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(SECRET + "\n")
    os.chmod(path, mode)
    os.chown(path, owner, owner)
    return path


@contextlib.contextmanager
def victim(scene):
    """A process of root's that no worker has to do with; it must never be stopped."""
    process = subprocess.Popen(["sleep", "1000"], env={"KEY": SECRET})
    try:
        yield process.pid
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            status = file.read()
        assert "TracerPid:\t0" in status and "State:\tS" in status, status
        # A stop would have interrupted its sleep: it has gone to sleep once.
        switches = status.split("nonvoluntary")[0].rpartition(":\t")[2]
        assert int(switches) <= 3, status
    finally:
        process.kill()
        process.wait()
    assert not [r for r in scene.reports() if r["process"]["pid"] == process.pid]


class Place(Scene):
    """A scene with the program, built there, so that its source and its debug files have
    the modes that a test gives them; nobody may enter it."""

    def __init__(self):
        super().__init__()
        os.chmod(self.folder, 0o755)
        self.preload = None
        self.program = os.path.join(self.folder, "asks_for_others")
        self.source = shutil.copy(PROGRAM, self.folder)
        subprocess.run(["cc", "-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-w",
                        "-D_GNU_SOURCE", "-I", SOURCE, "-I", os.path.join(SOURCE, "include"),
                        "-o", self.program, self.source, "-Wl,--no-as-needed",
                        os.path.join(harness.BUILD, "lib", "libcrashhook.so"),
                        "-Wl,-rpath," + os.path.join(harness.BUILD, "lib")], check=True)

    def strip(self):
        """The program's debug file, which a link in it names."""
        debug = self.program + ".debug"
        subprocess.run(["objcopy", "--only-keep-debug", self.program, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", "--remove-section=.note.gnu.build-id",
                        "--add-gnu-debuglink=" + debug, self.program], check=True)
        return debug

    def by(self, who, *words, **variables):
        """Has the worker's crash reported by somebody; its report, and as text."""
        variables = {"XDG_CACHE_HOME": os.path.join(self.folder, "cache"), **variables}
        CASES.append((who, words[0]))
        if who == "node":
            with core_handler.Kernel().handed_over(self, "pipe"):
                core_handler.write("suid_dumpable", "2")  # of those that gave up root
                return self.reported(who, words, variables)
        return self.reported(who, words, variables)

    def reported(self, who, words, variables):
        way = {"daemon": {"CRASHHOOK_MODE": "daemon"}}.get(who, {})
        if who == "attach":
            process = self.start([self.program, "waits"], **variables)
            pid = process.stdout.readline().decode().strip()
            done = self.command("attach", "--json", pid, **variables)
            os.kill(int(pid), signal.SIGKILL)
            process.communicate()
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout), done.stdout
        if who == "trace":
            done = self.command("run", "--via", "trace", "--", self.program, *words, **variables)
            assert done.returncode == 128 + signal.SIGSEGV, done
        else:
            if who == "spawn" and "CRASHHOOK_AGENT" not in variables:
                self.admit_nobody()
                variables["CRASHHOOK_AGENT"] = os.path.join(
                    self.folder, "product", os.path.relpath(harness.AGENT, harness.BUILD))
            if who == "node":  # the library has its attachments, and leaves this signal
                way = {"CRASHHOOK_SIGNALS": "BUS", "CRASHHOOK_SPOOL": ""}
            if who == "show":  # an agent without the command beside it leaves raw reports
                os.makedirs(os.path.join(self.folder, "alone"), exist_ok=True)
                variables["CRASHHOOK_AGENT"] = shutil.copy(
                    harness.AGENT, os.path.join(self.folder, "alone"))
                way = {"CRASHHOOK_MODE": "daemon"}
            ended = self.run([self.program, *words], **way, **variables)
            assert ended.status == 128 + signal.SIGSEGV, (ended.status, ended.stderr)
            assert ended.seconds < 30, ended.seconds
        if who == "show":
            path, = wait_for(self.report_paths)
            harness.read_when_done(path)
            done = self.command("show", "--as-sent", os.path.basename(path)[:-5], **variables)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout), done.stdout
        wait_for(self.report_paths)
        report, = self.reports()
        return report, json.dumps(report)


NODE = ("node",) if core_handler.OWN_KERNEL else ()
REPORTERS = ("spawn", "daemon", "trace", *NODE)
READERS = (*REPORTERS, "show")


class ByRoot(unittest.TestCase):
    def setUp(self):
        if no_root():
            self.skipTest(no_root())


class Files(ByRoot):
    def assert_kept(self, report, text):
        self.assertNotIn(SECRET, text)
        for attachment in report.get("attachments", []):
            self.assertFalse({"text", "base64"} & set(attachment), attachment)

    def test_what_the_worker_may_not_read_is_not_attached(self):
        for who in READERS:
            with self.subTest(who), Place() as place, victim(place) as pid:
                secret = secret_file(place.folder)
                link = os.path.join(place.folder, "link")
                os.symlink(secret, link)
                with Opened(secret) as opened:
                    report, text = place.by(who, "attach", secret, link,
                                            f"/proc/{pid}/environ", f"/proc/{pid}/maps",
                                            "/proc/1/environ", "/root/.bashrc")
                    self.assert_kept(report, text)
                    self.assertEqual(opened.count(), 0)
                self.assertEqual(len(report["attachments"]), 6)

    def test_what_the_worker_may_read_is(self):
        for who in REPORTERS:
            with self.subTest(who), Place() as place:
                readable = secret_file(place.folder, owner=NOBODY)
                report, _ = place.by(who, "attach", readable)
                self.assertEqual(report["attachments"][0]["text"], SECRET + "\n")
                self.assertIn("serve_request", names_of(crashed_thread(report)))

    def test_the_rights_of_the_thread_count(self):
        """The agent is spawned by a process that could take its rights back."""
        for way, owner in (("threads", 0), ("capabilities", NOBODY), ("filtered", NOBODY),
                           ("sealed", NOBODY), ("denied", NOBODY)):
            with self.subTest(way), Place() as place:
                secret = secret_file(place.folder, owner=owner)
                # The tree may lie where the worker cannot go.
                for path in (harness.AGENT, harness.CRASHHOOK):
                    shutil.copy(path, place.folder)
                agent = os.path.join(place.folder, os.path.basename(harness.AGENT))
                with Opened(secret) as opened:
                    report, text = place.by("spawn", way, secret, CRASHHOOK_AGENT=agent)
                    self.assert_kept(report, text)
                    self.assertEqual(opened.count(), 0)
                if way != "denied":  # nobody gives up capabilities that it cannot read
                    self.assertIn("serve_request", names_of(crashed_thread(report)))

    def test_debug_files_are_read_if_the_worker_may(self):
        for who in (*READERS, "attach"):
            for mode in (0o644, 0o600):
                with self.subTest(who, mode=oct(mode)), Place() as place:
                    debug = place.strip()
                    os.chmod(debug, mode)
                    with Opened(debug) as opened:
                        _, text = place.by(who, "attach")
                        self.assertEqual('"work"' in text, mode == 0o644)
                        self.assertEqual(opened.count() != 0, mode == 0o644)

    def test_source_files_are_quoted_if_the_worker_may(self):
        for who in REPORTERS:
            for mode in (0o644, 0o600):
                with self.subTest(who, mode=oct(mode)), Place() as place:
                    os.chmod(place.source, mode)
                    with Opened(place.source) as opened:
                        report, _ = place.by(who, "attach")
                        done = place.command("show", "--preset", "friendly", report["id"])
                        self.assertEqual("crashes here" in done.stdout, mode == 0o644)
                        self.assertEqual(opened.count() != 0, mode == 0o644)

    def test_root_says_that_it_makes_no_report_of_another_users_record(self):
        with Scene() as scene:
            os.makedirs(scene.spool, mode=0o700)
            record = secret_file(scene.spool, "crash-01.record", owner=NOBODY)
            os.chown(scene.spool, NOBODY, NOBODY)
            done = scene.command("list")
            self.assertEqual(done.stdout, "")
            self.assertIn("are of another user, or others may write there (1, such as "
                          "'crash-01.record')", done.stderr)
            self.assertTrue(os.path.exists(record))

    def test_a_log_of_another_user_is_not_written_to(self):
        for who in ("daemon", "trace"):
            with self.subTest(who), Place() as place:
                log = secret_file(place.folder, "log", owner=NOBODY, mode=0o666)
                place.by(who, "attach", CRASHHOOK_LOG=log, CRASHHOOK_URL="http://127.0.0.1:1")
                with open(log, encoding="ascii") as file:
                    self.assertEqual(file.read(), SECRET + "\n")


class Requests(ByRoot):
    def forged(self, place, pid=0, tid=0, page=0):
        CASES.append(("daemon", "forged"))
        ended = place.run([place.program, "forged", str(pid), str(tid), str(page)],
                          CRASHHOOK_MODE="daemon")
        self.assertEqual(ended.status, 128 + signal.SIGSEGV, ended.stderr)
        self.assertLess(ended.seconds, 30)
        return ended.stdout

    def test_a_request_for_itself_is_served(self):
        with Place() as place:
            self.assertEqual(self.forged(place), "answer R\n")
            wait_for(lambda: len(place.report_paths()) == 2)

    def test_a_request_for_another_process_is_refused(self):
        for case in ({"pid": 1, "tid": 1}, {"pid": 1}, {"tid": 1}, {"pid": 1, "tid": 1, "page": 4096}):
            with self.subTest(case), Place() as place, victim(place) as pid:
                numbers = {k: v if k == "page" else pid for k, v in case.items()}
                self.assertEqual(self.forged(place, **numbers), "answer -\n")
                # The agent still serves the crash that comes after.
                wait_for(place.report_paths)
                report, = place.reports()
                self.assertIn("serve_request", names_of(crashed_thread(report)))


def said(ended):
    return [line for line in ended.stderr.splitlines() if line.startswith("crashhook: ")]


class Agents(ByRoot):
    """An agent is executed if only root and the program's user can change it."""

    def started(self, arrange, **variables):
        """Whether the agent that arrange has put into a folder runs, and what was said."""
        with Scene() as scene:
            os.chmod(scene.folder, 0o755)
            folder = os.path.join(scene.folder, "folder")
            os.mkdir(folder, 0o755)
            mark = os.path.join(scene.folder, "mark")
            path = os.path.join(folder, "agent")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\n: >{mark}\n")
            os.chmod(path, 0o755)
            path = arrange(scene, folder, path) or path
            CASES.append(("spawn", "agent"))
            ended = scene.run([harness.example("null_write")], CRASHHOOK_AGENT=path, **variables)
            self.assertEqual(ended.signal, signal.SIGSEGV)
            return os.path.exists(mark), said(ended)

    def test_those_of_root_are(self):
        arranged = {
            "as it is": lambda scene, folder, path: None,
            "in a sticky folder": lambda scene, folder, path: os.chmod(folder, 0o1777),
            "in a folder of the owner's group":
                lambda scene, folder, path: os.chmod(folder, 0o775),
            "through a link": lambda scene, folder, path: os.symlink(
                path, os.path.join(scene.folder, "link")) or os.path.join(scene.folder, "link"),
        }
        for name, arrange in arranged.items():
            with self.subTest(name):
                self.assertEqual(self.started(arrange)[0], True)

    def test_those_that_others_could_change_are_not(self):
        def link_of_another(scene, folder, path):
            link = os.path.join(scene.folder, "link")
            os.symlink(path, link)
            os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
            return link

        def below_a_link(scene, folder, path):
            link = os.path.join(scene.folder, "link")
            os.mkdir(os.path.join(folder, "inner"))
            os.rename(path, os.path.join(folder, "inner", "agent"))
            os.symlink(os.path.join(folder, "inner"), link)
            os.chmod(folder, 0o777)
            return os.path.join(link, "agent")

        arranged = {
            "another's": lambda scene, folder, path: os.chown(path, NOBODY, NOBODY),
            "writable by all": lambda scene, folder, path: os.chmod(path, 0o777),
            "writable by a group": lambda scene, folder, path: (
                os.chown(path, 0, 4), os.chmod(path, 0o775))[0],
            "another's folder": lambda scene, folder, path: os.chown(folder, NOBODY, NOBODY),
            "in a writable folder": lambda scene, folder, path: os.chmod(folder, 0o777),
            "below a writable folder": lambda scene, folder, path: os.chmod(scene.folder, 0o777),
            "through another's link": link_of_another,
            "below a link to a writable folder": below_a_link,
        }
        for name, arrange in arranged.items():
            with self.subTest(name):
                runs, lines = self.started(arrange)
                self.assertFalse(runs)
                self.assertEqual(len(lines), 1, lines)
                self.assertIn("CRASHHOOK_AGENT is ignored: users other than root", lines[0])

    def test_nor_are_they_as_the_tracer(self):
        with Scene() as scene:
            os.chmod(scene.folder, 0o755)
            mark = os.path.join(scene.folder, "mark")
            agent = harness.agent_script(scene, f": >{mark}")
            os.chown(agent, NOBODY, NOBODY)
            CASES.append(("trace", "agent"))
            done = scene.command("run", "--via", "trace", "--", harness.example("null_write"),
                                 CRASHHOOK_AGENT=agent)
            self.assertEqual(done.returncode, -signal.SIGSEGV, done.stderr)
            self.assertIn(f"CRASHHOOK_AGENT is ignored: users other than root and this one can "
                          f"change '{agent}'", done.stderr)
            self.assertFalse(os.path.exists(mark))
            self.assertEqual(len(scene.reports()), 1)

    def test_one_that_is_replaced_after_the_start_is_not(self):
        with Place() as place:
            agent = os.path.join(place.folder, "agent")
            shutil.copy(harness.AGENT, agent)
            process = place.start([harness.program("lives"), "waits"], CRASHHOOK_AGENT=agent)
            wait_for(lambda: harness.state_of(process.pid) == "S")
            os.chown(agent, NOBODY, NOBODY)
            process.send_signal(signal.SIGSEGV)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, -signal.SIGSEGV)
            self.assertIn(f"users other than root and its own can change the agent '{agent}'",
                          errors.decode())

    def test_a_program_that_gains_rights_passes_none_of_our_variables_on(self):
        with Place() as place:
            os.chmod(place.program, 0o4755)
            environment = place.environment({"CRASHHOOK_AGENT": "/x", "CRASHHOOK_URL": "http://x",
                                             "KEPT": "yes"})
            for setuid in (True, False):
                CASES.append(("spawn", "setuid"))
                os.chmod(place.program, 0o4755 if setuid else 0o755)
                done = subprocess.run(
                    [place.program, "becomes", "/usr/bin/env"], env=environment, check=True,
                    stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL,
                    **({"user": NOBODY, "group": NOBODY, "extra_groups": []} if setuid else {}))
                self.assertIn("KEPT=yes\n", done.stdout)
                self.assertEqual("CRASHHOOK_" in done.stdout, not setuid)


def tearDownModule():
    print(f"privilege: {len(CASES)} cases, none drawn at random", flush=True)
    if os.geteuid() == 0:
        assert len(CASES) >= 40, len(CASES)


if __name__ == "__main__":
    harness.main()
