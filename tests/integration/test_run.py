# SPDX-License-Identifier: Apache-2.0
#
# crashhook run with any kind of program: what is preloaded and what is traced, what is
# reported of it, and that the program and whoever started it notice nothing.

import ctypes
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness
from harness import (CRASHHOOK, SOURCE, Scene, cores_land_in_folder, crashed_thread,
                     crash_line, frames_of, names_of)
from place import needs_root

SOURCE_OF = "tests/integration/programs/watched.c"
SECONDS = 20 # no crash takes a tenth of it, but the machine may be busy
WAYS = ("preload", "trace")

GO = """package main
%s
import ("fmt"; "os")
//go:noinline
func deref(p *int) int { return *p }
func tried() { defer func() { fmt.Println("recovered", recover() != nil) }(); deref(nil) }
func main() { if len(os.Args) > 1 { tried(); os.Exit(2) }; %s }
"""
CGO = """/*
#include <stdlib.h>
static int in_c(volatile int *p) { return *p; }
static void abort_in_c(void) { abort(); }
*/
import "C"
"""

BUILDS = {
    "dynamic": ["gcc"],
    "static": ["gcc", "-static"],
    "static-pie": ["gcc", "-static-pie"],
    "musl": ["musl-gcc"],
    "musl-static": ["musl-gcc", "-static"],
    "asan": ["gcc", "-fsanitize=address"],
    "asan-clang": ["clang", "-fsanitize=address"],
    "tsan": ["gcc", "-fsanitize=thread"],
    "ubsan": ["gcc", "-fsanitize=undefined"],
}
TRACED = ("static", "static-pie", "musl", "musl-static")

