# SPDX-License-Identifier: Apache-2.0
#
# Programs of many kinds, in the surroundings that programs have, each of which the node agent
# has to report when the kernel hands it over, by a pipe and by a socket. Where the handler can
# report the same crash, both reports are in one group. Cores are a setting of the machine, so
# the table is gone through at the full count alone; otherwise gdb stands for the kernel, for a
# few of its rows.

import collections
import ctypes
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import unittest

import core_handler
import harness
import test_runtimes
from core_handler import WORKER, become, ledger
from harness import SEED, Scene, crashed_thread, example, names_of, program, wait_for
from place import not_for_others

# A row's frame is a function that the crashed thread has to have. grouped: the handler's report
# of it is in the same group. start: keywords for Popen.
Row = collections.namedtuple("Row", "name command frame grouped start variables needs",
                             defaults=(None, False, {}, {}, ()))
PLAIN = program("core_threads_pie")
STATIC = program("core_threads_static")
GIVES_UP = program("gives_up_root_alone")
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_NAME, PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP = 15, 38, 24

KILLED_BY_FILTER = """
import ctypes, os, struct
getpriority, kill = {"x86_64": 140, "aarch64": 141}[os.uname().machine], 0x80000000
steps = struct.pack("=HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, getpriority, 6, 0, 0, kill,
                    6, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(steps)
filter = struct.pack("@HP", 4, ctypes.addressof(buffer))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
libc.prctl(22, 2, filter, 0, 0)
os.getpriority(0, 0)
"""
RESERVES = ("import ctypes, mmap\n"
            "m = mmap.mmap(-1, 20 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n"
            "m[5 << 30] = 1\nctypes.string_at(0)\n")
MANY_MAPPINGS = ("import ctypes, mmap\n"
                 "m = [mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,"
                 " mmap.PROT_READ if i % 2 else mmap.PROT_READ | mmap.PROT_WRITE)"
                 " for i in range(20000)]\nctypes.string_at(0)\n")
IN_MEMORY = ("import os, sys\nfd = os.memfd_create('x')\n"
             "os.write(fd, open(sys.argv[1], 'rb').read())\n"
             "os.execve(fd, ['in memory', '3'], os.environ)\n")
FORKED = ("import ctypes, os, sys\nif os.fork() == 0:\n    ctypes.string_at(0)\n"
          "os.wait()\nctypes.string_at(0)\n")
FAULTS = ("null_member", "null_far", "null_call", "stack_main", "stack_thread", "stack_array",
          "write_constant", "write_protected", "call_data", "call_garbage", "read_garbage",
          "non_canonical", "unmapped", "truncated_file", "divide_by_zero", "illegal",
          "breakpoint", "privileged", "unaligned_vector", "bad_frame", "forbidden_call",
          "out_of_memory", "raise_it", "loaded_exception_in_thread")
WORST = ("without-stack", "in-coroutine", "looping-frames", "in-vdso", "in-signal-handler",
         "beside-spinner", "beside-blocker", "at-end-of-mapping", "without-folder",
         "without-main-thread")
# Rows of test_runtimes.py.
RUNTIMES = ("node", "ruby", "java", "Go with cgo", "Go without cgo",
            "Rust, a stack overflow of a thread", "Rust, an abort", "Rust, a panic that aborts",
            "python with faulthandler", "php", "perl", "musl", "musl, static",
            "busybox, static", "redis-server", "gcc with address")


# What ASan finds ends the program by exit otherwise, and no fault of it has a core.
ENDS_BY_SIGNAL = "abort_on_error=1:disable_coredump=0"


def limit(what, value):
    return lambda: resource.setrlimit(what, (value, value))


def plain(name, preexec=None, before=(), **rest):
    """A program in surroundings of which it knows nothing: set before its start, or by a
    command that starts it."""
    return Row(name, [*before, PLAIN, "3"], "crash", start={"preexec_fn": preexec} if preexec else {},
               needs=before[:1], **rest)


def without_proc():
    return ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]


def without_streams():
    for fd in range(3):
        os.close(fd)


