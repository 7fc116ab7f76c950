# SPDX-License-Identifier: Apache-2.0
#
# Runtimes and programs with handlers of their own, crashed for real: each with and
# without crashhook. There is one report, whose crashed frame is the real fault; and the
# program's own dump, what it prints and how it ends are what they are without us.
#
# To add a program: append a Row to ROWS. `command` is what is run, in a folder of its own
# ({programs}, {build} and {folder} are filled in, and {faulty} is the library that faults
# in a thread of a program that is not ours, see programs/faulty_thread.c); `needs` are
# the programs that it takes, and a row without them is skipped and says so; `prepare` is
# called with the folder first, to compile something. `frame` is the function that the
# crashed thread's first frame is to have, or a pattern of its image where it has no
# name; `signal` is that of the report; `says` are patterns that have to be found in what
# the program writes, without us and with us; `files` are patterns of files that it
# leaves; `others` are signals that processes of it end by when the one that crashed is gone,
# now and then. How it ends is not written down: it has to end as it does without us.
#
# To add a way of watching programs: append it to WAYS; a row says in `ways` which of them
# it is for, where it is not for all.
#
# CRASHHOOK_ROWS=PATTERN runs those whose name it matches, CRASHHOOK_RECOVERIES is how many
# faults a handler recovers from. CRASHHOOK_RUNTIMES=FILE writes the table of docs/reference/runtimes.md.

import atexit
import collections
import glob
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import harness
from harness import AGENT, BUILD, CRASHHOOK, FULL, SOURCE, Scene, crashed_thread, frames_of, names_of
from place import no_rust, no_sys_ptrace, not_for_others, rust_compiler

WAYS = ("preload", "trace")
PRELOAD = ("preload",) # what `run --via auto` does not trace
TRACE = ("trace",)
PROGRAMS = os.path.join(SOURCE, "tests", "integration", "programs")
BOUND_S = 600 if FULL else 60 # a traced fault takes two changes of process
RECOVERIES = os.environ.get("CRASHHOOK_RECOVERIES", "100000" if FULL else "10000")
POSTGRES = max(glob.glob("/usr/lib/postgresql/*/bin"), default="")

Row = collections.namedtuple("Row", "name command needs prepare frame signal says files "
                             "variables ways others lacks",
                             defaults=((), None, "bug", "SIGSEGV", (), (), {}, WAYS, (), str))

# The master goes on when a worker has died, and makes another.
AWAIT_WORKER = ("nginx -p . -c nginx.conf & for i in $(seq 400); do "
                "grep -qs 'exited on signal' log && break; sleep 0.1; done; "
                "kill $!; wait $!; cat log; exit 1")

# Its variants have no names in AArch64's C library where its debug files are not installed.
STRLEN = "strlen" if platform.machine() == "x86_64" else "strlen|^ in libc.so"
HANDLERS = "{build}/tests/programs/own_handlers"
GOCACHE = f"GOCACHE={harness.GO_CACHE}"
# Programs that drop their privileges still have to be able to read it.
FAULTY_FOLDER = tempfile.mkdtemp(prefix="crashhook-test.")
atexit.register(shutil.rmtree, FAULTY_FOLDER, ignore_errors=True)
os.chmod(FAULTY_FOLDER, 0o755)
FAULTY = shutil.copy(harness.program("libfaulty_thread.so"), FAULTY_FOLDER)