def state_of(pid):
    """A process's state as /proc has it; None: there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def said(ended):
    """The lines on standard error that are ours."""
    return [line for line in ended.stderr.splitlines() if line.startswith("crashhook")]


class Programs:
    """The program in all its builds, each built when it is first asked for."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-run.")

    def compiled(self, kind):
        path = os.path.join(self.folder, kind)
        if os.path.exists(path):
            return path
        command = BUILDS[kind]
        if shutil.which(command[0]) is None:
            raise unittest.SkipTest(f"{command[0]} is not installed")
        done = subprocess.run(
            [*command, "-g", "-O1", "-w", "-idirafter", "/usr/include", "-idirafter",
             "/usr/include/x86_64-linux-gnu", os.path.join(SOURCE, SOURCE_OF), "-o", path,
             "-pthread"], check=False, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return path

    def go(self, name, declarations, body):
        if shutil.which("go") is None:
            raise unittest.SkipTest("Go is not installed")
        path = os.path.join(self.folder, name)
        with open(path + ".go", "w", encoding="ascii") as file:
            file.write(GO % (declarations, body))
        environment = dict(os.environ, GOCACHE=harness.GO_CACHE,
                           GO111MODULE="off", HOME=self.folder)
        subprocess.run(["go", "build", "-o", path, path + ".go"], check=True,
                       env=environment)
        return path


PROGRAMS = Programs()


def tearDownModule():
    shutil.rmtree(PROGRAMS.folder, ignore_errors=True)


class Case(unittest.TestCase):
    def watch(self, scene, command, via="auto", **variables):
        scene.preload = None
        return scene.run([CRASHHOOK, "run", "--via", via, "--", *command], **variables)

    def crash(self, command, number, function, via="auto", fault=None, **variables):
        """Runs what crashes: one report of it, and the signal it would have died of. fault:
        the signal that began it, where that is another."""
        with Scene() as scene:
            ended = self.watch(scene, command, via, **variables)
            self.assertEqual(ended.signal, number, ended.stderr)
            self.assertLess(ended.seconds, SECONDS)
            self.assertEqual(said(ended), [])
            reports = scene.reports()
            self.assertEqual(len(reports), 1, ended.stderr)
            crash = reports[0]["crash"]
            self.assertEqual(crash["signal"], fault or number)
            if function is not None:
                self.assertIn(function, names_of(crashed_thread(reports[0])))
            return reports[0]


class Kinds(Case):
    def test_what_cannot_be_preloaded_is_traced_and_its_crash_reported(self):
        for kind in TRACED:
            with self.subTest(kind):
                report = self.crash([PROGRAMS.compiled(kind), "write"], signal.SIGSEGV,
                                    "write_through")
                self.assertEqual(report["agent"]["tier"], "ptrace")
                self.assertEqual(report["crash"]["access"]["operation"], "write")
                self.assertEqual(report["crash"]["address"], "0x10")
                frame = frames_of(crashed_thread(report))[0]
                self.assertEqual(frame["line"], crash_line(SOURCE_OF))
                self.assertEqual(report["revision"], 1)

    def test_the_value_that_run_once_gave_traced_programs_is_refused(self):
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([CRASHHOOK, "run", "--enable", "traced", "--",
                               harness.example("null_write")])
            self.assertEqual((ended.status, scene.reports()), (2, []), ended.stderr)
            self.assertIn("traced", ended.stderr)
            scene.preload = harness.HANDLER
            ended = scene.run([harness.example("null_write")], CRASHHOOK_ENABLE="traced")
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertIn("CRASHHOOK_ENABLE='traced' is not understood", ended.stderr)
            self.assertEqual(len(scene.reports()), 1)

    def test_the_variable_of_traced_programs_silences_no_other(self):
        with Scene() as scene:
            ended = scene.run([harness.example("null_write")], CRASHHOOK_TRACED="yes")
            self.assertEqual((ended.signal, ended.stderr), (signal.SIGSEGV, ""))
            self.assertEqual(len(scene.reports()), 1)
            ended = scene.run([CRASHHOOK, "run", "--", harness.example("null_write")],
                              CRASHHOOK_TRACED="yes")
            self.assertEqual((ended.signal, len(scene.reports())), (signal.SIGSEGV, 2))

    def test_a_handler_that_a_traced_program_links_is_not_installed(self):
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([CRASHHOOK, "run", "--via", "trace", "--", "env",
                               f"LD_PRELOAD={harness.HANDLER}", harness.example("null_write")])
            self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
            report, = scene.reports()
            self.assertEqual(report["agent"]["tier"], "ptrace")

    def test_a_healthy_program_of_any_kind_stays_healthy(self):
        for kind in BUILDS:
            with self.subTest(kind), Scene() as scene:
                ended = self.watch(scene, [PROGRAMS.compiled(kind)])
                self.assertEqual((ended.status, ended.stdout, ended.stderr),
                                 (3, "healthy\n", ""))
                self.assertEqual(scene.reports(), [])

    def test_a_program_with_a_sanitizer_is_not_traced(self):
        for kind in ("asan", "asan-clang"):
            with self.subTest(kind), Scene() as scene:
                program = PROGRAMS.compiled(kind)
                without = scene.run([program, "leak"], LD_PRELOAD="")
                ended = self.watch(scene, [program, "leak"])
                self.assertEqual(ended.status, without.status, ended.stderr)
                self.assertNotIn("LeakSanitizer has encountered", ended.stderr)
        self.crash([PROGRAMS.compiled("asan"), "write"], signal.SIGABRT, "write_through",
                   fault=signal.SIGSEGV, ASAN_OPTIONS="abort_on_error=1:handle_segv=1")

    def test_that_leak_sanitizer_fails_is_said_where_tracing_was_asked_for(self):
        for kind, lines in (("asan", 1), ("asan-clang", 1), ("dynamic", 0)):
            with self.subTest(kind), Scene() as scene:
                program = PROGRAMS.compiled(kind)
                ended = self.watch(scene, [program], via="trace")
                self.assertEqual(
                    said(ended),
                    lines * [f"crashhook: '{program}' has LeakSanitizer, which fails in a "
                             "traced program and ends it with an error; --via preload does "
                             "not trace"])

    def test_that_a_sanitizers_exit_is_not_reported_is_said_where_tracing_was_asked_for(self):
        with Scene() as scene:
            program = PROGRAMS.compiled("ubsan")
            ended = self.watch(scene, [program], via="trace")
            self.assertEqual(
                said(ended),
                [f"crashhook: '{program}' has a sanitizer: an exit because of what that finds is "
                 "not reported while it is traced; --via preload reports it"])

    def test_the_handler_that_a_static_program_has_is_left_to_it(self):
        report = self.crash([harness.program("says_why_all_static"), "assert"],
                            signal.SIGABRT, "main")
        self.assertIn("message", report["crash"])

    def test_a_program_of_32_bits_has_its_registers_and_its_frames_with_names(self):
        source = "tests/integration/programs/narrow.c"
        path = os.path.join(PROGRAMS.folder, "narrow")
        subprocess.run(
            ["gcc", "-m32", "-nostdlib", "-static", "-no-pie", "-fno-pie", "-ffreestanding",
             "-g", "-O1", "-fomit-frame-pointer", "-fno-optimize-sibling-calls",
             "-fasynchronous-unwind-tables",
             os.path.join(SOURCE, source), "-o", path], check=True)
        report = self.crash([path], signal.SIGSEGV, "write_through")
        thread = crashed_thread(report)
        frames = frames_of(thread)
        self.assertEqual([f["function"] for f in frames],
                         ["write_through", *3 * ["call_it"], "_start"])
        self.assertEqual([f["line"] for f in frames[:4]],
                         [crash_line(source), *3 * [crash_line(source) + 6]])
        self.assertEqual([f["trust"] for f in frames], ["context", *4 * ["cfi"]])
        self.assertEqual({f["file"] for f in frames}, {os.path.join(SOURCE, source)})
        self.assertEqual(report["images"][0]["path"], path)
        self.assertIn("eip", thread["registers"])
        self.assertNotIn("rip", thread["registers"])
        self.assertEqual(report["crash"]["address"], "0x10")

    def test_busybox_is_watched_in_whatever_it_starts(self):
        busybox = shutil.which("busybox")
        if busybox is None:
            self.skipTest("busybox is not installed")
        with Scene() as scene:
            ended = self.watch(scene, [busybox, "sh", "-c", 'kill -SEGV $$'])
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertEqual(len(scene.reports()), 1)
            ended = self.watch(scene, [busybox, "sh", "-c",
                                       f'{PROGRAMS.compiled("dynamic")} write; echo $?'])
            self.assertEqual(ended.stdout, "139\n")
            self.assertEqual(len(scene.reports()), 2)

    def test_a_script_is_what_runs_it(self):
        with Scene() as scene:
            path = os.path.join(scene.folder, "script")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"#!{PROGRAMS.compiled('static')} write\n")
            os.chmod(path, 0o755)
            ended = self.watch(scene, ["./script"])
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertEqual(scene.reports()[0]["agent"]["tier"], "ptrace")

    def test_a_file_that_says_nonsense_of_itself_is_left_to_exec(self):
        with open(PROGRAMS.compiled("asan"), "rb") as file:
            whole = file.read(1 << 16)
        with Scene() as scene:
            path = os.path.join(scene.folder, "broken")
            for size in (3, 40, 64, 200, 5000, len(whole)):
                for change in (0x20, 0x28, 0x38, 0x60, 0x200):
                    data = bytearray(whole[:size])
                    if change is not None:
                        data[change:change + 8] = b"\xff" * len(data[change:change + 8])
                    with open(path, "wb") as file:
                        file.write(data)
                    os.chmod(path, 0o755)
                    ended = self.watch(scene, ["./broken"])
                    self.assertNotIn(ended.signal, (signal.SIGBUS, signal.SIGABRT))
                    self.assertLess(ended.seconds, SECONDS)


