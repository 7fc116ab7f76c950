# SPDX-License-Identifier: Apache-2.0
#
# Programs that control their own system calls, and libraries that put themselves before the
# calls that ours puts itself before, in every order: all end as they do without the library.
# No call of the library reaches a program's dispatcher.

import itertools
import os
import signal
import subprocess
import unittest

import filters
import harness
from harness import HANDLER, Scene, frames_of, crashed_thread, program

STACKS = ("thread", "asked", "own", "nodefer")
LIBRARIES = ("signals", "threads", "dlsym", "ends")
ORDERS = ("before", "after")


def interposer(name):
    return program(f"libinterposer_{name}.so")


class Dispatchers(unittest.TestCase):
    def setUp(self):
        self.scene = Scene()
        self.addCleanup(self.scene.__exit__)

    def outcome(self, kind, *arguments, preload="", kills="no"):
        done = self.scene.run([program(f"dispatches_{kind}"), *arguments], timeout=30,
                              LD_PRELOAD=preload, CRASHHOOK_KILLS=kills)
        return done.signal, done.status, done.stdout

    def test_no_call_of_ours_reaches_a_dispatcher(self):
        for how, span, stack in itertools.product(("dispatch", "filter"), ("none", "libc"), STACKS):
            alone = self.outcome("alone", how, span, stack)
            if alone[1] == 77:
                self.skipTest("this kernel dispatches no system calls")
            self.assertEqual(alone[:2], (0, 0), (how, span, stack, alone))
            for kind, preload in (("alone", HANDLER), ("shared", ""), ("static", "")):
                for kills in ("no", "yes"):
                    with self.subTest(how=how, span=span, stack=stack, kind=kind, kills=kills):
                        self.assertEqual(self.outcome(kind, how, span, stack, preload=preload,
                                                      kills=kills), alone)

    def test_a_dispatched_call_that_nobody_answers_ends_the_program(self):
        for kind, preload in (("alone", HANDLER), ("shared", ""), ("static", "")):
            with self.subTest(kind=kind):
                ended = self.outcome(kind, "nobody", "none", "thread", preload=preload)
                self.assertIn(ended[0], (signal.SIGSYS, signal.SIGSEGV))

    def test_a_crash_whose_calls_are_dispatched_ends_as_one(self):
        for span, stack in itertools.product(("none", "libc"), STACKS):
            alone = self.outcome("alone", "crash", span, stack)
            self.assertEqual(alone[0], signal.SIGSEGV)
            for kind, preload in (("alone", HANDLER), ("shared", ""), ("static", "")):
                with self.subTest(span=span, stack=stack, kind=kind):
                    self.assertEqual(self.outcome(kind, "crash", span, stack, preload=preload), alone)


RUN = [harness.CRASHHOOK, "run", "--via", "preload", "--"]
# The calls of the library's own start and supervision. A shell makes some of them, too.
START_CALLS = ("sigaltstack", "mremap", "madvise", "clock_gettime", "gettid", "getpid", "getppid",
               "prctl", "memfd_create", "fallocate", "ftruncate", "pwrite64", "readlinkat",
               "socketpair", "setsockopt", "sendmsg", "fstat", "futex", "fcntl")


