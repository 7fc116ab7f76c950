# SPDX-License-Identifier: Apache-2.0
#
# crashhook node: programs that the kernel holds while it passes on their cores. The
# kernel's own settings are one for the whole machine, so these tests run at the full count
# alone. Without them, gdb holds a program as the kernel does.

import contextlib
import ctypes
import glob
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

import core_handler
import harness
from core_handler import COMMAND, MARK, WORKER, become, kernel_version, ledger
from harness import Scene, crashed_thread, example, names_of, program, wait_for
from place import not_for_others

SIMPLE = program("core_threads_static")
NULL_READ = "import ctypes\nctypes.string_at(0)\n"


class Machine(Scene):
    """A folder that stands for a machine's /, with the kernel's settings in it."""

    def __init__(self, pattern="|/usr/share/apport/apport %p"):
        super().__init__()
        self.values = {"core_pattern": pattern, "core_pipe_limit": "3", "suid_dumpable": "0"}
        for name, value in self.values.items():
            path = self.folder + core_handler.SETTINGS[name]
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as file:
                file.write(value + "\n")

    def settings(self):
        found = {}
        for name, path in core_handler.SETTINGS.items():
            with open(self.folder + path, encoding="ascii") as file:
                found[name] = file.read().strip()
        return found

    def node(self, *arguments):
        return self.command("node", *arguments, "--root", self.folder)


class Installation(unittest.TestCase):
    def test_install_sets_what_it_says_now_and_for_the_next_boot(self):
        with Machine() as machine:
            done = machine.node("install", "--command", COMMAND, "--spool", "/srv/x", "--suid")
            self.assertEqual(done.returncode, 0, done.stderr)
            wanted = {"core_pattern": f"|{COMMAND} node --pipe %P --spool=/srv/x",
                      "core_pipe_limit": "16", "suid_dumpable": "2"}
            self.assertEqual(machine.settings(), wanted)
            with open(machine.folder + "/etc/sysctl.d/61-crashhook-node.conf",
                      encoding="ascii") as file:
                boot = file.read()
            self.assertIn("kernel.core_pattern=" + wanted["core_pattern"], boot)
            self.assertIn("fs.suid_dumpable=2", boot)
            status = machine.node("status")
            self.assertEqual(status.returncode, 0)
            self.assertIn("core_pattern before: |/usr/share/apport/apport %p", status.stdout)

    def test_remove_gives_back_what_was_before_the_first_install(self):
        with Machine() as machine:
            machine.node("install", "--command", COMMAND)
            machine.node("install", "--command", COMMAND, "--per-minute", "5", "--suid")
            self.assertIn("--per-minute=5", machine.settings()["core_pattern"])
            self.assertEqual(machine.node("remove").returncode, 0)
            self.assertEqual(machine.settings(), machine.values)
            self.assertEqual(os.listdir(machine.folder + "/etc/sysctl.d"), [])
            self.assertEqual(machine.node("status").returncode, 1)

    def test_suid_dumpable_is_left_alone_unless_it_is_asked_for(self):
        with Machine() as machine:
            done = machine.node("install", "--command", COMMAND)
            self.assertIn("fs.suid_dumpable is unchanged", done.stdout)
            self.assertEqual(machine.settings()["suid_dumpable"], "0")

    def test_remove_leaves_alone_what_somebody_set_since(self):
        with Machine() as machine:
            machine.node("install", "--command", COMMAND)
            with open(machine.folder + core_handler.SETTINGS["core_pattern"], "w",
                      encoding="ascii") as file:
                file.write("core.%p\n")
            done = machine.node("remove")
            self.assertIn("is not the node agent's and stays: core.%p", done.stderr)
            self.assertEqual(machine.settings()["core_pattern"], "core.%p")

    def test_what_the_kernel_would_cut_or_split_is_refused(self):
        with Machine("core") as machine:
            for spool in ("/" + "x" * 120, "/var/lib/two words", "/var/%p"):
                done = machine.node("install", "--command", COMMAND, "--spool", spool)
                self.assertEqual(done.returncode, 1, spool)
            self.assertEqual(machine.node("install", "--socket", "relative").returncode, 1)
            for option in (["--then"], ["--core", "small"], ["--spool", "/srv/spool"]):
                done = machine.node("install", "--socket", "/run/crashhook/socket", *option)
                self.assertEqual(done.returncode, 1, option)
            self.assertEqual(machine.settings(), machine.values)
            self.assertFalse(os.path.exists(machine.folder + "/var"))
            self.assertEqual(machine.command("node").returncode, 2)
            self.assertEqual(machine.command("node", "--pipe", "x").returncode, 2)


LLDBS = [name for name in ("lldb", "lldb-14", "lldb-19") if shutil.which(name)]