class Go(Case):
    def go_crash(self, path, name, function):
        """Go ends with status 2, after its own dump, and is reported as of its fault."""
        with Scene() as scene:
            ended = self.watch(scene, [path])
            self.assertEqual(ended.status, 2)
            self.assertIn("goroutine 1", ended.stderr)
            self.assertEqual(said(ended), [])
            reports = scene.reports()
            self.assertEqual(len(reports), 1)
            self.assertEqual(reports[0]["crash"]["name"], name)
            self.assertIn(function, names_of(crashed_thread(reports[0])))
            ended = self.watch(scene, [path, "healthy"])
            self.assertEqual((ended.status, ended.stdout), (2, "recovered true\n"))
            self.assertEqual(len(scene.reports()), 1)

    def test_a_nil_pointer_is_reported_where_nothing_recovers_from_it(self):
        self.go_crash(PROGRAMS.go("nil", "", "fmt.Println(deref(nil))"), "SIGSEGV",
                      "main.deref")

    def test_a_fault_in_c_is_reported_and_go_prints_its_dump(self):
        self.go_crash(PROGRAMS.go("in_c", CGO, "C.in_c(nil)"), "SIGSEGV", "in_c")

    def test_an_abort_in_c_is_reported(self):
        self.go_crash(PROGRAMS.go("aborts", CGO, "C.abort_in_c()"), "SIGABRT", "abort_in_c")


