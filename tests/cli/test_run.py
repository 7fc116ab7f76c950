# SPDX-License-Identifier: Apache-2.0
#
# crashhook run: the program behaves as without it, and so does its exit.

import ctypes
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import cli_scene
from cli_scene import CRASHHOOK, Scene

sys.path.insert(0, os.path.join(cli_scene.SOURCE, "tests", "support"))
from place import needs_mounts, needs_tracing, refusal

NOBODY = 65534

# Holds a report's lock in the background, as an agent does, for some seconds.
HOLD = """
import fcntl, os, sys, time
spool, seconds = sys.argv[1], float(sys.argv[2])
stamp = f"{int(time.time() * 1000) + 1000:012x}"
path = f"{spool}/{stamp[:8]}-{stamp[8:]}-7788-99aa-000000000001.json"
fd = os.open(path, os.O_RDWR | os.O_CREAT)
fcntl.flock(fd, fcntl.LOCK_EX)
if os.fork() == 0:
    for other in (0, 1, 2):
        os.close(other)
    time.sleep(seconds)
os._exit(5)
"""

# Leaves an ended child to whoever gets orphans, and waits for it to be reaped.
ORPHAN = """
import os, time
reading, writing = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.write(writing, b"%d" % os.getpid())
    os._exit(0)
os.wait()
path = "/proc/" + os.read(reading, 20).decode()
deadline = time.monotonic() + 20
while os.path.exists(path) and time.monotonic() < deadline:
    time.sleep(0.01)
os._exit(os.path.exists(path))
"""