def compiled(*command):
    """prepare: runs a compiler in the row's folder."""
    def prepare(folder):
        subprocess.run([filled(word, folder) for word in command], cwd=folder, check=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return prepare


def filled(text, folder):
    """text with the places that rows speak of."""
    for name, place in (("{programs}", PROGRAMS), ("{build}", BUILD), ("{folder}", folder),
                        ("{postgres}", POSTGRES),
                        ("{rustc}", rust_compiler()),
                        ("{faulty}", FAULTY)):
        text = text.replace(name, place)
    return text


def own_handler(way, end):
    return Row(f"own handler by {way}, ends by {end}", [HANDLERS, way, end],
               says=["own handler"], ways=WAYS if FULL or way == "siginfo" else PRELOAD)


def faulty(name, command, thread_of=None, **rest):
    """A program that is not ours, in a thread of which a write goes wrong."""
    rest.setdefault("frame", "faulty_thread_bug")
    rest["variables"] = {"LD_PRELOAD": "{faulty}", "FAULT_IN": thread_of or name,
                         **rest.get("variables", {})}
    return Row(name, command, **rest)


ROWS = [own_handler(way, end)
        for way in ("sigaction", "signal", "bsd_signal", "sysv_signal", "sigset", "siginfo")
        for end in ("default-raise", "default-return", "restore-return", "restore-raise",
                    "unblock-raise", "abort", "exit", "_exit", "_Exit", "quick_exit",
                    "chain", "fork")
        if FULL or way == "siginfo" or end in ("default-raise", "abort")]
# Signals that are not crashes: those that libc sends are seen from inside too. A handler
# set by siginfo blocks all signals, so that they come when it has returned.
ROWS += [Row(f"own handler, ends by {end}", [HANDLERS, "sigaction", end], says=["own handler"])
         for end in ("raise-term", "kill-int", "kill-kill", "tgkill-pipe", "pthread-kill-usr1",
                     "sigqueue-usr2", "harmless-then-abort")]
ROWS += [Row(f"own handler, ends by {end}", [HANDLERS, "sigaction", end], says=["own handler"],
             ways=TRACE) for end in ("raw-kill", "alarm")]
ROWS += [Row(f"own handler in a thread, ends by {end}", [HANDLERS, "sigaction", end, "thread"],
             says=["own handler"]) for end in ("kill-int", "kill-kill", "exit")]
ROWS += [Row("own handler in one of many threads, ends by kill-kill",
             [HANDLERS, "sigaction", "kill-kill", "threads"], says=["own handler"])]
ROWS += [Row("own handler that blocks signals, ends by raise-term",
             [HANDLERS, "siginfo", "raise-term"], says=["own handler"])]
ROWS += [
    faulty("node", ["node", "-e", "setInterval(() => {}, 1000)"], needs=["node"]),
    Row("ruby", ["ruby", "-rfiddle", "-e", "Fiddle::Pointer.new(8)[0] = 1"], needs=["ruby"],
        frame="fiddle", says=[r"\[BUG\] Segmentation fault", "Control frame information"]),
    faulty("redis-server", ["redis-server", "--port", "0", "--save", "",
                            "--unixsocket", "{folder}/socket"],
           needs=["redis-server"],
           says=["REDIS BUG REPORT START", "REDIS BUG REPORT END", "crashed by signal: 11"]),
    Row("java", ["java", "-Xmx64m", "-cp", "{folder}", "Fault"], needs=["java", "javac"],
        prepare=compiled("javac", "-nowarn", "-d", "{folder}", "{programs}/Fault.java"),
        frame="Unsafe|libjvm", says=["recovered from", "A fatal error has been detected",
                                     "Problematic frame"], files=["hs_err_pid*.log"]),
    faulty("java, in a thread of C", ["java", "-Xmx64m", "-cp", "{folder}", "Wait"],
           "java", needs=["java", "javac"],
           prepare=compiled("sh", "-c", "echo 'public class Wait { public static void "
                            "main(String[] a) throws Exception { System.in.read(); } }' "
                            ">Wait.java && javac Wait.java"),
           says=["A fatal error has been detected"], files=["hs_err_pid*.log"]),
    Row("Go with cgo", ["{folder}/fault"], needs=["go"],
        prepare=compiled("env", "GO111MODULE=off", "GOFLAGS=", GOCACHE, "HOME={folder}", "go", "build", "-o",
                         "{folder}/fault", "{programs}/fault.go"),
        frame="boom", says=["recovered from 1000", "SIGSEGV: segmentation violation",
                            r"goroutine \d+"]),
    Row("Go without cgo", ["{folder}/leaf"], needs=["go"], ways=TRACE,
        prepare=compiled("env", "GO111MODULE=off", "GOFLAGS=", GOCACHE, "CGO_ENABLED=0",
                         "HOME={folder}", "go", "build", "-o", "{folder}/leaf",
                         "{programs}/leaf.go"),
        frame="^main.leaf in", says=["SIGSEGV: segmentation violation", r"goroutine \d+"]),
    Row("Rust, a stack overflow of a thread", ["{folder}/overflow", "thread"], needs=["rustc"],
        prepare=compiled("{rustc}", "-g", "-O", "-o", "{folder}/overflow",
                         "{programs}/overflow.rs"),
        frame="overflow|black_box", says=["has overflowed its stack"]),
    Row("Rust, a stack overflow of main", ["{folder}/overflow", "main"], needs=["rustc"],
        prepare=compiled("{rustc}", "-g", "-O", "-o", "{folder}/overflow",
                         "{programs}/overflow.rs"),
        frame="overflow|black_box", says=["has overflowed its stack"]),
    Row("Rust, an abort", ["{folder}/overflow", "abort"], needs=["rustc"],
        prepare=compiled("{rustc}", "-g", "-O", "-o", "{folder}/overflow",
                         "{programs}/overflow.rs"),
        frame="pthread_kill|raise|abort", signal="SIGABRT"),
    Row("Rust, a panic that aborts", ["{folder}/panics", "index"], needs=["rustc"],
        prepare=compiled("{rustc}", "-g", "-Cpanic=abort", "-o", "{folder}/panics",
                         "{programs}/panics.rs"),
        frame="pthread_kill|raise|abort", signal="SIGABRT", says=["panicked at"]),
    Row("python", ["/usr/bin/python3", "-c", "import ctypes; ctypes.string_at(8)"],
        needs=["/usr/bin/python3"], frame=STRLEN),
    Row("python with faulthandler",
        ["/usr/bin/python3", "-X", "faulthandler", "-c", "import ctypes; ctypes.string_at(8)"],
        needs=["/usr/bin/python3"], frame=STRLEN,
        says=["Fatal Python error: Segmentation fault", "string_at"]),
    Row("php", ["php", "-r", "FFI::string(FFI::cast('char*', 8));"],
        needs=["php"], frame="strlen|zend|FFI|ffi|php"),
    Row("perl", ["perl", "-e", "unpack('p', pack('Q', 8))"], needs=["perl"], frame=f"{STRLEN}|[Pp]erl"),
    faulty("memcached that drops its privileges",
           ["memcached", "-u", "nobody", "-s", "socket"], "memcached", # where cwd is
           needs=["memcached"], prepare=lambda folder: os.chmod(folder, 0o777),
           variables={"CRASHHOOK_MODE": "daemon"}, lacks=no_sys_ptrace),
    faulty("nginx, a worker", ["sh", "-c", AWAIT_WORKER], "nginx", needs=["nginx"],
           prepare=lambda folder: prepare_nginx(folder), says=["exited on signal 11"],
           variables={"FAULT_FORKED": "yes", "FAULT_ONCE": "{folder}/once",
                      "CRASHHOOK_MODE": "daemon"}, lacks=no_sys_ptrace),
    faulty("gdb", ["gdb", "-q", "-nx"], needs=["gdb"], says=["Fatal signal: Segmentation fault"]),
    faulty("clang", ["clang", "-x", "c", "-fsyntax-only", "-"], needs=["clang"],
           says=["PLEASE submit a bug report", "#0 0x"]),
    faulty("cc1", ["gcc", "-x", "c", "-fsyntax-only", "-"], needs=["gcc"],
           says=["internal compiler error: Segmentation fault"]),
    faulty("chromium", ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                        "--user-data-dir={folder}/profile", "--remote-debugging-port=0",
                        "about:blank"], needs=["chromium"],
           variables={"FAULT_UNLESS": "--type="}, others=["SIGTRAP", "SIGKILL"]),
]
ROWS += [
    Row(f"{compiler} with {name}", ["{folder}/sanitized"], needs=[compiler],
        prepare=compiled(compiler, "-g", "-O1", f"-fsanitize={name}", "-o",
                         "{folder}/sanitized", "{programs}/null_pointer.c"),
        says=["DEADLYSIGNAL"] if (compiler, name) != ("gcc", "undefined") else [],
        ways=PRELOAD)
    for compiler in ("gcc", "clang") for name in ("address", "thread", "undefined")]