class Traced(Case):
    def test_threads_children_and_later_programs_are_watched(self):
        program = PROGRAMS.compiled("static")
        self.crash([program, "thread"], signal.SIGSEGV, "crash_in_thread")
        self.crash([program, "exec"], signal.SIGSEGV, "write_through")
        with Scene() as scene:
            ended = self.watch(scene, [program, "child"])
            self.assertEqual(ended.status, 40 + signal.SIGSEGV)
            self.assertEqual(len(scene.reports()), 1)

    def test_a_thousand_threads_are_all_in_the_report(self):
        report = self.crash([PROGRAMS.compiled("static"), "thread", "1000"], signal.SIGSEGV,
                            "crash_in_thread")
        self.assertEqual(len(report["threads"]), 1002)
        # Some may have just begun, in code of clone3 that has no rules.
        begun = [t for t in report["threads"] if names_of(t) not in (["clone3"], ["__clone3"])]
        self.assertGreater(len(begun), 800)
        self.assertEqual({t["backtrace"]["ended"] for t in begun}, {"end-of-stack"})

    def test_a_full_stack_is_a_stack_overflow(self):
        report = self.crash([PROGRAMS.compiled("static"), "stack"], signal.SIGSEGV, "use_up")
        self.assertEqual(report["crash"]["kind"], "stack-overflow")

    def test_what_a_seccomp_filter_kills_is_reported(self):
        for what in ("kill-process", "trap"):
            with self.subTest(what):
                report = self.crash([PROGRAMS.compiled("static"), what], signal.SIGSYS,
                                    "forbidden_call")
                self.assertEqual(report["crash"]["kind"], "seccomp")

    def test_a_thread_that_a_filter_kills_is_reported_and_the_program_goes_on(self):
        with Scene() as scene:
            ended = self.watch(scene, [PROGRAMS.compiled("static"), "kill-thread"])
            self.assertEqual(ended.status, 5)
            self.assertLess(ended.seconds, SECONDS)
            self.assertEqual(len(scene.reports()), 1)
            self.assertIn("forbidden_call", names_of(crashed_thread(scene.reports()[0])))

    def test_the_programs_own_handler_is_called_first(self):
        for what in ("handler", "raise-again"):
            with self.subTest(what):
                self.crash([PROGRAMS.compiled("static"), what], signal.SIGSEGV,
                           "write_through")

    def test_an_assertion_is_quoted(self):
        for kind in ("dynamic", *TRACED): # of static ones by the symbols in their files
            with self.subTest(kind):
                report = self.crash([PROGRAMS.compiled(kind), "assert"], signal.SIGABRT,
                                    "main", via="trace")
                self.assertIn("argc > 100", report["crash"]["message"])

    def test_a_stripped_static_program_that_aborts_is_reported_without_a_message(self):
        with Scene() as scene:
            path = scene.copy(PROGRAMS.compiled("static"))
            subprocess.run(["strip", path], check=True)
            report = self.crash([path, "assert"], signal.SIGABRT, None)
            self.assertNotIn("message", report["crash"])

    def test_a_core_file_is_left_as_without(self):
        if not cores_land_in_folder():
            self.skipTest("core_pattern cannot be set")
        for via in WAYS:
            with self.subTest(via), Scene() as scene:
                scene.preload = None
                ended = scene.run([CRASHHOOK, "run", "--via", via, "--",
                                   PROGRAMS.compiled("dynamic"), "write"], core=True)
                self.assertEqual(ended.signal, signal.SIGSEGV)
                cores = [n for n in os.listdir(scene.folder) if n.startswith("core")]
                self.assertEqual(len(cores), 1)

    def test_an_ignored_signal_disturbs_no_call(self):
        with Scene() as scene:
            ended = self.watch(scene, [PROGRAMS.compiled("static"), "undisturbed"])
            self.assertEqual(ended.status, 0)

    def test_the_tracer_holds_nothing_of_the_program(self):
        script = ("import os, sys; print(open('/proc/self/status').read()"
                  ".split('TracerPid:')[1].split()[0], flush=True); sys.stdin.read()")
        with Scene() as scene:
            environment = scene.environment({"LD_PRELOAD": ""})
            process = subprocess.Popen(
                [CRASHHOOK, "run", "--via", "trace", "--", sys.executable, "-c", script],
                env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE)
            tracer = int(process.stdout.readline())
            held = {os.readlink(f"/proc/{tracer}/fd/{fd}")
                    for fd in os.listdir(f"/proc/{tracer}/fd")}
            self.assertEqual(held, {"/dev/null"})
            self.assertEqual(os.readlink(f"/proc/{tracer}/cwd"), "/")
            self.assertEqual(os.getsid(tracer), tracer)
            os.kill(tracer, signal.SIGKILL)
            process.stdin.close()
            self.assertEqual(process.wait(timeout=SECONDS), 0)
            process.stdout.close()
            process.stderr.close()

    def test_the_program_runs_where_it_cannot_be_traced(self):
        for launcher in (["strace", "-f", "-o", "/dev/null"],
                         ["gdb", "-q", "-batch", "-ex", "set follow-fork-mode parent",
                          "-ex", "run", "-ex", "print $_exitcode", "--args"]):
            if shutil.which(launcher[0]) is None:
                continue
            with self.subTest(launcher[0]), Scene() as scene:
                scene.preload = None
                ended = scene.run([*launcher, CRASHHOOK, "run", "--",
                                   PROGRAMS.compiled("static")])
                self.assertIn("healthy\n", ended.stdout)
                self.assertEqual(len(said(ended)), 1, ended.stderr)
                self.assertIn("traced already by process", ended.stderr)
                self.assertIn("it runs without being watched", ended.stderr)

    def test_the_program_runs_where_a_filter_refuses_ptrace(self):
        with Scene() as scene:
            scene.preload = None
            program = PROGRAMS.compiled("static")
            ended = scene.run([program, "without-ptrace", CRASHHOOK, "run", "--via", "trace",
                               "--", program])
            self.assertEqual((ended.status, ended.stdout), (3, "healthy\n"))
            self.assertEqual(len(said(ended)), 1)

    def test_a_crash_that_cannot_be_reported_is_told_of(self):
        with Scene() as scene, open(os.path.join(scene.folder, "file"), "wb") as file:
            ended = self.watch(scene, [PROGRAMS.compiled("static"), "write"],
                               CRASHHOOK_SPOOL=os.path.join(file.name, "spool"))
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertTrue(said(ended), ended.stderr)

    def test_a_run_inside_a_watched_program_reports_once(self):
        self.crash([CRASHHOOK, "run", "--", PROGRAMS.compiled("static"), "write"],
                   signal.SIGSEGV, "write_through", via="trace")
        self.crash([CRASHHOOK, "run", "--via", "trace", "--", PROGRAMS.compiled("dynamic"),
                    "write"], signal.SIGSEGV, "write_through", via="preload")
        self.crash([CRASHHOOK, "run", "--", PROGRAMS.compiled("dynamic"), "write"],
                   signal.SIGSEGV, "write_through", via="preload")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to make a setuid program")
    def test_a_child_that_gains_no_privileges_is_told_of_once(self):
        with Scene() as scene:
            scene.admit_nobody()
            scene.preload = None
            path = os.path.join(scene.folder, "setuid_id")
            shutil.copy(shutil.which("id"), path)
            os.chmod(path, 0o4755)
            script = f"{path} -u; {path} -u"
            run = [os.path.join(scene.folder, "product", "bin", "crashhook"), "run"]
            drop = ["setpriv", "--reuid", "65534", "--clear-groups", "--regid", "65534",
                    "--bounding-set", "-all"]
            ended = scene.run([*drop, *run, "--via", "trace", "--", "sh", "-c", script],
                              HOME=scene.folder)
            self.assertEqual(ended.stdout, "65534\n65534\n")
            self.assertEqual(len(said(ended)), 1, ended.stderr)
            self.assertIn("--via preload", ended.stderr)
            ended = scene.run([*drop, *run, "--", path, "-u"], HOME=scene.folder)
            self.assertEqual(ended.stdout, "0\n")
            self.assertIn("runs without being watched", ended.stderr)

    @needs_root
    def test_root_without_cap_sys_ptrace_loses_nothing_by_exec(self):
        with Scene() as scene:
            scene.preload = None
            path = os.path.join(scene.folder, "setuid_id")
            shutil.copy(shutil.which("id"), path)
            os.chown(path, harness.NOBODY, harness.NOBODY)
            os.chmod(path, 0o4755)
            for command in ([path, "-u"], ["sh", "-c", f"{path} -u"]):
                ended = scene.run(["setpriv", "--bounding-set", "-sys_ptrace", CRASHHOOK, "run",
                                   *(["--via", "trace"] if command[0] == "sh" else []),
                                   "--", *command])
                self.assertEqual((ended.stdout, said(ended)), (f"{harness.NOBODY}\n", []))


