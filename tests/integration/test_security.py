# SPDX-License-Identifier: Apache-2.0
#
# What SECURITY.md promises: a program with more rights than whoever started it takes no
# word from its environment; nothing is written through links; the free phase gives up
# what it does not need; and nothing in a crash calls what might lock or allocate.

import os
import signal
import socket
import struct
import subprocess
import unittest

import harness
from harness import Scene, program
from place import needs_root, no_root
from survival_cases import CASES, victim, worst

DETECTOR = harness.without_blanks(harness.program("libdetector.so"))
# VFS_CAP_REVISION_2 with the effective bit, and CAP_NET_RAW.
CAPABILITY = struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)


class Privileged(unittest.TestCase):
    """A program that links the handler, given rights that its user does not have."""

    def crash_as_nobody(self, scene, prepare):
        scene.admit_nobody()
        copy = scene.copy(program("tells_static"))
        prepare(copy)
        log = os.path.join(scene.spool, "log")
        process = subprocess.run(
            [copy, "test", "segv"], cwd=scene.folder, check=False, user=harness.NOBODY,
            group=harness.NOBODY,
            extra_groups=[], env=scene.environment({"CRASHHOOK_LOG": log,
                                                    "CRASHHOOK_AGENT": scene.copy(program("tells"))}))
        self.assertEqual(process.returncode, -signal.SIGSEGV)
        return os.listdir(scene.spool)

    @needs_root
    def test_an_ordinary_program_listens_to_its_environment(self):
        with Scene() as scene:
            self.assertNotEqual(self.crash_as_nobody(scene, lambda _: None), [])

    @needs_root
    def test_a_setuid_program_takes_nothing_from_its_environment(self):
        with Scene() as scene:
            left = self.crash_as_nobody(scene, lambda path: os.chmod(path, 0o4755))
            self.assertEqual(left, [])

    @needs_root
    def test_a_program_with_file_capabilities_takes_nothing_either(self):
        def give(path):
            try:
                os.setxattr(path, "security.capability", CAPABILITY)
            except OSError as error:
                self.skipTest(f"no file capabilities here: {error}")

        with Scene() as scene:
            self.assertEqual(self.crash_as_nobody(scene, give), [])


class Writes(unittest.TestCase):
    def test_a_log_is_not_written_through_a_link(self):
        with Scene() as scene:
            kept = os.path.join(scene.folder, "kept")
            with open(kept, "w", encoding="ascii") as file:
                file.write("kept")
            log = os.path.join(scene.folder, "log")
            os.symlink(kept, log)
            scene.run(worst("plain"), CRASHHOOK_LOG=log,
                      CRASHHOOK_SPOOL=os.path.join("/proc/nowhere"))
            with open(kept, encoding="ascii") as file:
                self.assertEqual(file.read(), "kept")

    def test_what_is_in_the_spool_is_for_its_owner_alone(self):
        with Scene() as scene:
            old = os.umask(0)
            try:
                scene.run(worst("plain"))
                scene.run(worst("plain"), CRASHHOOK_AGENT="/nonexistent")
            finally:
                os.umask(old)
            scene.reports()
            self.assertEqual(os.stat(scene.spool).st_mode & 0o077, 0)
            for name in os.listdir(scene.spool):
                mode = os.stat(os.path.join(scene.spool, name)).st_mode
                self.assertEqual(mode & 0o077, 0, name)

    def test_an_agent_that_is_asked_by_nobody_writes_nothing(self):
        with Scene() as scene:
            ours, theirs = socket.socketpair()
            ours.sendall(b"\xff" * 4096)
            ours.shutdown(socket.SHUT_WR)
            with ours, theirs:
                ended = subprocess.run([harness.AGENT], pass_fds=[3], check=False, timeout=30,
                                       env=scene.environment({"LD_PRELOAD": ""}),
                                       preexec_fn=lambda: os.dup2(theirs.fileno(), 3))
            self.assertEqual(ended.returncode, 1)
            self.assertFalse(os.path.exists(scene.spool))


class FreePhase(unittest.TestCase):
    def finishing(self, scene):
        """The pid of the free phase of this scene."""
        wanted = scene.spool.encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"crashhook", b"finish"] and wanted in words:
                return pid
        return None

    def test_it_has_given_up_what_it_does_not_need_when_it_sends(self):
        with Scene() as scene, socket.create_server(("127.0.0.1", 0)) as silent:
            scene.run(worst("plain"), CRASHHOOK_TIMEOUT="20s",
                      CRASHHOOK_URL=f"http://127.0.0.1:{silent.getsockname()[1]}")
            silent.settimeout(30)
            connection, _ = silent.accept()
            pid = self.finishing(scene)
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
                status = file.read()
            with open(f"/proc/{pid}/limits", encoding="ascii") as file:
                limits = file.read()
            connection.close()
            os.kill(int(pid), signal.SIGKILL)
        self.assertIn("NoNewPrivs:\t1", status)
        self.assertIn("Seccomp:\t2", status)
        self.assertRegex(limits, r"Max address space +\d+ ")
        self.assertRegex(limits, r"Max cpu time +600 ")


class CrashContext(unittest.TestCase):
    def noticed(self, scene, command, **variables):
        loads_itself = command[-1] == harness.HANDLER
        scene.preload = None
        library = DETECTOR if loads_itself else f"{DETECTOR}:{harness.HANDLER}"
        ended = scene.run(command, LD_PRELOAD=library, **variables)
        return ended, [line for line in ended.stderr.splitlines() if "in a crash" in line]

    def test_the_detector_notices_a_handler_that_allocates(self):
        with Scene() as scene:
            _, lines = self.noticed(scene, worst("allocates-in-handler", harness.HANDLER))
            self.assertIn("in a crash: malloc", lines)

    def test_no_crash_allocates_or_locks(self):
        for case in CASES:
            if case.command[0] == program("tells"):
                continue  # their callbacks may do as they like
            if case.root and no_root():
                continue
            with self.subTest(case.name), Scene() as scene:
                variables = {k: v for k, v in case.variables.items() if k != "LD_PRELOAD"}
                ended, lines = self.noticed(scene, case.command, **variables)
                if case.signal is not None:
                    self.assertEqual(ended.signal, case.signal, ended.stderr)
                self.assertEqual(lines, [])

    def test_neither_does_one_without_an_agent_or_with_one_that_waits(self):
        for variables in ({"CRASHHOOK_AGENT": "/nonexistent"}, {"CRASHHOOK_MODE": "daemon"},
                          {"CRASHHOOK_TAGS": "a=b", "CRASHHOOK_TIMEOUT": "1s"}):
            for way in ("null-write", "abort", "overflow-worker", "in-malloc"):
                with self.subTest(f"{way} {variables}"), Scene() as scene:
                    _, lines = self.noticed(scene, victim(way), **variables)
                    self.assertEqual(lines, [])


if __name__ == "__main__":
    harness.main()