class Filters(unittest.TestCase):
    def ways(self, command, linked):
        """The program in each way: its command and its variables."""
        return ((command, {}), (command, {"CRASHHOOK_KILLS": "yes"}),
                ([*RUN, *command], {"LD_PRELOAD": ""}),
                (linked, {"LD_PRELOAD": "", "CRASHHOOK_KILLS": "yes"}))

    def check(self, how, what, prefix=()):
        command = [*prefix, program("filters_itself_alone"), how, what]
        linked = [*prefix, program("filters_itself_shared"), how, what]
        with Scene() as scene:
            alone = scene.run(command, LD_PRELOAD="")
            if alone.status == 77:
                self.skipTest("this kernel has no seccomp filters, or may not trace")
            if how.isdigit() and alone.signal == signal.SIGSYS:
                return False
            self.assertIn(alone.status, (0, 6, 7), (command, alone.signal))
            for way, variables in self.ways(command, linked):
                with self.subTest(way=way, variables=variables):
                    ended = scene.run(way, **variables)
                    self.assertEqual((ended.signal, ended.status, ended.stdout, ended.stderr),
                                     (alone.signal, alone.status, alone.stdout, ""))
            self.assertEqual(scene.reports(), [])
        return True

    def test_a_filter_that_kills_for_what_the_program_does_not_do_changes_nothing(self):
        whats = ("threads", "ends", "term", "forks", "executes", "ignores", "tells", "_exit",
                 "exit")
        for how, what in itertools.product(("prctl", "syscall", "threads"), whats):
            self.check(how, what)

    def test_where_the_kernel_maps_no_vdso_the_time_is_not_read_against_a_filter(self):
        for what in ("term", "tells"):
            self.check("prctl", what, prefix=[program("without_vdso")])

    def test_a_breadcrumb_has_a_time_where_the_clock_could_be_read(self):
        dies = [program("filters_itself_shared"), str(filters.call_numbers()["clock_gettime"]), "dies"]
        for command, timed in ((dies, True), ([program("without_vdso"), *dies], False)):
            with self.subTest(command=command), Scene() as scene:
                self.assertEqual(scene.run([*RUN, *command], LD_PRELOAD="").signal, signal.SIGSYS)
                report, = scene.reports()
                crumb, = report["breadcrumbs"]
                self.assertEqual((crumb["message"], "time" in crumb), ("filtered", timed))

    def test_a_program_that_is_executed_below_a_filter_makes_no_call_that_it_kills_for(self):
        numbers = filters.call_numbers()
        ran = [call for call in START_CALLS if self.check(str(numbers[call]), "shells")]
        self.assertGreater(len(ran), len(START_CALLS) // 2, ran)

    def test_a_child_of_vfork_below_a_filter_sets_actions_for_itself(self):
        numbers = filters.call_numbers()
        for call in ("getppid", "kcmp", "prctl"):
            self.assertTrue(self.check(str(numbers[call]), "sets"))


class Ignored(unittest.TestCase):
    def test_a_program_that_is_executed_inherits_every_ignored_signal(self):
        script = ("import signal; print([number.name for number in signal.valid_signals() "
                  "if signal.getsignal(number) == signal.SIG_IGN])")
        command = ["sh", "-c", 'trap "" ABRT SEGV TRAP USR1; /nonexistent 2>/dev/null; '
                               'exec python3 -c "$0"', script]
        with Scene() as scene:
            alone = scene.run(command, LD_PRELOAD="")
            self.assertIn("SIGABRT", alone.stdout)
            self.assertEqual(scene.run(command).stdout, alone.stdout)

    def test_a_child_of_vfork_leaves_its_own_choice_to_the_program_that_it_executes(self):
        with Scene() as scene:
            ended = scene.run([program("filters_itself_alone"), "none", "vforks"])
            self.assertEqual((ended.status, ended.stdout), (7, f"{int(signal.SIGABRT)}\n"))
            self.assertEqual([report["process"]["arguments"][0] for report in scene.reports()],
                             ["sh"])


class Vforks(unittest.TestCase):
    """A child of vfork, in a program that has set no handler before."""

    def test_what_the_child_sets_is_not_its_parents(self):
        with Scene() as scene:
            root = os.path.join(scene.folder, "root")
            os.mkdir(root)
            alone = scene.run([program("vfork_child_alone"), root], LD_PRELOAD="")
            if "child 77" in alone.stdout:
                self.skipTest("no root can be changed here")
            self.assertEqual((alone.signal, alone.stdout),
                             (signal.SIGSEGV, "child 0, environment 0\nactions 1 1\nhandled\n"))
            for kind, preload in (("alone", HANDLER), ("shared", "")):
                ours = scene.run([program(f"vfork_child_{kind}"), root], LD_PRELOAD=preload)
                self.assertEqual((ours.signal, ours.stdout), (alone.signal, alone.stdout), kind)
            reports = scene.reports()
            self.assertEqual([frames_of(crashed_thread(report))[0].get("function")
                              for report in reports], ["main", "main"])

    def test_a_child_with_memory_of_its_own_leaves_the_library_out(self):
        with Scene() as scene:
            root = os.path.join(scene.folder, "root")
            os.mkdir(root)
            ended = scene.run([program("vfork_child_alone"), root, "clone"])
            if ended.status == 77:
                self.skipTest("no pid namespace can be made here")
            self.assertEqual((ended.status, ended.stdout), (0, "none\n"))


class Roots(unittest.TestCase):
    """A program that is executed below another root does not find the library there."""

    # Another root has the system's programs and libraries, and nothing else.
    ROOT = """
        mount -t tmpfs none /mnt && cd /mnt || exit 77
        for folder in bin lib lib64 usr; do
            [ -L /$folder ] && cp -d /$folder . && continue
            [ ! -d /$folder ] && continue
            mkdir $folder && mount --bind /$folder $folder || exit 77
        done
        mkdir old; """
    WAYS = {"chroot": 'exec "$0" run --via preload -- chroot /mnt /bin/sh -c "$1"',
            "pivot_root": 'exec "$0" run --via preload -- unshare --mount '
                          '/usr/bin/python3 -c "$2" "$1"'}
    PIVOT = ("import ctypes, os, sys; libc = ctypes.CDLL(None)\n"
             "if libc.syscall({'x86_64': 155, 'aarch64': 41}[os.uname().machine], b'/mnt', "
             "b'/mnt/old'): sys.exit(77)\n"
             "libc.execlp(b'sh', b'sh', b'-c', sys.argv[1].encode(), None)")

    def test_the_loader_there_does_not_complain_of_it(self):
        script = "echo in $LD_PRELOAD; exit 3"
        for name, way in self.WAYS.items():
            with self.subTest(name), Scene() as scene:
                done = subprocess.run(
                    ["unshare", "--mount", "sh", "-c", self.ROOT + way, harness.CRASHHOOK, script,
                     self.PIVOT], env=scene.environment({"LD_PRELOAD": ""}), check=False,
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True)
                if done.returncode == 77:
                    self.skipTest("no other root can be made here")
                self.assertEqual((done.stdout, done.stderr, done.returncode), ("in\n", "", 3))


class Interposers(unittest.TestCase):
    def run_one(self, scene, name, end, preload):
        return scene.run([program(name), end], timeout=30, LD_PRELOAD=" ".join(preload))

    def check(self, wanted, name, preload):
        with self.subTest(name=name, preload=preload), Scene() as scene:
            ended = self.run_one(scene, name, "exit", preload)
            self.assertEqual((ended.status, ended.stdout), wanted)
            crashed = self.run_one(scene, name, "crash", preload)
            self.assertEqual((crashed.signal, crashed.stdout), (signal.SIGSEGV, wanted[1]))
            reports = scene.reports()
            self.assertEqual(len(reports), 1)
            self.assertEqual(frames_of(crashed_thread(reports[0]))[0].get("function"), "main")

    def test_the_library_works_with_others_in_every_order(self):
        with Scene() as scene:
            ended = self.run_one(scene, "interposed_alone", "exit", [])
        wanted = ended.status, ended.stdout
        self.assertEqual(wanted, (6, "0 0 1 1 0 2 0 5 3 0\n"))
        count = 0
        for first, second in itertools.permutations(LIBRARIES, 2):
            libraries = [interposer(first), interposer(second)]
            for at in range(3):
                preload = libraries[:at] + [HANDLER] + libraries[at:]
                self.check(wanted, "interposed_alone", preload)
                count += 1
        for name, order in itertools.product(LIBRARIES, ORDERS):
            self.check(wanted, f"interposed_{name}_{order}", [])
            for other in LIBRARIES:
                self.check(wanted, f"interposed_{name}_{order}", [interposer(other)])
                self.check(wanted, "interposed_static", [interposer(other)])
                count += 2
            count += 1
        print(f"{count} orders")
        self.assertGreaterEqual(count, 60)


if __name__ == "__main__":
    harness.main()