class Transparent(Case):
    """What whoever started `crashhook run` sees of the program, in both ways."""

    def start(self, scene, via, *command, preexec_fn=None):
        """Starts a program; a script of Python's takes its signals by sigwait, for between
        looking at what came and blocking again a handler may miss one. A group of its own
        is never orphaned, as ours may be, and so can be stopped by SIGTSTP."""
        return subprocess.Popen(
            [CRASHHOOK, "run", "--via", via, "--", *command],
            env=scene.environment({"LD_PRELOAD": ""}), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=preexec_fn, process_group=0)

    def ends(self, process, expected):
        process.stdin.close()
        self.assertEqual(process.wait(timeout=SECONDS), expected)
        process.stdout.close()
        process.stderr.close()

    def test_every_signal_is_passed_on(self):
        for via in WAYS:
            with self.subTest(via), Scene() as scene:
                process = self.start(scene, via, PROGRAMS.compiled("dynamic"), "listen")
                self.assertEqual(process.stdout.readline(), "ready\n")
                for number in range(1, 65):
                    if number in (9, 19, 32, 33):
                        continue
                    process.send_signal(number)
                    self.assertEqual(process.stdout.readline(), f"{number}\n")
                process.send_signal(signal.SIGKILL)
                self.ends(process, -signal.SIGKILL)

    def test_a_signal_that_ends_the_program_ends_both(self):
        script = "import sys, os; print(os.getpid(), flush=True); sys.stdin.read()"
        for via in WAYS:
            for number in (signal.SIGALRM, signal.SIGIO, signal.SIGPWR, signal.SIGTERM,
                           signal.SIGKILL, 40, 64, signal.SIGABRT):
                with self.subTest(via=via, number=number), Scene() as scene:
                    process = self.start(scene, via, sys.executable, "-c", script)
                    program = int(process.stdout.readline())
                    process.send_signal(number)
                    self.assertEqual(process.wait(timeout=SECONDS), -number)
                    # What is left of the program, if anything, holds the pipe.
                    self.assertEqual(process.stdout.read(), "")
                    deadline = time.monotonic() + SECONDS
                    while state_of(program) not in ("Z", None):
                        self.assertLess(time.monotonic(), deadline)
                    self.ends(process, -number)

    def test_what_was_ignored_is_passed_on_when_the_program_wants_it(self):
        script = ("import signal, sys\n"
                  "print(signal.getsignal(1) == signal.SIG_IGN, flush=True)\n"
                  "sys.stdin.readline()\n"
                  "signal.pthread_sigmask(signal.SIG_BLOCK, [1])\n"
                  "signal.signal(1, lambda *_: None)\n"
                  "print('ready', flush=True)\n"
                  "signal.sigwait([1])\n"
                  "print('reload', flush=True)\n")
        for via in WAYS:
            with self.subTest(via), Scene() as scene:
                process = self.start(
                    scene, via, sys.executable, "-c", script,
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
                self.assertEqual(process.stdout.readline(), "True\n")
                process.send_signal(signal.SIGHUP)
                process.stdin.write("\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "ready\n")
                process.send_signal(signal.SIGHUP)
                self.assertEqual(process.stdout.readline(), "reload\n")
                self.ends(process, 0)

    def test_it_stops_and_goes_on_with_the_program(self):
        script = ("import signal, sys\n"
                  "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCONT])\n"
                  "print('ready', flush=True)\n"
                  "signal.sigwait([signal.SIGCONT])\n"
                  "print('on', flush=True)\n"
                  "sys.stdin.read()\n")
        for via in WAYS:
            with self.subTest(via), Scene() as scene:
                process = self.start(scene, via, sys.executable, "-c", script)
                self.assertEqual(process.stdout.readline(), "ready\n")
                process.send_signal(signal.SIGTSTP)
                _, status = os.waitpid(process.pid, os.WUNTRACED)
                self.assertTrue(os.WIFSTOPPED(status))
                self.assertEqual(os.WSTOPSIG(status), signal.SIGTSTP)
                process.send_signal(signal.SIGCONT)
                self.assertEqual(process.stdout.readline(), "on\n")
                self.ends(process, 0)

    def test_a_shell_stops_it_and_brings_it_to_the_foreground_again(self):
        script = ("import sys\n"
                  "print('re'+'ady', flush=True)\n"
                  "for line in sys.stdin: print('got', line, flush=True)\n")
        for via in WAYS:
            with self.subTest(via), Scene() as scene:
                path = os.path.join(scene.folder, "program.py")
                with open(path, "w", encoding="ascii") as file:
                    file.write(script)
                child, fd = pty.fork()
                if child == 0:
                    os.execve("/bin/bash", ["bash", "--norc", "-i"],
                              scene.environment({"LD_PRELOAD": "", "PS1": "> "}))

                def expect(text, seen=b""):
                    deadline = time.monotonic() + SECONDS
                    while text not in seen:
                        ready, _, _ = select.select([fd], [], [], 1)
                        self.assertLess(time.monotonic(), deadline, seen)
                        if ready:
                            seen += os.read(fd, 4096)

                def type_in(text):
                    os.write(fd, text)

                run = shlex.join([CRASHHOOK, "run", "--via", via, "--", sys.executable, path])
                type_in(run.encode() + b"\n")
                expect(b"ready")
                type_in(b"one\n")
                expect(b"got one")
                type_in(b"\x1a")
                expect(b"Stopped")
                type_in(b"echo sh''ell\n")
                expect(b"shell\r\n")
                type_in(b"fg\n")
                expect(b"program.py")
                type_in(b"two\n")
                expect(b"got two")
                type_in(b"\x03")
                expect(b"KeyboardInterrupt")
                type_in(b"echo s=$?\n")
                expect(b"s=130")
                type_in(b"exit\n")
                os.waitpid(child, 0)
                os.close(fd)

    def test_the_value_of_a_queued_signal_reaches_the_program(self):
        script = ("import signal\n"
                  "signal.pthread_sigmask(signal.SIG_BLOCK, [40])\n"
                  "print('ready', flush=True)\n"
                  "info = signal.sigwaitinfo([40])\n"
                  "print(info.si_code, info.si_pid, flush=True)\n")
        libc = ctypes.CDLL(None, use_errno=True)
        for via in WAYS:
            with self.subTest(via), Scene() as scene:
                process = self.start(scene, via, sys.executable, "-c", script)
                self.assertEqual(process.stdout.readline(), "ready\n")
                libc.sigqueue(process.pid, 40, ctypes.c_void_p(7))
                self.assertEqual(process.stdout.readline(), f"-1 {os.getpid()}\n")
                self.ends(process, 0)


if __name__ == "__main__":
    harness.main()