SURROUNDINGS = [
    plain("nothing special", grouped=True),
    plain("another user", become(WORKER)),
    plain("no privileges to gain", lambda: LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)),
    plain("a smaller bounding set", lambda: LIBC.prctl(PR_CAPBSET_DROP, 21, 0, 0, 0)),
    plain("a blocked signal", lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGSEGV})),
    plain("an ignored signal", lambda: signal.signal(signal.SIGSEGV, signal.SIG_IGN)),
    plain("no core limit", limit(resource.RLIMIT_CORE, 0)),
    plain("no file size", limit(resource.RLIMIT_FSIZE, 0)),
    plain("few descriptors", limit(resource.RLIMIT_NOFILE, 4)),
    plain("no processes", lambda: (limit(resource.RLIMIT_NPROC, 4)(), become(WORKER)())),
    plain("no streams", without_streams),
    plain("a session of its own", os.setsid),
    plain("a low priority", lambda: os.nice(19)),
    plain("idle scheduling", lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))),
    plain("real-time scheduling",
          lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))),
    plain("a user namespace", before=["unshare", "--user", "--map-root-user"]),
    plain("a mount namespace", before=["unshare", "--mount"]),
    plain("a network namespace", before=["unshare", "--net", "--ipc", "--uts"]),
    plain("a cgroup namespace", before=["unshare", "--cgroup"]),
    plain("a PID namespace", before=["unshare", "--pid", "--fork", "--kill-child"]),
    plain("all namespaces", before=["unshare", "--user", "--map-root-user", "--mount", "--pid",
                                    "--fork", "--net", "--ipc", "--uts", "--mount-proc"]),
    plain("no /proc", before=without_proc()),
    plain("many arguments and variables", variables={f"V{i}": "x" * 100 for i in range(3000)}),
    Row("static", [STATIC, "3"], "crash"),
    Row("a fixed address", [program("core_threads_no_pie"), "3"], "crash", True),
    Row("1,000 threads", [PLAIN, "1000"], "crash"),
    Row("200 threads of a static program", [STATIC, "200"], "crash"),
    Row("an abort with threads", [PLAIN, "3", "abort"], "crash", True),
    Row("inside of a handler", [PLAIN, "3", "handler"], "crash"),
    Row("20 GiB reserved", [sys.executable, "-c", RESERVES]),
    Row("20,000 mappings", [sys.executable, "-c", MANY_MAPPINGS]),
    Row("a program in memory", [sys.executable, "-c", IN_MEMORY, PLAIN], "crash"),
    Row("a parent of one that crashed", [sys.executable, "-c", FORKED]),
    Row("Python", [sys.executable, "-c", "import ctypes\nctypes.string_at(0)\n"]),
    Row("an exception", [example("uncaught")], None, True),
    Row("an inlined call", [example("null_write")], "write_line", True),
    Row("a heap that found damage", [example("heap_abort")], None, True),
    Row("an IFUNC", [program("resolver_alone")], "resolve_answer"),
    Row("a second C library", [program("second_libc_alone"),
                               program("libsecond_libc_library.so"), "read_number_in_thread"],
        "read_number"),
    Row("strict seccomp", [program("strict_alone"), "alone"], "write_null"),
    Row("strict seccomp elsewhere", [program("strict_alone"), "elsewhere"], "write_null"),
    Row("seccomp that kills", [sys.executable, "-c", KILLED_BY_FILTER]),
    Row("seccomp that refuses", [program("sandboxed"), "ptrace,process_vm_readv,pread64"],
        "crash_here"),
    Row("seccomp that forbids processes", [program("confined"), "killed"], "crash"),
    Row("Landlock", [program("landlocked")], "parse_input"),
    Row("a daemon that gave up root", [GIVES_UP, str(WORKER)],
        "serve_request"),
    Row("a replaced handler", [program("own_handlers"), "sigaction", "default-raise"]),
    Row("a vforked child", [program("sandboxed"), "vfork"], "crash_here"),
    Row("a signal from outside", ["sh", "-c", "kill -QUIT $$"]),
    Row("processor time", [sys.executable, "-c", "while True: pass"],
        start={"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, 2))}),
]


def faults():
    for name in FAULTS:
        yield Row(name, [program("faults"), name], None, True)
    for name in WORST:
        yield Row(name, [program("worst"), name])


def of_files(scene):
    """Rows whose program is prepared in the scene's folder."""
    jail = os.path.join(scene.folder, "jail")
    os.makedirs(jail)
    shutil.copy(STATIC, jail)
    inside = "/" + os.path.basename(STATIC)
    yield Row("a chroot", [inside, "3"], "crash", start={"preexec_fn": lambda: os.chroot(jail)})
    for name, mode in (("setuid", 0o4755), ("setgid", 0o2755)):
        path = os.path.join(scene.folder, name)
        shutil.copy(PLAIN, path)
        os.chown(path, WORKER + 1, WORKER + 1)
        os.chmod(path, mode)
        yield Row(name, [path, "3"], "crash", start={"preexec_fn": become(WORKER)})
    capable = os.path.join(scene.folder, "capable")
    shutil.copy(PLAIN, capable)
    if shutil.which("setcap"):
        subprocess.run(["setcap", "cap_net_raw+ep", capable], check=True)
        yield Row("capabilities", [capable, "3"], "crash", start={"preexec_fn": become(WORKER)})
    hidden = os.path.join(scene.folder, "hidden")
    os.mkdir(hidden)
    yield Row("a program on a mount of its own",
              ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none {hidden} && "
               f'cp "$0" {hidden}/p && exec {hidden}/p 3', PLAIN], "crash", needs=["unshare"])
    removes = scene.copy(program("removes_itself"))
    yield Row("a deleted program", [removes], "use_old_version")
    odd = os.path.join(scene.folder, "a b \x1b[31m é")
    shutil.copy(PLAIN, odd)
    yield Row("an odd name", [odd, "3"], "crash")
    yield plain("an odd name of the thread",
                lambda: LIBC.prctl(PR_SET_NAME, b"x\n) R 1 (\x1b[2J", 0, 0, 0))