class Run(unittest.TestCase):
    def ends_with(self, expected, *command):
        for way in (["--via", "preload"], ["--via", "trace"], ["--enable", "no"]):
            with self.subTest(way=way, command=command), Scene() as scene:
                done = scene.run("run", *way, "--print", "no", "--", *command,
                                 **(cli_scene.TRACED if "trace" in way else {}))
                self.assertEqual(done.returncode, expected)

    def test_it_ends_as_the_program_did(self):
        self.ends_with(0, "true")
        self.ends_with(37, "sh", "-c", "exit 37")
        self.ends_with(-signal.SIGTERM, "sh", "-c", "kill -TERM $$")
        self.ends_with(-signal.SIGSEGV, "sh", "-c", "kill -SEGV $$")
        self.ends_with(-signal.SIGKILL, "sh", "-c", "kill -KILL $$")

    def test_a_program_that_cannot_be_run_is_what_a_shell_says(self):
        self.ends_with(127, "/nonexistent/program")
        self.ends_with(126, "/etc/passwd")

    def test_wrong_usage_is_2(self):
        with Scene() as scene:
            for arguments in (["run"], ["run", "--what", "--", "true"],
                              ["run", "--limit", "0", "--", "true"],
                              ["run", "--timeout", "soon", "--", "true"],
                              ["run", "--via", "magic", "--", "true"]):
                self.assertEqual(scene.run(*arguments).returncode, 2, arguments)

    def test_options_reach_the_program_as_variables(self):
        with Scene() as scene:
            done = scene.run("run", "--limit", "none", "--unwind=fp", "--spool", "sub/x",
                             "--tags", "a=b", "--", "env")
            lines = done.stdout.splitlines()
            self.assertIn("CRASHHOOK_LIMIT=none", lines)
            self.assertIn("CRASHHOOK_UNWIND=fp", lines)
            self.assertIn("CRASHHOOK_TAGS=a=b", lines)
            self.assertIn(f"CRASHHOOK_SPOOL={os.path.realpath(scene.folder)}/sub/x", lines)

    def test_the_programs_own_options_are_left_to_it(self):
        with Scene() as scene:
            done = scene.run("run", "echo", "--limit", "--help", "--")
            self.assertEqual(done.stdout, "--limit --help --\n")

    def test_the_handler_goes_in_front_of_what_is_preloaded(self):
        if cli_scene.SANITIZED:
            self.skipTest("preloads are the sanitizer's")
        libc = "libc.so.6"
        with Scene() as scene:
            done = scene.run("run", "--", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD=libc)
            library, others = done.stdout.strip().split(":")
            self.assertTrue(os.path.isabs(library) and os.path.exists(library))
            self.assertEqual(os.path.realpath(library),
                             os.path.realpath(f"{cli_scene.BUILD}/lib/libcrashhook.so"))
            self.assertEqual(others, libc)

    def installation(self, folder):
        """The command of an installation that was copied to folder."""
        for part in ("bin/crashhook", "lib/libcrashhook.so.1",
                     "libexec/crashhook/crashhook-agent"):
            copy = os.path.join(folder, part)
            os.makedirs(os.path.dirname(copy))
            shutil.copy(os.path.join(cli_scene.BUILD, part), copy)
        return os.path.join(folder, "bin", "crashhook")

    @unittest.skipIf(cli_scene.SANITIZED, "preloads are the sanitizer's")
    def test_a_library_that_is_not_installed_is_one_line_and_the_program_runs(self):
        with Scene() as scene:
            command = self.installation(os.path.join(scene.folder, "product"))
            for option, variable in (("--heap=sample", "CRASHHOOK_HEAP"),
                                     ("--throws=yes", "CRASHHOOK_THROWS")):
                done = subprocess.run([command, "run", option, "--", "sh", "-c", "exit 4"],
                                      text=True, check=False, env=scene.environment({}),
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 4)
                self.assertRegex(done.stderr, rf"\Acrashhook: {variable} has no effect: cannot "
                                 r"read '.*/lib/libcrashhook-\w+\.so\.1': No such file or "
                                 r"directory\n\Z")
            done = subprocess.run([command, "doctor"], text=True, check=False,
                                  env=scene.environment({"CRASHHOOK_HEAP": "sample"}),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertIn("CRASHHOOK_HEAP has no effect: cannot read", done.stdout)

    def run_from(self, scene, folder, *command):
        path = os.path.join(scene.folder, folder)
        command = [self.installation(path), "run", "--", *command]
        done = subprocess.run(command, text=True, check=False, env=scene.environment({}),
                              cwd=scene.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        # The link leads to an installation that is gone when the test is over.
        self.addCleanup(subprocess.run, ["rm", "-f", os.path.dirname(done.stdout.strip())],
                        check=True)
        return done

    @unittest.skipIf(cli_scene.SANITIZED, "preloads are the sanitizer's")
    @needs_tracing
    def test_a_crash_is_reported_from_an_installation_with_a_space_or_a_colon(self):
        for folder in ("a b", "a:b"):
            with self.subTest(folder), Scene() as scene:
                done = self.run_from(scene, folder, "sh", "-c",
                                     'echo "$LD_PRELOAD"; kill -SEGV $$')
                self.assertEqual(done.returncode, -signal.SIGSEGV, done.stderr)
                self.assertEqual(done.stderr, "")
                library = done.stdout.strip()
                self.assertNotRegex(library, "[ :]")
                self.assertEqual(os.path.realpath(library),
                                 f"{scene.folder}/{folder}/lib/libcrashhook.so.1")
                names = [n for n in os.listdir(scene.spool) if n.endswith(".json")]
                self.assertEqual(len(names), 1)
                self.assertEqual(scene.report(names[0][:-5])["agent"]["tier"], "ptrace")

    @unittest.skipIf(cli_scene.SANITIZED, "preloads are the sanitizer's")
    def test_the_folder_of_its_link_is_the_users_alone_and_found_again(self):
        with Scene() as scene:
            seen = set()
            for part in ("a b", "c d"):
                done = self.run_from(scene, part, "sh", "-c", 'echo "$LD_PRELOAD"')
                folder = os.path.dirname(os.path.dirname(done.stdout.strip()))
                status = os.lstat(folder)
                self.assertEqual((status.st_uid, status.st_mode & 0o7777),
                                 (os.geteuid(), 0o755))
                seen.add(folder)
            self.assertEqual(len(seen), 1)

    @unittest.skipIf(cli_scene.SANITIZED, "preloads are the sanitizer's")
    @needs_mounts
    def test_a_folder_of_somebody_else_is_not_believed(self):
        script = """
            mount --bind "$0" /mnt || exit 9
            for parent in /tmp /var/tmp; do
                mount -t tmpfs -o mode=1777 none $parent && cd $parent &&
                    mkdir -m 777 crashhook-preload-0 && chown 1 crashhook-preload-0 || exit 9
            done
            exec "/mnt/a b/bin/crashhook" run -- true
        """
        with tempfile.TemporaryDirectory() as folder:
            self.installation(os.path.join(folder, "a b"))
            done = subprocess.run(["unshare", "--mount", "sh", "-c", script, folder],
                                  text=True, check=False, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0)
            self.assertIn("neither /tmp nor /var/tmp takes a link", done.stderr)
            self.assertIn("'true' runs without being watched", done.stderr)

    @unittest.skipIf(cli_scene.SANITIZED, "preloads are the sanitizer's")
    def test_without_the_library_or_the_agent_the_program_runs_unwatched(self):
        with Scene() as scene:
            command = self.installation(os.path.join(scene.folder, "product"))
            for way, part in (("preload", "lib/libcrashhook.so.1"),
                              ("trace", "libexec/crashhook/crashhook-agent")):
                os.unlink(os.path.join(scene.folder, "product", part))
                done = subprocess.run([command, "run", "--via", way, "--", "sh", "-c", "exit 4"],
                                      text=True, check=False, env=scene.environment({}),
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 4)
                self.assertRegex(done.stderr, r"\Acrashhook: cannot find \S+ beside this program\n"
                                 r"crashhook: 'sh' runs without being watched\n\Z")

    def in_its_place(self, scene, before, script, *options):
        """What a script says that is run with the number of the process that was to run it;
        before are the first words of a shell's command line."""
        done = subprocess.run(
            ["sh", "-c", f'{before} exec "$0" "$@"', CRASHHOOK, "run", *options, "--", "sh", "-c",
             script], text=True, check=False, env=scene.environment({}), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    @needs_tracing
    def test_a_program_that_systemd_names_is_the_process_that_it_names(self):
        names = "echo $LISTEN_PID $WATCHDOG_PID $$"
        with Scene() as scene:
            before = "LISTEN_PID=$$ WATCHDOG_PID=$$"
            for options in ((), ("--stderr-tail",), ("--via", "trace")):
                said = self.in_its_place(scene, before, names, *options)
                self.assertEqual(len(set(said)), 1, (options, said))
            # Those of another process, in a shell that a service has started, are not.
            said = self.in_its_place(scene, "LISTEN_PID=1 WATCHDOG_PID=1", names)
            self.assertEqual(said[:2], ["1", "1"])
            # systemd hears what this process says of the service.
            said = self.in_its_place(scene, "echo $$; NOTIFY_SOCKET=/none SYSTEMD_EXEC_PID=$$",
                                     "echo $$")
            self.assertEqual(len(set(said)), 1, said)

    @unittest.skipIf(cli_scene.SANITIZED, "preloads are the sanitizer's")
    def test_a_program_in_the_place_of_its_run_is_reported(self):
        with Scene() as scene:
            before = "LISTEN_PID=$$"
            self.in_its_place(scene, before, "kill -SEGV $$")
            self.in_its_place(scene, before, "kill -KILL $$")
            deadline = time.monotonic() + 30
            kinds = set()
            while kinds != {"SIGSEGV", "SIGKILL"} and time.monotonic() < deadline:
                kinds = {scene.report(name[:-5])["crash"]["name"]
                         for name in os.listdir(scene.spool) if name.endswith(".json")}
            self.assertEqual(kinds, {"SIGSEGV", "SIGKILL"})

    def test_a_scheduling_policy_that_ends_with_a_fork_is_the_programs(self):
        chrt = ["chrt", "--reset-on-fork", "--fifo", "1"]
        if refusal(*chrt, "true"):
            self.skipTest("no real-time priority may be set")
        for way in ("preload", "trace"):
            with Scene() as scene:
                done = subprocess.run(
                    [*chrt, CRASHHOOK, "run", "--via", way, "--", "sh", "-c", "chrt -p $$"],
                    text=True, check=False, env=scene.environment({}), stdout=subprocess.PIPE)
                self.assertIn("SCHED_FIFO|SCHED_RESET_ON_FORK", done.stdout, way)

    def test_a_timer_and_a_signal_at_the_end_of_its_parent_are_the_programs(self):
        script = ("import ctypes, signal; number = ctypes.c_int(); "
                  "ctypes.CDLL(None).prctl(2, ctypes.byref(number)); "
                  "print(number.value, signal.getitimer(signal.ITIMER_REAL)[0] > 0)")
        for set_up, said in ((lambda: ctypes.CDLL(None).prctl(1, 10), "10 False\n"),
                             (lambda: signal.alarm(600), "0 True\n")):
            with Scene() as scene:
                done = subprocess.run([CRASHHOOK, "run", "--via", "preload", "--", sys.executable,
                                       "-c", script], text=True, check=False, stdout=subprocess.PIPE,
                                      env=scene.environment({}), preexec_fn=set_up)
                self.assertEqual((done.returncode, done.stdout), (0, said))

    @needs_mounts
    def test_a_namespace_for_children_is_left_to_the_programs_own(self):
        script = ("import os\n"
                  "if os.fork() == 0: os._exit(os.getpid())\n"
                  "print(os.wait()[1] >> 8)\n")
        for way in ("preload", "trace"):
            with Scene() as scene:
                done = subprocess.run(
                    ["unshare", "--pid", CRASHHOOK, "run", "--via", way, "--", sys.executable,
                     "-c", script], text=True, check=False, env=scene.environment({}),
                    stdout=subprocess.PIPE)
                self.assertEqual((done.returncode, done.stdout), (0, "1\n"), way)

    def test_a_program_runs_where_no_process_can_be_started(self):
        def start_none():
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))

        script = ("import os, signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []), "
                  "signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL)")
        for way in ("preload", "trace"):
            with self.subTest(way), Scene() as scene:
                scene.admit_everybody()
                done = subprocess.run(
                    [scene.command, "run", "--via", way, "--", "/usr/bin/python3", "-c", script],
                    text=True, check=False, env=scene.environment({}), cwd="/",
                    preexec_fn=start_none, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual((done.returncode, done.stdout), (0, "set() True\n"), done.stderr)

    def test_what_the_program_sends_its_parent_is_not_sent_back(self):
        received = []
        before = signal.signal(signal.SIGUSR1, lambda *_: received.append(1))
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        with Scene() as scene:
            done = scene.run("run", "--", "sh", "-c", "kill -USR1 $PPID; sleep 0.1; echo alive")
            self.assertEqual((done.returncode, done.stdout), (0, "alive\n"))
            self.assertEqual(received, [1])

    def test_a_signal_to_the_programs_group_reaches_it_once(self):
        # The interpreter writes a byte for each signal, whenever it calls the handler.
        script = ("import os, signal, time\n"
                  "read, write = os.pipe()\n"
                  "os.set_blocking(write, False)\n"
                  "signal.set_wakeup_fd(write)\n"
                  "signal.signal(signal.SIGTERM, lambda *_: None)\n"
                  "os.kill(0, signal.SIGTERM)\n"
                  "time.sleep(0.1)\n"
                  "os._exit(100 + len(os.read(read, 9)))\n")
        with Scene() as scene:
            done = subprocess.run([CRASHHOOK, "run", "--via", "preload", "--", sys.executable,
                                   "-c", script], check=False, env=scene.environment({}),
                                  start_new_session=True)
            self.assertEqual(done.returncode, 101)

    def test_signals_sent_to_it_reach_the_program(self):
        with Scene() as scene:
            process = scene.start("run", "--", "sh", "-c",
                                  "trap 'exit 9' TERM; echo ready; while :; do sleep 0.02; done")
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=20)
            self.assertEqual(process.returncode, 9)

    def test_what_is_ignored_stays_ignored_in_the_program(self):
        with Scene() as scene:
            done = scene.run("run", "--", "sh", "-c", "kill -HUP $$; echo alive")
            self.assertEqual(done.returncode, -signal.SIGHUP)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            self.addCleanup(signal.signal, signal.SIGHUP, signal.SIG_DFL)
            done = scene.run("run", "--", "sh", "-c", "kill -HUP $$; echo alive")
            self.assertEqual(done.stdout, "alive\n")

    def test_the_terminals_interrupt_reaches_the_program_once(self):
        script = ("import signal, sys, time\n"
                  "count = 0\n"
                  "def seen(*_):\n"
                  "    global count\n"
                  "    count += 1\n"
                  "signal.signal(signal.SIGINT, seen)\n"
                  "print('ready', flush=True)\n"
                  "while count == 0: time.sleep(0.01)\n"
                  "time.sleep(0.2)\n"
                  "sys.exit(100 + count)\n")
        with Scene() as scene:
            child, fd = pty.fork()
            if child == 0:
                os.execve(CRASHHOOK, [CRASHHOOK, "run", "--", sys.executable, "-c", script],
                          scene.environment({}))
            seen = b""
            while b"ready" not in seen:
                seen += os.read(fd, 1024)
            os.write(fd, b"\x03")
            _, status = os.waitpid(child, 0)
            os.close(fd)
            self.assertEqual(os.waitstatus_to_exitcode(status), 101)

    def test_a_spool_that_cannot_be_used_is_said_and_the_program_runs(self):
        with Scene() as scene:
            os.chmod(scene.spool, 0o777)
            done = scene.run("run", "--", "echo", "fine")
            self.assertEqual((done.returncode, done.stdout), (0, "fine\n"))
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn("others may write to it", done.stderr)
            done = scene.run("run", "--enable", "no", "--", "echo", "fine")
            self.assertEqual(done.stderr, "")

    def test_it_waits_for_a_report_that_is_being_finished(self):
        with Scene() as scene:
            began = time.monotonic()
            done = scene.run("run", "--", sys.executable, "-c", HOLD, scene.spool, "0.7")
            self.assertEqual(done.returncode, 5)
            self.assertGreaterEqual(time.monotonic() - began, 0.7)

    def test_it_hears_how_the_program_ended_where_children_are_ignored(self):
        with Scene() as scene:
            script = ("import os, signal\n"
                      "ignored = signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN\n"
                      "os._exit(3 if ignored else 4)\n")
            done = subprocess.run([CRASHHOOK, "run", "--via", "preload", "--",
                                   sys.executable, "-c", script], check=False, env=scene.environment({}),
                                  preexec_fn=lambda: signal.signal(signal.SIGCHLD,
                                                                   signal.SIG_IGN))
            self.assertEqual(done.returncode, 3)

    def test_it_reaps_what_others_leave_to_it(self):
        def inherit():
            ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER

        with Scene() as scene:
            done = subprocess.run([CRASHHOOK, "run", "--via", "preload", "--",
                                   sys.executable, "-c", ORPHAN], env=scene.environment({}), check=False,
                                  timeout=60, preexec_fn=inherit)
            self.assertEqual(done.returncode, 0)

    def test_it_waits_for_reports_no_longer_when_it_is_told_to_end(self):
        with Scene() as scene:
            process = scene.start("run", "--", sys.executable, "-c", HOLD, scene.spool, "20")
            children = f"/proc/{process.pid}/task/{process.pid}/children"
            began = False
            while True:
                with open(children, encoding="ascii") as file:
                    child = file.read()
                if began and not child:
                    break
                began = began or bool(child)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=15)
            self.assertEqual(process.returncode, 5)

    def test_it_waits_no_longer_than_the_timeout(self):
        with Scene() as scene:
            began = time.monotonic()
            done = scene.run("run", "--timeout", "500ms", "--", sys.executable, "-c", HOLD,
                             scene.spool, "50")
            self.assertEqual(done.returncode, 5)
            self.assertLess(time.monotonic() - began, 40)


if __name__ == "__main__":
    unittest.main(verbosity=2)