def backtrace_by_lldb(lldb, exe, core):
    """What lldb shows of the crashed thread in a core: its frames, and the variables of those
    that are the program's."""
    frames = [word for n in range(6) for word in ("-o", f"frame select {n}", "-o", "frame variable")]
    done = subprocess.run(
        [lldb, "-x", "-b", "-c", core, exe, "-o", "bt", *frames, "-o", "register read"],
        stdin=subprocess.DEVNULL, check=False, capture_output=True, text=True, timeout=120)
    return done.stdout[done.stdout.index("(lldb) bt"):]


def backtrace_by_gdb(exe, core):
    """What gdb shows of the crashed thread in a core."""
    done = subprocess.run(
        ["gdb", "-q", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "bt full 100",
         "-ex", "info sharedlibrary", "-ex", "info registers", exe, core],
        stdin=subprocess.DEVNULL, check=False, capture_output=True, text=True, timeout=60)
    return done.stdout[done.stdout.index("#0 "):]


@unittest.skipUnless(shutil.which("gdb"), "there is no gdb")
class HeldByDebugger(core_handler.HeldByDebugger):
    def test_registers_come_from_the_notes_and_memory_from_the_process(self):
        with Scene() as scene:
            scene.preload = None
            os.chmod(scene.folder, 0o755)
            with self.held(scene, [scene.copy(program("core_threads_pie")), "3"],
                           CRASHHOOK_ENABLE="yes") as (pid, core):
                done = self.report(scene, pid, core)
            self.assertEqual(done.returncode, 0, done.stderr)
            report, = scene.reports()
            self.assertEqual(report["crash"]["name"], "SIGSEGV")
            self.assertEqual(report["crash"]["kind"], "null-dereference")
            self.assertEqual(report["process"]["pid"], pid)
            self.assertEqual(report["agent"]["tier"], "procmem")
            self.assertEqual(len(report["threads"]), 4)
            self.assertEqual(names_of(crashed_thread(report))[:2], ["crash", "descend"])
            self.assertEqual(report["problems"], [])
            # Root's process is read as a user that may not ask for its limits.
            limits = report["surroundings"]["limits"]["descriptors"]
            self.assertEqual((limits["soft"], limits["hard"]),
                             resource.getrlimit(resource.RLIMIT_NOFILE))
            death, = ledger(scene)
            self.assertEqual((death["pid"], death["signal"], death["report"]),
                             (pid, signal.SIGSEGV, report["id"]))
            self.assertTrue(death["program"].endswith("core_threads_pie"))

    def test_a_report_has_the_surroundings_of_the_process_as_the_handlers_has(self):
        new_uts = 0x04000000
        with Scene() as scene, Scene() as linked:
            scene.preload = None
            os.chmod(scene.folder, 0o755)
            with self.held(scene, [scene.copy(SIMPLE)], CRASHHOOK_ENABLE="yes", preexec=lambda:
                           ctypes.CDLL(None).unshare(new_uts)) as (pid, core):  # as root alone
                self.report(scene, pid, core)
                names = {name: int(re.sub(r"\D", "", os.readlink(f"/proc/{pid}/ns/{name}")))
                         for name in ("cgroup", "mnt", "net", "pid", "user", "uts")}
            linked.run([example("null_write")])
            found, wanted = (of.reports()[0]["surroundings"] for of in (scene, linked))
        self.assertEqual(found["namespaces"], {**wanted["namespaces"], **names})
        self.assertEqual(found["oom_score_adjustment"], wanted["oom_score_adjustment"])
        self.assertEqual(found.get("control_group", {}).keys(),
                         wanted.get("control_group", {}).keys())

    def test_a_small_core_shows_what_the_whole_one_shows_of_the_crashed_thread(self):
        for name, arguments in (("core_threads_pie", ["3"]), ("core_threads_static", ["3"])):
            with self.subTest(name), Scene() as scene:
                scene.preload = None
                os.chmod(scene.folder, 0o755)
                copy = scene.copy(program(name))
                with self.held(scene, [copy, *arguments], CRASHHOOK_ENABLE="yes") as (pid, core):
                    done = self.report(scene, pid, core, "--core=small")
                self.assertEqual(done.returncode, 0, done.stderr)
                death, = ledger(scene)
                self.assertEqual(death["core"], death["report"] + ".core")
                small = os.path.join(scene.spool, death["core"])
                self.assertEqual(os.stat(small).st_mode & 0o777, 0o600)
                self.assertLess(os.path.getsize(small), 16 << 20)
                self.assertEqual(backtrace_by_gdb(copy, small),
                                 backtrace_by_gdb(copy, core + ".whole"))
                for lldb in LLDBS:
                    self.assertEqual(backtrace_by_lldb(lldb, copy, small),
                                     backtrace_by_lldb(lldb, copy, core + ".whole"), lldb)
                shown = scene.command("core", small)
                self.assertIn("SIGSEGV in crash", shown.stdout)

    @contextlib.contextmanager
    def in_container(self, machine, annotations):
        """A control group named as containerd's, and what containerd says of the container."""
        number = f"{os.getpid():064x}"
        folder = f"{machine.folder}/run/containerd/io.containerd.runtime.v2.task/k8s.io/{number}"
        os.makedirs(folder)
        with open(folder + "/config.json", "w", encoding="ascii") as file:
            json.dump({"ociVersion": "1.0.2", "annotations": annotations}, file)
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            mounts = [line.split()[4] for line in file if " - cgroup2 " in line]
        if not mounts:
            self.skipTest("there are no control groups of version 2")
        group = f"{mounts[0]}/kubepods-{number}"
        inner = f"{group}/{number}"
        try:
            os.makedirs(inner)
        except OSError as error:
            self.skipTest(f"no control group can be made here: {error}")

        def enter():
            with open(inner + "/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")

        try:
            yield enter, number
        finally:
            os.rmdir(inner)
            os.rmdir(group)

    def test_a_report_names_pod_namespace_container_and_image(self):
        annotations = {"io.kubernetes.cri.sandbox-name": "cart-7d", "x": "y" * 1000,
                       "io.kubernetes.cri.sandbox-namespace": "shop",
                       "io.kubernetes.cri.container-name": "cart",
                       "io.kubernetes.cri.image-name": "registry/cart@sha256:12"}
        with Machine() as scene, self.in_container(scene, annotations) as (enter, number):
            scene.preload = None
            os.chmod(scene.folder, 0o755)
            with self.held(scene, [scene.copy(SIMPLE)], enter,
                           CRASHHOOK_ENABLE="yes") as (pid, core):
                for namespaces, admitted in ((None, True), ("shop,x", True), ("x", False),
                                             ("!x", True), ("!x,!shop", False)):
                    options = [f"--namespaces={namespaces}"] if namespaces else []
                    done = self.report(scene, pid, core, "--root", scene.folder, *options)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    line = ledger(scene)[-1]
                    self.assertEqual("report" in line, admitted, (namespaces, line))
                    if not admitted:
                        self.assertEqual(line["why"], "--namespaces excludes its namespace")
            found = scene.reports()[0]["surroundings"]
            self.assertEqual(
                (found["container_id"], found["pod"], found["pod_namespace"],
                 found["container_name"], found["image"]),
                (number, "cart-7d", "shop", "cart", "registry/cart@sha256:12"))
            self.assertIn("PATH", found["environment"])

    def test_a_program_that_wants_no_report_gets_none_and_the_ledger_says_so(self):
        if os.geteuid() == 0:
            self.skipTest("variables of root's processes do not apply")
        with Scene() as scene:
            scene.preload = None
            with self.held(scene, [SIMPLE]) as (pid, core):
                self.assertEqual(self.report(scene, pid, core).returncode, 0)
            self.assertEqual(scene.reports(), [])
            self.assertEqual(ledger(scene)[0]["why"], "its CRASHHOOK_ENABLE is no")

    def test_where_memory_may_not_be_read_the_whole_core_is(self):
        through = ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-all"]
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("it takes root, and setpriv")
        if not_for_others(harness.BUILD):
            self.skipTest(f"nobody may not read the build: {not_for_others(harness.BUILD)}")
        with Scene() as scene, self.held(scene, [SIMPLE, "3"]) as (pid, core):
            done = self.report(scene, pid, core + ".whole", through=through)
            self.assertEqual(done.returncode, 0, done.stderr)
            report, = scene.reports()
            self.assertEqual(report["agent"]["tier"], "record")
            self.assertEqual(names_of(crashed_thread(report))[:2], ["crash", "descend"])

    def test_what_is_no_core_is_refused_and_told(self):
        with Scene() as scene, self.held(scene, [SIMPLE],
                                         CRASHHOOK_ENABLE="yes") as (pid, core):
            with open(core, "rb") as file:
                whole = file.read()
            for content, why in ((b"", "it ends inside its header"),
                                 (whole[:100], "it ends inside its header"),
                                 (whole[:-1], "it ends inside its header"),
                                 (b"x" * 4096, "not a core file")):
                with open(core, "wb") as file:
                    file.write(content)
                done = self.report(scene, pid, core)
                self.assertEqual(done.returncode, 1)
                self.assertIn(why, done.stderr)
                self.assertEqual(ledger(scene)[-1]["why"], why)
            self.assertEqual(scene.reports(), [])

    def test_above_the_rate_crashes_are_counted_and_not_reported(self):
        with Scene() as scene:
            os.chmod(scene.folder, 0o755)
            with self.held(scene, [scene.copy(SIMPLE)],
                           CRASHHOOK_ENABLE="yes") as (pid, core):
                time.sleep(60 - time.monotonic() % 60 if time.monotonic() % 60 > 50 else 0)
                for _ in range(8):
                    self.report(scene, pid, core, "--per-minute", "9")
            self.assertEqual(len(scene.reports()), 4)  # a third, and one
            told = [d.get("rejected", 1) for d in ledger(scene) if "report" not in d]
            self.assertEqual(told, [1, 2, 4])


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def workers_of(service):
    acceptor, = children(service.pid)
    return children(acceptor)