ROWS += [
    Row("musl", ["{folder}/program"], needs=["musl-gcc"],
        prepare=compiled("musl-gcc", "-g", "-O1", "-o", "{folder}/program",
                         "{programs}/null_pointer.c")),
    Row("musl, static", ["{folder}/program"], needs=["musl-gcc"], ways=TRACE,
        prepare=compiled("musl-gcc", "-static", "-g", "-O1", "-o", "{folder}/program",
                         "{programs}/null_pointer.c")),
    Row("busybox, static", ["busybox", "sh", "-c", "kill -SEGV $$"], needs=["busybox"],
        ways=TRACE, frame="busybox"),
    Row("i386", ["{folder}/program"], needs=["gcc"], ways=TRACE, frame="^write_through in program$",
        prepare=compiled("gcc", "-m32", "-nostdlib", "-static", "-no-pie", "-fno-pie", "-ffreestanding",
                         "-g", "-O1", "-o", "{folder}/program", "{programs}/narrow.c")),
]


def linked(row):
    """The row for a program that links libcrashhook.a, which runs as it is."""
    return row._replace(name=f"{row.name}, linked", ways=("linked",),
                        command=[HANDLERS + "_static", *row.command[1:]])


ROWS += [linked(own_handler("sigaction", end))
         for end in ("default-raise", "abort", "exit", "_exit", "quick_exit")]