def runtimes(scene):
    for row in test_runtimes.ROWS:
        if row.name not in RUNTIMES:
            continue
        missing = [name for name in row.needs if shutil.which(test_runtimes.filled(name, "")) is None]
        if missing:
            print(f"left out: {row.name}: there is no {missing[0]}")
            continue
        folder = os.path.join(scene.folder, row.name.replace(" ", "-"))
        os.mkdir(folder)
        if row.prepare is not None:
            row.prepare(folder)
        variables = {key: test_runtimes.filled(text, folder) for key, text in row.variables.items()}
        yield Row(row.name, [test_runtimes.filled(word, folder) for word in row.command],
                  start={"cwd": folder}, variables={**variables, "GOTRACEBACK": "crash",
                                                    "ASAN_OPTIONS": ENDS_BY_SIGNAL})


@unittest.skipUnless(core_handler.OWN_KERNEL, "changes settings of the whole machine")
class Programs(core_handler.Kernel):
    def new_line(self, scene, before, pid, command):
        """The ledger's line of the row: of a program in its command, which what was started
        may have started, otherwise of what was started."""
        def find():
            new = ledger(scene)[before:]
            return (next((line for line in new if line["program"] in command), None) or
                    next((line for line in new if line["pid"] == pid), None))
        return wait_for(find, 60)

    def check(self, scene, row):
        before = len(ledger(scene))
        # Other users may not read the build.
        row = row._replace(command=[scene.copy(word) if word in (PLAIN, STATIC, GIVES_UP) else word
                                    for word in row.command])
        options = {"cwd": "/", "stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL,
                   "stderr": subprocess.DEVNULL, **row.start}
        environment = {**scene.environment(row.variables), "CRASHHOOK_SPOOL": ""}
        with subprocess.Popen(row.command, env=environment, **options) as process:
            process.wait(timeout=60)
        line = self.new_line(scene, before, process.pid, row.command)
        self.assertIn("report", line, line)
        path = os.path.join(scene.spool, line["report"] + ".json")
        report = harness.expanded(harness.read_when_done(path))
        self.assertEqual(report["agent"]["tier"], "procmem")
        names = names_of(crashed_thread(report))
        if row.frame is not None:
            self.assertIn(row.frame, names)
        return report

    def check_group(self, row, report):
        with Scene() as linked:
            linked.run(row.command)
            wanted, = linked.reports()
        self.assertEqual((report["fingerprint"], report["title"]),
                         (wanted["fingerprint"], wanted["title"]))

    def check_all(self, rows, *options):
        """rows: makes them, given a scene."""
        for form in self.forms():
            count = grouped = 0
            with Scene() as scene, self.handed_over(scene, form, "--per-minute=60000", *options):
                core_handler.write("suid_dumpable", "2")
                for row in rows(scene):
                    if row.needs and shutil.which(row.needs[0]) is None:
                        print(f"left out: {row.name}: there is no {row.needs[0]}")
                        continue
                    with self.subTest(form=form, program=row.name):
                        report = self.check(scene, row)
                        count += 1
                        if row.grouped:
                            self.check_group(row, report)
                            grouped += 1
            print(f"{form}: {count} programs, {grouped} in the handler's group")

    def test_surroundings(self):
        self.check_all(lambda _: SURROUNDINGS)

    def test_faults(self):
        self.check_all(lambda _: faults())

    def test_files(self):
        self.check_all(of_files)

    def test_runtimes(self):
        self.check_all(runtimes)


@unittest.skipUnless(shutil.which("gdb"), "there is no gdb")
class FewPrograms(core_handler.HeldByDebugger):
    def test_some_rows_are_reported_in_the_group_of_the_handlers(self):
        # A root's core is read as a user that owns nothing.
        if os.geteuid() == 0 and not_for_others(harness.BUILD):
            self.skipTest(f"nobody may not read the build: {not_for_others(harness.BUILD)}")
        rows = [row for row in faults() if row.grouped and row.name != "breakpoint"]
        for row in random.Random(SEED).sample(rows, 3):
            with self.subTest(row.name, seed=SEED), Scene() as scene, Scene() as linked:
                scene.preload = None
                os.chmod(scene.folder, 0o755)
                with self.held(scene, row.command) as (pid, core):
                    done = self.report(scene, pid, core)
                self.assertEqual(done.returncode, 0, done.stderr)
                found, = scene.reports()
                linked.run(row.command)
                wanted, = linked.reports()
                self.assertEqual(found["fingerprint"], wanted["fingerprint"])


if __name__ == "__main__":
    harness.main()