class Service(unittest.TestCase):
    """The socket's form, without the kernel: anybody may connect here."""

    @contextlib.contextmanager
    def started(self, scene, *options):
        """The service with systemd's descriptors: its process, the socket it listens on, and
        the one that it sends its state to."""
        with socket.socket(socket.AF_UNIX) as listens, \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            path = os.path.join(scene.folder, "socket")
            listens.bind(path)
            listens.listen()
            told.bind(os.path.join(scene.folder, "told"))
            told.settimeout(60)
            script = (f'exec 3<&{listens.fileno()}\nLISTEN_PID=$$ exec "$0" node --listen '
                      '/not/used --spool "$@"')
            process = subprocess.Popen(
                ["/bin/bash", "-c", script, harness.CRASHHOOK, scene.spool, *options],
                pass_fds=[listens.fileno()],
                env={**scene.environment({}), "LISTEN_FDS": "1", "LD_PRELOAD": "",
                     "NOTIFY_SOCKET": told.getsockname()})
            try:
                yield process, path, told
            finally:
                process.kill()
                process.wait()

    def test_it_takes_systemds_socket_and_feeds_its_watchdog(self):
        with Scene() as scene, self.started(scene) as (_, _, told):
            self.assertEqual(told.recv(64), b"READY=1")
            self.assertEqual([told.recv(64) for _ in range(2)], [b"WATCHDOG=1"] * 2)

    def hold(self, path):
        """A connection of a process that the kernel holds: until it is closed."""
        held = socket.socket(socket.AF_UNIX)
        held.settimeout(60)
        held.connect(path)
        held.sendall(struct.pack("=IIQ", 16, 16, 15))
        self.assertEqual(struct.unpack("=IIQ", held.recv(16)), (16, 0, 9))
        held.sendall(bytes(4))
        return held

    def test_no_part_that_is_stopped_or_killed_holds_a_process_past_the_deadline(self):
        def send_to(pids, number):
            for pid in pids:
                os.kill(pid, number)

        def end_all(pids):
            with contextlib.suppress(ProcessLookupError):
                send_to(pids, signal.SIGKILL)

        cases = (("worker", signal.SIGSTOP), ("worker", signal.SIGKILL),
                 ("worker", signal.SIGSEGV), ("reader", signal.SIGSTOP),
                 ("acceptor", signal.SIGKILL), ("supervisor", signal.SIGKILL))
        for part, number in cases:
            with self.subTest(part=part, signal=number), Scene() as scene, \
                    self.started(scene, "--deadline", "1") as (process, path, told):
                self.assertEqual(told.recv(64), b"READY=1")
                with self.hold(path) as held:
                    workers = wait_for(lambda: workers_of(process))
                    self.addCleanup(end_all, workers)
                    parts = {"worker": workers, "acceptor": children(process.pid),
                             "supervisor": [process.pid]}
                    if part == "reader":
                        parts["reader"] = wait_for(lambda: children(workers[0]))
                    send_to(parts[part], number)
                    began = time.monotonic()
                    with contextlib.suppress(ConnectionError):
                        self.assertEqual(held.recv(64), b"")
                    self.assertLess(time.monotonic() - began, 20)

    def test_a_part_that_is_stopped_goes_on_at_once(self):
        with Scene() as scene, self.started(scene, "--deadline=1") as (process, path, told):
            wait_for(lambda: told.recv(64) == b"WATCHDOG=1")
            for pid in (process.pid, *children(process.pid)):
                os.kill(pid, signal.SIGSTOP)
                self.hold(path).close()
                wait_for(lambda pid=pid: harness.state_of(pid) != "T")
            wait_for(lambda: not workers_of(process))
            with self.hold(path):
                worker, = wait_for(lambda: workers_of(process))
                os.kill(worker, signal.SIGSTOP)
                wait_for(lambda: not workers_of(process))
            self.assertNotIn("the process that reported it was killed",
                             [d["why"] for d in ledger(scene)])

    def test_connections_that_find_the_list_full_are_refused_and_listed(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most[1], most[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, most)
        with Scene() as scene, contextlib.ExitStack() as all_held, \
                self.started(scene, "--deadline=60", "--per-minute=60000") as (_, path, _):
            for _ in range(1100):
                all_held.enter_context(socket.socket(socket.AF_UNIX)).connect(path)
            wait_for(lambda: "too many processes crashed at the same time" in
                     [d["why"] for d in ledger(scene)])

    def test_a_reader_that_is_stopped_holds_no_process_past_the_deadline_by_a_pipe(self):
        with Scene() as scene, subprocess.Popen(["sleep", "60"]) as held:
            self.addCleanup(held.kill)
            agent = subprocess.Popen(
                [harness.CRASHHOOK, "node", "--pipe", str(held.pid), "--deadline=1", "--spool",
                 scene.spool], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={**scene.environment({}), "LD_PRELOAD": ""})
            reader, = wait_for(lambda: children(agent.pid))
            os.kill(reader, signal.SIGSTOP)
            released = select.poll()
            released.register(agent.stdin, 0)  # POLLERR: nobody reads
            self.assertTrue(released.poll(20000), "it is still held")
            agent.communicate(timeout=60)
            self.assertEqual(len(ledger(scene)), 1)
            held.kill()

    def test_who_is_not_the_kernel_gets_no_report_and_stops_nothing(self):
        with Scene() as scene, self.started(scene) as (process, path, told):
            self.assertEqual(told.recv(64), b"READY=1")
            for words in (b"", b"x", b"x" * 100, bytes(16)):
                with socket.socket(socket.AF_UNIX) as client:
                    client.settimeout(60)
                    client.connect(path)
                    client.sendall(words)
                    with contextlib.suppress(ConnectionError):
                        self.assertEqual(client.recv(64), b"")
            wait_for(lambda: len(ledger(scene)) == 4)
            self.assertEqual({d.get("why") for d in ledger(scene)},
                             {"the kernel did not agree on how to pass the core"})
            self.assertEqual(scene.report_paths(), [])
            self.assertIsNone(process.poll())


MEMORY = "/sys/fs/cgroup/memory"


@unittest.skipUnless(os.geteuid() == 0, "the kernel tells ends of processes to root alone")
class Deaths(unittest.TestCase):
    @contextlib.contextmanager
    def watched(self, scene, *options):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.bind(os.path.join(scene.folder, "told"))
            told.settimeout(60)
            process = subprocess.Popen(
                [harness.CRASHHOOK, "node", "--watch", "--deadline=1", "--per-minute=60000",
                 *options, "--spool", scene.spool], stderr=subprocess.PIPE, text=True,
                env={**scene.environment({}), "LD_PRELOAD": "",
                     "NOTIFY_SOCKET": told.getsockname()})
            try:
                wait_for(lambda: process.poll() is not None or
                         select.select([told], [], [], 0)[0])
                if process.poll() is not None:
                    self.skipTest(process.stderr.read())
                yield process
            finally:
                process.terminate()
                process.communicate()

    def line(self, scene, pid):
        return wait_for(lambda: next((d for d in ledger(scene) if d["pid"] == pid), None))

    def test_a_killed_program_has_a_line_with_who_killed_it_and_doctor_says_it(self):
        with Scene() as scene, self.watched(scene):
            process = subprocess.Popen(["sleep", "60"])
            process.kill()
            process.wait()
            line = self.line(scene, process.pid)
            self.assertEqual(line["signal"], signal.SIGKILL)
            if glob.glob("/sys/kernel/tracing/instances/crashhook-*"):
                self.assertRegex(line["why"], rf"process {os.getpid()} \(.*\) sent it SIGKILL")
            self.assertIn("fix", line)
            said = scene.command("doctor", "--pid", str(process.pid)).stdout
            self.assertIn("the node agent says: " + line["why"], said)

    def test_each_of_many_that_are_killed_at_once_has_who_killed_it(self):
        if not os.path.isdir("/sys/kernel/tracing/instances"):
            self.skipTest("there is no tracefs")
        with Scene() as scene, self.watched(scene) as watch:
            many = [subprocess.Popen(["sleep", "60"]) for _ in range(100)]
            watch.send_signal(signal.SIGSTOP)
            for process in many:
                process.kill()
            watch.send_signal(signal.SIGCONT)

            def lines():
                found = {line["pid"]: line for line in ledger(scene)}
                return all(process.pid in found for process in many) and found

            found = wait_for(lines)
            for process in many:
                process.wait()
                self.assertRegex(found[process.pid]["why"],
                                 rf"^process {os.getpid()} \(.*\) sent it SIGKILL$")

    def test_a_program_that_strict_seccomp_killed_has_a_line_that_says_so(self):
        code = "import ctypes\nctypes.CDLL(None).prctl(22, 1)\nopen('/')\n"
        with Scene() as scene, self.watched(scene):
            process = subprocess.Popen([sys.executable, "-c", code])
            line = self.line(scene, process.pid)
            self.assertEqual(process.wait(), -signal.SIGKILL)
            self.assertRegex(line["why"], "^seccomp killed it")

    def threads(self, second, first="libc.syscall(60 if x86 else 93, 0)"):  # exit
        """A program with two threads."""
        code = ("import ctypes, platform, threading, time\n"
                "libc, x86 = ctypes.CDLL(None), platform.machine() == 'x86_64'\n"
                f"threading.Thread(target=lambda: {second}).start()\n{first}\n")
        return subprocess.Popen([sys.executable, "-c", code])

    def test_a_program_whose_first_thread_had_ended_has_one_line_as_any_other(self):
        many = "for _ in range(20): threading.Thread(target=time.sleep, args=(60,)).start()\n"
        with Scene() as scene, self.watched(scene):
            usual = subprocess.Popen([sys.executable, "-c", "import threading, time\n" + many])
            # Python may crash where a thread ends while the first one still starts it: it
            # waits in pause, which is ppoll on AArch64.
            paused = "any(open('/proc/self/syscall').read().split()[0] in ('34', '73')" \
                     " for _ in iter(int, 1))"
            goes_on = self.threads(f"{paused} and libc.prctl(22, 1) or open('/')",
                                   "libc.pause()")
            without = self.threads("time.sleep(60)")
            self.addCleanup(goes_on.communicate)
            self.addCleanup(goes_on.kill)
            wait_for(lambda: len(os.listdir(f"/proc/{usual.pid}/task")) == 21)
            wait_for(lambda: harness.state_of(without.pid) == "Z")
            for process in (usual, without):
                process.kill()
                process.wait()
            line = self.line(scene, without.pid)
            self.assertEqual(line["signal"], signal.SIGKILL)
            self.assertRegex(line["why"], "^killed, |sent it SIGKILL$")
            last = self.threads("time.sleep(0.01) or ctypes.string_at(0)")
            last.wait()
            self.line(scene, last.pid)
            self.assertIsNone(goes_on.poll())
            pids = [line["pid"] for line in ledger(scene)]
            self.assertEqual([pids.count(process.pid) for process in
                              (usual, without, last, goes_on)], [1, 1, 1, 0])

    def test_a_core_that_went_elsewhere_has_a_line_with_how_to_change_that(self):
        with Scene() as scene, self.watched(scene, "--root", scene.folder):
            process = subprocess.Popen([sys.executable, "-c", NULL_READ])
            process.wait()
            line = self.line(scene, process.pid)
            self.assertEqual((line["why"], line["fix"]),
                             ("the kernel does not pass cores to the node agent",
                              "crashhook node install"))

    def test_a_program_that_may_not_be_dumped_has_a_line_and_one_that_was_asked_to_end_none(self):
        with Machine(f"|{COMMAND} node --pipe %P") as scene, \
                self.watched(scene, "--root", scene.folder):
            code = "import ctypes\nctypes.CDLL(None).prctl(4, 0)\n" + NULL_READ
            asked = subprocess.Popen(["sleep", "60"])
            asked.terminate()
            asked.wait()
            process = subprocess.Popen([sys.executable, "-c", code])
            process.wait()
            line = self.line(scene, process.pid)
            self.assertEqual((line["signal"], line["why"]),
                             (signal.SIGSEGV, "it dumped no core: it may not be dumped"))
            self.assertIn("crashhook node install", line["fix"])
            self.assertNotIn(asked.pid, [d["pid"] for d in ledger(scene)])

    def test_a_program_that_was_killed_for_memory_has_the_kernels_figures(self):
        group = os.path.join(MEMORY, f"crashhook-test-{os.getpid()}")
        try:
            os.mkdir(group)
            with open(group + "/memory.limit_in_bytes", "w", encoding="ascii") as file:
                file.write("32M")
        except OSError as error:
            self.skipTest(f"no memory cgroup can be made here: {error}")
        fill = ("import os\n"
                f"open('{group}/cgroup.procs', 'w').write(str(os.getpid()))\n"
                "x = b'x' * (200 << 20)\n")
        try:
            with Scene() as scene, self.watched(scene):
                process = subprocess.Popen([sys.executable, "-c", fill])
                self.assertEqual(process.wait(timeout=60), -signal.SIGKILL)
                self.assertRegex(self.line(scene, process.pid)["why"],
                                 rf"emory.*Killed process {process.pid} .*anon-rss:\d+kB"
                                 r".*; memory: usage \d+kB, limit 32768kB")
        finally:
            os.rmdir(group)


@unittest.skipUnless(core_handler.OWN_KERNEL, "changes settings of the whole machine")
class HeldByKernel(core_handler.Kernel):
    def test_the_capabilities_of_the_manifest_are_enough(self):
        if "socket" not in self.forms() or shutil.which("setpriv") is None:
            self.skipTest("it takes the socket, and setpriv")
        with open(os.path.join(harness.SOURCE, "packaging/kubernetes/node.yaml"),
                  encoding="utf-8") as file:
            added = re.search(r"add: \[(.*)\]", file.read()).group(1)
        wanted = "".join(",+" + name.strip().lower() for name in added.split(","))
        through = ["setpriv", "--no-new-privs", "--bounding-set", "-all" + wanted,
                   "--inh-caps", "-all"]
        with Scene() as scene, self.handed_over(scene, "socket", through=through):
            copy = scene.copy(program("core_threads_pie"))
            for options in ({"preexec_fn": become(WORKER)}, {}):
                report = self.report(scene, self.crash(scene, [copy, "3"], **options))
                self.assertIn("crash", names_of(crashed_thread(report)))

    def test_the_report_is_in_the_group_of_the_handlers(self):
        for form in self.forms():
            with Scene() as scene, self.handed_over(scene, form):
                for name in ("null_write", "divide", "heap_abort", "uncaught", "overflow"):
                    with self.subTest(form=form, program=name), Scene() as linked:
                        linked.run([example(name)])
                        wanted, = linked.reports()
                        copied = self.crash(scene, [example(name)],
                                            {"CRASHHOOK_ENABLE": "no"})
                        found = self.report(scene, copied)
                        self.assertEqual(found["fingerprint"], wanted["fingerprint"])
                        self.assertEqual(found["title"] if "title" in found else None,
                                         wanted.get("title"))

    def test_a_crash_that_the_handler_reported_is_not_reported_again(self):
        for form in self.forms():
            with Scene() as scene, self.handed_over(scene, form), Scene() as own:
                ended = own.run([example("null_write")], CRASHHOOK_TEST_MARK=MARK)
                self.assertEqual(len(own.reports()), 1)
                death = self.death(scene, ended.pid)
                self.assertEqual(death["why"], "its library has reported it")
                self.assertEqual(scene.report_paths(), [])

    def test_a_crash_that_the_tracer_reports_is_not_reported_again(self):
        with Scene() as scene, self.handed_over(scene, "pipe"), Scene() as own:
            own.preload = None
            own.run([harness.CRASHHOOK, "run", "--via", "trace", "--",
                     program("core_threads_static"), "3"], CRASHHOOK_TEST_MARK=MARK)
            report, = own.reports()
            death = self.death(scene, report["process"]["pid"])
            self.assertEqual(death["why"], "crashhook run traces it, and reports it")

    def test_what_the_library_could_not_report_is_reported_with_what_it_knows(self):
        with Scene() as scene, self.handed_over(scene, "pipe"):
            pid = self.crash(scene, [program("unseen_fault")], {"CRASHHOOK_TAGS": "a=b"},
                             preexec_fn=become(WORKER))
            report = self.report(scene, pid)
            self.assertEqual(report["tags"], {"a": "b", "color": "green"})
            self.assertEqual(report["breadcrumbs"][0]["message"], "about to fault")
            self.assertIn("fault_unseen", names_of(crashed_thread(report)))

    def test_nothing_is_read_with_more_rights_than_the_process_had(self):
        with Scene() as scene, self.handed_over(scene, "pipe"):
            pid = self.crash(scene, [scene.copy(SIMPLE)],
                             preexec_fn=become(WORKER))
            report = self.report(scene, pid)
            self.assertEqual(report["process"]["uid"], WORKER)
            file = os.stat(os.path.join(scene.spool, report["id"] + ".json"))
            self.assertEqual((file.st_uid, file.st_mode & 0o777), (0, 0o600))

    def test_a_spool_that_the_program_names_is_written_as_its_user(self):
        with Scene() as scene, self.handed_over(scene, "pipe"):
            theirs = os.path.join(scene.folder, "theirs")
            os.mkdir(theirs, 0o700)
            os.chown(theirs, WORKER, WORKER)
            process = subprocess.Popen(
                [scene.copy(SIMPLE)], preexec_fn=become(WORKER), cwd="/",
                env={**scene.environment({}), "CRASHHOOK_SPOOL": theirs})
            process.wait(timeout=60)
            death = self.death(scene, process.pid)
            file = os.stat(os.path.join(theirs, death["report"] + ".json"))
            self.assertEqual((file.st_uid, file.st_mode & 0o777), (WORKER, 0o600))
            self.assertEqual(scene.report_paths(), [])
            # A folder that is not the user's is not written to, for root neither.
            process = subprocess.Popen(
                [os.path.join(scene.folder, os.path.basename(SIMPLE))], preexec_fn=become(WORKER),
                cwd="/", env={**scene.environment({}), "CRASHHOOK_SPOOL": "/root/spool"})
            process.wait(timeout=60)
            self.report(scene, process.pid)

    def test_an_agent_with_mounts_of_its_own_takes_the_machines_files_as_they_are(self):
        if "socket" not in self.forms():
            self.skipTest("it takes the socket")
        try:
            first = os.readlink("/proc/1/ns/mnt")
        except OSError:
            first = None
        if first != os.readlink("/proc/self/ns/mnt"):
            self.skipTest("these are not the mounts of the first process")
        with Scene() as scene, self.handed_over(scene, "socket", through=["unshare", "--mount"]):
            theirs = os.path.join(scene.folder, "theirs")
            os.mkdir(theirs, 0o700)
            os.chown(theirs, WORKER, WORKER)
            process = subprocess.Popen(
                [scene.copy(SIMPLE)], preexec_fn=become(WORKER), cwd="/",
                env={**scene.environment({}), "CRASHHOOK_SPOOL": theirs})
            process.wait(timeout=60)
            death = self.death(scene, process.pid)
            self.assertEqual(os.listdir(theirs), [death["report"] + ".json"])

    def test_a_core_file_is_still_written_where_that_is_asked_for(self):
        for form in self.forms():
            with Scene() as scene, self.handed_over(scene, form, "--then"):
                folder = os.path.join(scene.folder, "dumps")
                os.mkdir(folder)
                os.chown(folder, WORKER, WORKER)
                most = harness.place.core_limit()
                if most == 0:
                    self.skipTest("the hard limit of core files is 0")

                def start(folder=folder, most=most):
                    os.chdir(folder)
                    harness.resource.setrlimit(harness.resource.RLIMIT_CORE, (most, most))
                    become(WORKER)()

                process = subprocess.Popen([scene.copy(program("core_threads_pie")), "3"],
                                           preexec_fn=start, env=scene.environment({}))
                process.wait(timeout=60)
                self.assertTrue(self.death(scene, process.pid).get("report"))
                name, = os.listdir(folder)
                self.assertEqual(os.stat(os.path.join(folder, name)).st_uid, WORKER)
                shown = scene.command("core", os.path.join(folder, name))
                self.assertIn("SIGSEGV in crash", shown.stdout)

    def test_a_small_core_shows_what_the_kernels_shows_of_the_crashed_thread(self):
        programs = [[program("core_threads_pie"), "50"], [program("core_threads_static"), "3"],
                    [example("uncaught")], [example("overflow")], [example("heap_abort")]]
        most = harness.place.core_limit()
        if most == 0:
            self.skipTest("the hard limit of core files is 0")
        with Scene() as scene, self.handed_over(scene, "pipe", "--then", "--core=small"):
            for number, command in enumerate(programs):
                with self.subTest(command):
                    folder = os.path.join(scene.folder, f"dumps{number}")
                    os.mkdir(folder)
                    copy = scene.copy(command[0])

                    def start(folder=folder):
                        os.chdir(folder)
                        harness.resource.setrlimit(harness.resource.RLIMIT_CORE, (most, most))

                    process = subprocess.Popen([copy, *command[1:]], preexec_fn=start,
                                               stderr=subprocess.DEVNULL,
                                               env=scene.environment({"CRASHHOOK_ENABLE": "no"}))
                    process.wait(timeout=60)
                    small = os.path.join(scene.spool, self.death(scene, process.pid)["core"])
                    self.assertLess(os.path.getsize(small), 17 << 20)
                    name, = os.listdir(folder)
                    self.assertEqual(backtrace_by_gdb(copy, small),
                                     backtrace_by_gdb(copy, os.path.join(folder, name)))
                    for lldb in LLDBS:
                        self.assertEqual(
                            backtrace_by_lldb(lldb, copy, small),
                            backtrace_by_lldb(lldb, copy, os.path.join(folder, name)), lldb)

    def test_a_full_core_is_whole_or_the_ledger_says_that_it_is_not(self):
        if shutil.which("zstd") is None:
            self.skipTest("there is no zstd")
        fill = "import ctypes, os\nx = os.urandom(8 << 20)\nctypes.string_at(0)\n"
        for most, cut in (("100", False), ("1", True)):
            with self.subTest(most), Scene() as scene, \
                    self.handed_over(scene, "pipe", "--core=full", "--core-max=" + most):
                pid = self.crash(scene, [sys.executable, "-c", fill])
                death = self.death(scene, pid)
                self.assertEqual(death.get("core_is_cut", False), cut)
                self.assertGreater(death["held_ms"], 0)
                path = os.path.join(scene.spool, death["core"])
                if cut:
                    self.assertLessEqual(os.path.getsize(path), 1 << 20)
                    continue
                core = os.path.join(scene.folder, "core")
                subprocess.run(["zstd", "-q", "-d", path, "-o", core], check=True)
                shown = scene.command("core", core)
                self.assertIn("SIGSEGV", shown.stdout)
                self.assertNotIn("the core is cut", shown.stdout + shown.stderr)

    def test_a_process_that_may_not_be_dumped_is_not_seen(self):
        with Scene() as scene, self.handed_over(scene, "pipe"):
            code = "import ctypes\nctypes.CDLL(None).prctl(4, 0)\nctypes.string_at(0)\n"
            pid = self.crash(scene, [sys.executable, "-c", code])
            other = self.crash(scene, [sys.executable, "-c", NULL_READ])
            self.report(scene, other)
            self.assertEqual([d for d in ledger(scene) if d["pid"] == pid], [])

    def test_a_setuid_program_is_reported_where_suid_dumpable_allows_that(self):
        with Scene() as scene, self.handed_over(scene, "pipe"):
            setuid = scene.copy(SIMPLE)
            os.chmod(setuid, 0o4755)
            core_handler.write("suid_dumpable", "0")
            unseen = self.crash(scene, [setuid, "3"], preexec_fn=become(WORKER))
            core_handler.write("suid_dumpable", "2")
            # Its variables are those of another user.
            seen = self.crash(scene, [setuid, "3"], {"CRASHHOOK_ENABLE": "no"},
                              preexec_fn=become(WORKER))
            report = self.report(scene, seen)
            self.assertIn("crash", names_of(crashed_thread(report)))
            self.assertEqual([d for d in ledger(scene) if d["pid"] == unseen], [])


if __name__ == "__main__":
    harness.main()