ROWS += [
    Row("Rust, a stack overflow of a thread, linked", ["{folder}/overflow", "thread"],
        needs=["rustc"], frame="overflow|black_box", says=["has overflowed its stack"],
        ways=("linked",),
        prepare=compiled("{rustc}", "-g", "-O", "-Clink-arg=-Wl,-u,crashhook_install",
                         "-Clink-arg={build}/lib/libcrashhook.a", "-Clink-arg=-lc",
                         "-o", "{folder}/overflow", "{programs}/overflow.rs")),
    # With clang 14 its runtime calls a sigaction that it has not found, in an empty program too,
    # unless it is to handle no signal.
    Row("clang with undefined, static", ["{folder}/sanitized"], needs=["clang"], ways=TRACE,
        prepare=compiled("clang", "-static", "-g", "-O1", "-fsanitize=undefined", "-o",
                         "{folder}/sanitized", "{programs}/null_pointer.c"), frame="^ in $|^bug in sanitized$"),
    Row("clang with undefined, static, linked", ["{folder}/sanitized"], needs=["clang"],
        ways=("linked",),
        variables={"UBSAN_OPTIONS": ":".join(f"handle_{name}=0" for name in (
            "segv", "sigbus", "abort", "sigill", "sigfpe", "sigtrap"))},
        prepare=compiled("clang", "-static", "-g", "-O1", "-fsanitize=undefined", "-o",
                         "{folder}/sanitized", "{programs}/null_pointer.c",
                         "-Wl,-u,crashhook_install", "{build}/lib/libcrashhook.a")),
    # setpriv is the program itself after its exec, so that it can be killed.
    Row("postgres", ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups",
                     "{postgres}/postgres", "--single", "-D", "{folder}/data", "postgres"],
        needs=["setpriv", "runuser", "{postgres}/initdb"], frame="faulty_thread_bug",
        lacks=lambda: not_for_others(harness.BUILD),
        variables={"LD_PRELOAD": "{faulty}", "FAULT_IN": "postgres",
                   "CRASHHOOK_MODE": "daemon"},
        prepare=lambda folder: prepare_postgres(folder)),
]


def prepare_nginx(folder):
    """Its workers are another user's, where it is started by root."""
    with open(os.path.join(folder, "nginx.conf"), "w", encoding="ascii") as file:
        file.write("daemon off; worker_processes 1; pid pid; error_log log; events {}\n")
        if os.getuid() == 0:
            file.write("user nobody nogroup;\n")


def prepare_postgres(folder):
    os.chmod(folder, 0o777)
    subprocess.run(["runuser", "-u", "postgres", "--", filled("{postgres}/initdb", folder),
                    "-D", os.path.join(folder, "data"), "--no-sync"], cwd=folder, check=True,
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Runtimes(unittest.TestCase):
    maxDiff = None
    table = []

    def run_row(self, row, way, scene):
        """Runs the row's program; way None is without us. Returns how it ended."""
        command = [filled(word, scene.folder) for word in row.command]
        variables = {name: filled(text, scene.folder)
                     for name, text in row.variables.items()}
        scene.preload = None
        if way is None:
            variables["CRASHHOOK_ENABLE"] = "no"
        elif way == "linked":
            variables["CRASHHOOK_AGENT"] = AGENT
        else:
            command = [CRASHHOOK, "run", "--via", way, "--", *command]
        process = subprocess.Popen(
            command, cwd=scene.folder, env=scene.environment(variables),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        began = time.monotonic()
        try:
            out = self.read_to_end(process)
        finally:
            process.stdin.close()
        return process.returncode, out, time.monotonic() - began

    @staticmethod
    def read_to_end(process):
        """What it wrote; its standard input stays open, so that it waits for us."""
        timer = threading.Timer(BOUND_S, process.kill)
        timer.start()
        with process.stdout as stream:
            out = stream.read().decode(errors="replace")
        process.wait()
        timer.cancel()
        return out

    def check(self, row, way, plain, scene):
        status, out, seconds = self.run_row(row, way, scene)
        self.assertEqual(status, plain[0], out[:3000])
        self.assertLess(seconds, BOUND_S)
        for text in row.says:
            for way_of, written in (("without us", plain[1]), (way, out)):
                self.assertTrue(re.search(text, written),
                                f"{text} is not in what it wrote {way_of}: {written[:3000]}")
        for pattern in row.files:
            self.assertTrue(glob.glob(os.path.join(scene.folder, pattern)), pattern)
        reports = [report for report in scene.reports()
                   if report["crash"]["name"] not in row.others]
        self.assertEqual(len(reports), 1,
                         [(report["crash"], report["process"]) for report in reports])
        crash = reports[0]["crash"]
        self.assertEqual(crash["name"], row.signal)
        first = frames_of(crashed_thread(reports[0]))[0]
        image = reports[0]["images"][first["image"]]["name"] if "image" in first else ""
        self.assertRegex(f"{first.get('function', '')} in {image}", row.frame)

    def test_each_crashes_as_without_us_and_is_reported_as_its_first_fault(self):
        wanted = os.environ.get("CRASHHOOK_ROWS", "")
        for row in ROWS:
            if not re.search(wanted, row.name):
                continue
            missing = [name for name in row.needs
                       if shutil.which(filled(name, "")) is None
                       or name == "rustc" and no_rust()]
            if row.lacks():
                print(f"skipped: {row.name}: {row.lacks()}")
                continue
            if missing:
                self.table.append((row, None, f"not installed: {', '.join(missing)}"))
                print(f"skipped: {row.name}: {missing[0]} is not installed")
                continue
            with Scene() as scene:
                if row.prepare:
                    row.prepare(scene.folder)
                plain = self.run_row(row, None, scene)
                self.assertNotEqual(plain[0], 0, plain[1])
                self.assertEqual(scene.reports(), [])
            for way in row.ways:
                with self.subTest(row=row.name, way=way), Scene() as scene:
                    if row.prepare:
                        row.prepare(scene.folder)
                    self.check(row, way, plain, scene)
                    self.table.append((row, way, plain[0]))

    def test_faults_that_a_handler_recovers_from_are_no_crashes(self):
        for recovery in ("context", "mprotect", "jump"):
            for way in WAYS:
                with self.subTest(recovery=recovery, way=way), Scene() as scene:
                    row = Row("recovers", ["{build}/tests/programs/recovers", recovery,
                                           RECOVERIES])
                    status, out, _ = self.run_row(row, way, scene)
                    self.assertEqual(status, 0, out)
                    self.assertEqual(scene.reports(), [])

    def test_a_handler_set_by_a_direct_system_call_is_taken_back_for_every_signal(self):
        for name in ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP"):
            with self.subTest(name), Scene() as scene:
                ended = scene.run([harness.program("raw_actions"), name])
                self.assertEqual((ended.status, ended.stderr), (9, "raw handler\n"))
                report, = scene.reports()
                self.assertEqual(report["crash"]["name"], name)
                self.assertEqual(report["crash"]["then"], [{"exit_status": 9}])
                self.assertIn("fault", names_of(crashed_thread(report)))

    def test_whoever_asks_for_an_action_is_answered_as_without_us(self):
        with Scene() as scene:
            programs = [harness.program("answers_static")]
            for flag in ("-static", "-static-pie"):
                programs.append(os.path.join(scene.folder, "answers" + flag))
                subprocess.run(["gcc", flag, "-fuse-ld=bfd", "-D_GNU_SOURCE", "-O1", "-w", "-pthread",
                                os.path.join(PROGRAMS, "handlers", "answers.c"), "-o", programs[-1],
                                "-Wl,-u,crashhook_install",
                                os.path.join(BUILD, "lib", "libcrashhook.a")], check=True)
            scene.preload = None
            plain = scene.run([harness.program("answers")])
            self.assertEqual(plain.status, 0)
            for path in programs:
                with self.subTest(path):
                    ended = scene.run([path], CRASHHOOK_AGENT=AGENT)
                    self.assertEqual((ended.signal, ended.stdout), (0, plain.stdout))
            scene.preload = harness.HANDLER
            ours = scene.run([harness.program("answers")])
            self.assertEqual(ours.stdout, plain.stdout)
            # raise(SIGABRT) has a handler that returns: that is no abort.
            self.assertEqual(scene.reports(), [])

    def test_an_abort_whose_handler_returns_is_reported_once(self):
        with Scene() as scene:
            source = os.path.join(scene.folder, "returns.c")
            with open(source, "w", encoding="ascii") as file:
                file.write("#include <signal.h>\n#include <stdlib.h>\n"
                           "static void handle(int n) { (void)n; }\n"
                           "int main(void) { signal(SIGABRT, handle); raise(SIGABRT); abort(); }\n")
            for flag in ("-pie", "-no-pie", "-static", "-static-pie"):
                with self.subTest(flag):
                    shutil.rmtree(scene.spool, ignore_errors=True)
                    path = os.path.join(scene.folder, "returns" + flag)
                    subprocess.run(["gcc", flag, "-fuse-ld=bfd", "-pthread", source, "-o", path,
                                    "-Wl,-u,crashhook_install",
                                    os.path.join(BUILD, "lib", "libcrashhook.a")], check=True)
                    scene.preload = None
                    ended = scene.run([path], CRASHHOOK_AGENT=AGENT)
                    self.assertEqual(ended.signal, signal.SIGABRT)
                    report, = scene.reports()
                    self.assertIn("abort", names_of(crashed_thread(report)))

    def test_where_handlers_come_last_each_fault_is_reported_first_and_once(self):
        for end, died in (("_exit", 0), ("abort", 6), ("replace", 6),
                          ("default-return", 11), ("restore-raise", 11),
                          ("unblock-raise", 11), ("raise-term", 15), ("chain", 6)):
            with self.subTest(end=end), Scene() as scene:
                ended = scene.run([harness.program("own_handlers"), "sigaction", end],
                                  CRASHHOOK_HANDLERS="last")
                self.assertEqual((ended.status, ended.signal),
                                 (None if died else 7, died))
                self.assertEqual(ended.stderr, "own handler\n")
                report, = scene.reports()
                self.assertEqual(report["crash"]["name"], "SIGSEGV")
                self.assertNotIn("then", report["crash"])
                self.assertEqual(names_of(crashed_thread(report))[0], "bug")

    def test_what_a_handler_did_is_told_after_the_fault(self):
        for end, then in (("abort", {"signal": 6, "name": "SIGABRT", "code": -6}),
                          ("exit", {"exit_status": 7}),
                          ("raise-term", {"signal": 15, "name": "SIGTERM", "code": -6}),
                          ("kill-kill", {"signal": 9, "name": "SIGKILL", "code": 0})):
            for way in WAYS:
                with self.subTest(end=end, way=way), Scene() as scene:
                    self.run_row(Row("", [HANDLERS, "sigaction", end]), way, scene)
                    report, = scene.reports()
                    self.assertEqual(report["crash"]["then"], [then])
                    shown = scene.command("show", scene.report_paths()[0]).stdout
                    self.assertIn("Then the program's own handler", shown)

    def test_a_core_tells_the_fault_whose_handler_raised(self):
        if not harness.cores_land_in_folder():
            self.skipTest("core_pattern cannot be set")
        # With the siginfo in the kernel's frame, and where the handler asked for none.
        for way in ("siginfo", "signal"):
            with self.subTest(way=way), Scene() as scene:
                scene.preload = None
                ended = scene.run([harness.program("own_handlers"), way, "abort"], core=True)
                core = scene.core(ended.pid)
                done = scene.command("core", "--json", core)
                report = json.loads(done.stdout)
                crash = report["crash"]
                self.assertEqual((crash["name"], crash["code_name"], crash["address"]),
                                 ("SIGSEGV", "SEGV_MAPERR", "0x18"))
                self.assertEqual(crash["then"][0]["name"], "SIGABRT")
                self.assertEqual(frames_of(crashed_thread(report))[0]["function"], "bug")


TABLE_HEAD = """# Runtimes and programs with handlers of their own

Each was crashed for real, with and without crashhook: there was one report, whose first frame was in what the second column
names (a pattern); the program's own dump and messages were there, and it ended as it does without us. `linked`: the program
links libcrashhook.a; `preload` and `trace`: under `crashhook run --via`. Sanitizers are never traced. What a handler may
do, and what of it is not seen, is in [handlers.md](handlers.md). The tests of this page are in
`tests/integration/test_runtimes.py`, which writes it:

    CRASHHOOK_RUNTIMES=docs/reference/runtimes.md CRASHHOOK_BUILD=build/release /usr/bin/python3 tests/integration/test_runtimes.py

redis-server tests, when it has crashed, the memory that /proc/PID/maps lists as readable and writable. With the library
preloaded that test passes, and redis's own report is complete, as without it: no page of ours is listed so and faults when
it is touched. Sixteen alternate stacks share one mapping and the guard below it. A process with 10,000 threads has 20,024
mappings without the library and 21,289 with it; a guard for each stack would make 40,061.

"""


def write_table(path):
    """The table of docs/reference/runtimes.md, of the rows that have just been run."""
    ways = list(dict.fromkeys(way for _, way, _ in Runtimes.table if way is not None))
    found = {}
    for row, way, status in Runtimes.table:
        found.setdefault(row.name, {})[way] = (row, status)
    with open(path, "w", encoding="utf-8") as file:
        file.write(TABLE_HEAD)
        file.write("| crashed | reported as | ends with | " + " | ".join(ways) + " |\n")
        file.write("| --- " * (3 + len(ways)) + "|\n")
        for name, by_way in found.items():
            row, status = next(iter(by_way.values()))
            ends = (signal.Signals(-status).name if isinstance(status, int) and status < 0
                    else f"status {status}" if isinstance(status, int) else status)
            marks = " | ".join("yes" if way in by_way else "" for way in ways)
            frame = row.frame.replace("|", "\\|")
            file.write(f"| {name} | {row.signal} in `{frame}` | {ends} | {marks} |\n")


def write_table_at_exit():
    path = os.environ.get("CRASHHOOK_RUNTIMES")
    if path is not None:
        atexit.register(write_table, path)


if __name__ == "__main__":
    write_table_at_exit()
    harness.main()
