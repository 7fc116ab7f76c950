# SPDX-License-Identifier: Apache-2.0
#
# A program that is killed leaves a report too: from the file that it has mapped while it
# lives, and with who and why from the process that kept it, where one did.

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest
import urllib.request

import harness
from harness import FULL, Scene, program, wait_for
from place import needs_root
from test_daemon import daemons
from test_delivery import Collector

LIVES = program("lives")

# What a shell says once its liveness record is copied to the spool.
COPIED = 'copied() { until compgen -G "$CRASHHOOK_SPOOL/life-*-*.record" >/dev/null; do :; done; }; ' \
         'copied; echo ready; '
MEMORY = "/sys/fs/cgroup/memory"
SEED = int(os.environ.get("CRASHHOOK_SEED", "7"))
KILLS = 1000 if FULL else 60
# From the supervisor's pid to the first sample's rss_bytes, in struct context_liveness.
FIRST_SAMPLE = 208
HAS_CGROUPS = unittest.skipUnless(os.access(MEMORY + "/memory.limit_in_bytes", os.R_OK),
                                  "there are no cgroups of version 1")


def lives(scene):
    if not os.path.isdir(scene.spool):
        return []
    return [name for name in os.listdir(scene.spool) if name.startswith("life-")]


def start(scene, *command, **variables):
    """Starts the program, and returns when it has told of itself."""
    process = scene.start(list(command), **variables)
    assert process.stdout.readline() == b"ready\n", process.stderr.read()
    return process


def send_daemons(scene, number):
    """One that continues may end the next."""
    for agent in daemons(scene):
        with contextlib.suppress(ProcessLookupError):
            os.kill(agent, number)


def run(scene, how, *options, **variables):
    """Starts the program under `crashhook run`, which is not to load the handler itself."""
    environment = {"LD_PRELOAD": ""} | variables
    return start(scene, harness.CRASHHOOK, "run", *options, "--", LIVES, how, **environment)


def end(process):
    process.communicate(timeout=60)
    return process.returncode


def first_sample(life, supervisor):
    """The resident bytes of the first sample that the supervisor wrote; 0: none yet."""
    with open(life, "rb") as file:
        page = file.read()
    wanted = supervisor.to_bytes(4, "little")
    # Bytes that are not aligned may belong to two numbers.
    at = next((at for at in range(4096, len(page), 4) if page[at:at + 4] == wanted), -1)
    rss = at + FIRST_SAMPLE
    return int.from_bytes(page[rss:rss + 8], "little") if at >= 0 else 0


def child_of(process):
    """The program that `crashhook run` has started, which has other children too."""
    for child in subprocess.check_output(["pgrep", "-P", str(process.pid)], text=True).split():
        with contextlib.suppress(OSError), open(f"/proc/{child}/comm", encoding="ascii") as file:
            if file.read() != "crashhook\n":
                return int(child)
    raise AssertionError("it has no child")


class Kills(unittest.TestCase):
    def list(self, scene):
        """What there is once no supervisor is left, nor the command that it has become."""
        def listed():
            before = lives(scene)
            done = scene.command("list", "--json", timeout=600)
            self.assertEqual(done.stderr, "")
            return done.stdout if before == [] else None

        wait_for(lambda: not daemons(scene))
        os.makedirs(scene.spool, mode=0o700, exist_ok=True)
        return json.loads(wait_for(listed))

    def await_sample(self, scene, process):
        """Until the program's supervisor has looked at it."""
        life, = wait_for(lambda: lives(scene))
        wait_for(lambda: first_sample(os.path.join(scene.spool, life), process.pid) != 0)

    def only_report(self, scene):
        self.assertEqual(len(self.list(scene)), 1)
        return scene.reports()[0]

    def assert_told(self, report):
        """What the program told of itself, and what its file names."""
        self.assertEqual(report["tags"], {"shard": "8"})
        self.assertEqual(report["user_data"], {"query": "select 1"})
        self.assertEqual(report["breadcrumbs"][-1]["message"], "step 199")
        self.assertEqual(len(report["breadcrumbs"]), 128)
        self.assertIn("lives", [image["name"] for image in report["images"]])
        self.assertEqual(report["problems"], [])

    def test_a_killed_program_is_reported_by_its_supervisor(self):
        with Scene() as scene:
            process = start(scene, LIVES, "waits", CRASHHOOK_KILLS="yes",
                            CRASHHOOK_RELEASE="7.1")
            wait_for(lambda: lives(scene))
            # While it lives it is nobody's.
            self.assertEqual(scene.command("list").stdout, "")
            process.kill()
            self.assertEqual(end(process), -signal.SIGKILL)
            report = self.only_report(scene)
            self.assert_told(report)
            self.assertEqual(report["crash"]["kind"], "killed")
            self.assertEqual(report["crash"]["death"]["cause"], "signal")
            self.assertEqual(report["crash"]["death"]["keeper"], "daemon")
            self.assertEqual(report["process"]["pid"], process.pid)
            self.assertEqual(report["release"], "7.1")
            self.assertEqual(report["threads"], [])
            self.assertEqual(report["title"], "killed · lives")

    def test_a_killed_program_need_not_be_waited_for(self):
        with Scene() as scene:
            process = start(scene, LIVES, "waits", CRASHHOOK_KILLS="yes")
            process.kill()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            self.assert_told(self.only_report(scene))
            end(process)

    def test_a_program_that_ends_otherwise_leaves_no_report_of_a_kill(self):
        for how in ("exits", "leaves", "becomes", "crashes"):
            with self.subTest(how=how), Scene() as scene:
                process = start(scene, LIVES, how, CRASHHOOK_KILLS="yes")
                end(process)
                crashes = [signal.SIGSEGV] if how == "crashes" else []
                self.assertEqual([each["signal"] for each in self.list(scene)], crashes)

    def test_a_program_that_became_another_was_not_killed_however_late_its_end_is_seen(self):
        with Scene() as scene:
            hold = os.path.join(scene.folder, "hold")
            os.mkfifo(hold)
            process = start(scene, "bash", "-c", COPIED + "read line <hold; LD_PRELOAD= exec true",
                            CRASHHOOK_KILLS="yes")
            send_daemons(scene, signal.SIGSTOP)
            with open(hold, "w", encoding="ascii") as file:
                file.write("go\n")
            self.assertEqual(process.wait(timeout=60), 0)
            send_daemons(scene, signal.SIGCONT)
            end(process)
            self.assertEqual(self.list(scene), [])

    def test_a_program_that_failed_to_become_another_is_reported_when_it_is_killed(self):
        with Scene() as scene:
            process = start(scene, "bash", "-c", "shopt -s execfail; exec /nonexistent/program; "
                            "(exec true); echo ready; kill -KILL $$", CRASHHOOK_KILLS="yes")
            process.communicate(timeout=60)
            self.assertEqual(self.only_report(scene)["crash"]["kind"], "killed")

    def test_run_reports_a_kill_of_what_its_program_became_without_the_handler(self):
        with Scene() as scene:
            process = start(scene, harness.CRASHHOOK, "run", "--via", "preload", "--", "bash", "-c",
                            "LD_PRELOAD= exec bash -c 'echo ready; kill -KILL $$'", LD_PRELOAD="")
            end(process)
            self.assertEqual(self.only_report(scene)["crash"]["kind"], "killed")

    def test_children_that_a_program_in_the_place_of_run_kills_are_not_reported(self):
        with Scene() as scene:
            os.mkfifo(os.path.join(scene.folder, "hold"))
            shell = "sleep 100 & sleep 0.2; kill -9 $!; echo ready; read line <hold"
            process = start(scene, "sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", harness.CRASHHOOK,
                            "run", "--", "bash", "-c", shell, LD_PRELOAD="")
            process.kill()
            self.assertNotIn(b"crashhook", process.communicate(timeout=60)[1])
            self.list(scene)
            self.assertEqual([report["title"] for report in scene.reports()], ["killed · bash"])

    def start_first(self, scene, words):
        """Starts a shell as the first process of a PID namespace, which the kernel empties when
        that exits: the supervisor too. It is ready once its record is copied to the spool."""
        os.mkfifo(os.path.join(scene.folder, "hold"))
        copied = COPIED.replace("*-*", "*-00000001") + "shopt -s execfail; "
        return start(scene, "unshare", "--fork", "--pid", "--mount-proc", "--kill-child", "bash",
                     "-c", copied + words, CRASHHOOK_KILLS="yes")

    @needs_root
    def test_the_exit_of_the_first_process_of_a_pid_namespace_is_no_kill(self):
        for words in ("exit 3", "exec true", "exec /nonexistent; exit 3", "(exit 2); exec true"):
            with self.subTest(words), Scene() as scene:
                self.assertIn(end(self.start_first(scene, words)), (0, 3))
                self.assertEqual(self.list(scene), [])

    @needs_root
    def test_a_kill_of_the_first_process_of_a_pid_namespace_is_reported(self):
        for words in ("", "exec /nonexistent; "):  # which fails: the program goes on
            with self.subTest(words), Scene() as scene:
                process = self.start_first(scene, words + "copied; echo held; read line <hold")
                self.assertEqual(process.stdout.readline(), b"held\n")
                process.kill()
                end(process)
                self.list(scene)
                self.assertEqual(sorted(report["title"] for report in scene.reports()),
                                 ["killed · bash", "killed · unshare"])

    @needs_root
    def test_the_first_process_of_a_pid_namespace_does_not_wait_for_a_spool_that_hangs(self):
        with Scene() as scene:
            process = self.start_first(scene, "read line <hold; exit 3")
            send_daemons(scene, signal.SIGSTOP)
            began = time.monotonic()
            with open(os.path.join(scene.folder, "hold"), "w", encoding="ascii") as hold:
                hold.write("go\n")
            self.assertEqual(end(process), 3)
            self.assertLess(time.monotonic() - began, 20)

    def test_a_program_that_recovered_from_a_reported_fault_is_reported_at_its_end_too(self):
        for number, kind in ((signal.SIGKILL, "killed"), (signal.SIGSEGV, "sent-by-process")):
            with self.subTest(number), Scene() as scene:
                process = start(scene, LIVES, "recovers", CRASHHOOK_KILLS="yes",
                                CRASHHOOK_HANDLERS="last")
                process.send_signal(number)
                self.assertEqual(end(process), -number)
                self.assertEqual(len(self.list(scene)), 2)
                recovered, last = sorted((report["crash"] for report in scene.reports()),
                                         key=lambda crash: crash["kind"] == kind)
                self.assertEqual((recovered["name"], recovered["code_name"]),
                                 ("SIGSEGV", "SEGV_ACCERR"))
                self.assertEqual((last["signal"], last["kind"]), (number, kind))

    def test_a_handler_of_sigterm_has_the_stack_that_it_has_without_us(self):
        with Scene() as scene:
            process = start(scene, LIVES, "falls", CRASHHOOK_KILLS="yes")
            process.terminate()
            self.assertEqual(end(process), -signal.SIGSEGV)
            frames = harness.frames_of(harness.crashed_thread(self.only_report(scene)))
            self.assertEqual(frames[0]["function"], "fall")
            # Between it and what the signal interrupted, there is the C library's return.
            images = [frame["image"] for frame in frames]
            self.assertNotEqual(images[1], images[0])
            self.assertIn("main", [frame.get("function") for frame in frames])
            self.assertNotIn("note_end_signal", [frame.get("function") for frame in frames])

    def test_a_child_leaves_its_parents_life_alone(self):
        with Scene() as scene:
            process = start(scene, LIVES, "forks", CRASHHOOK_KILLS="yes")
            wait_for(lambda: lives(scene))
            process.kill()
            end(process)
            self.assert_told(self.only_report(scene))

    def test_no_file_is_made_where_nobody_asked(self):
        with Scene() as scene:
            process = start(scene, LIVES, "waits")
            process.kill()
            end(process)
            self.assertFalse(os.path.exists(scene.spool))

    def test_its_supervisor_reports_that_a_program_was_killed(self):
        with Scene() as scene:
            process = run(scene, "waits")
            os.kill(child_of(process), signal.SIGKILL)
            self.assertEqual(end(process), -signal.SIGKILL)
            report = self.only_report(scene)
            self.assert_told(report)
            self.assertEqual(report["crash"]["death"]["cause"], "signal")
            self.assertEqual(report["crash"]["death"]["keeper"], "run")
            self.assertEqual(report["process"]["arguments"][-1], "waits")
            self.assertGreater(report["process"]["memory"][-1]["rss_bytes"], 0)

    def test_a_kill_after_a_term_says_how_long_it_was_waited(self):
        with Scene() as scene:
            process = run(scene, "deaf")
            child = child_of(process)
            process.send_signal(signal.SIGTERM)
            time.sleep(2)  # the grace that whoever asks gives
            os.kill(child, signal.SIGKILL)
            self.assertEqual(end(process), -signal.SIGKILL)
            report = self.only_report(scene)
            self.assert_told(report)
            death = report["crash"]["death"]
            self.assertEqual(death["cause"], "did-not-end")
            self.assertEqual(death["asked"]["name"], "SIGTERM")
            self.assertEqual(death["asked"]["pid"], os.getpid())
            self.assertGreater(death["asked"]["before_ms"], 1000)
            self.assertRegex(report["crash"]["summary"], r"Killed by SIGKILL, \d+\.\d s after SIGTERM")

    def test_a_program_that_uses_up_its_time_says_so(self):
        with Scene() as scene:
            process = run(scene, "spins")
            self.assertEqual(end(process), -signal.SIGKILL)
            report = self.only_report(scene)
            self.assertEqual(report["crash"]["death"]["cause"], "cpu-limit")
            self.assertEqual(report["crash"]["death"]["cpu_limit_s"], 1)

    def test_a_limit_or_a_timer_without_a_handler_is_reported_and_others_are_not(self):
        said = {signal.SIGXFSZ: ("file-size-limit", "RLIMIT_FSIZE"),
                signal.SIGALRM: ("timer", "Ended by SIGALRM, which alarm or a timer sends"),
                signal.SIGVTALRM: ("timer", "processor time"),
                signal.SIGPROF: ("timer", "profiler"), signal.SIGUSR1: None, signal.SIGPIPE: None}
        for via in ("preload", "trace"):
            for number, expected in said.items():
                with self.subTest(via=via, number=number), Scene() as scene:
                    done = scene.command("run", "--via", via, "--", LIVES, "raises",
                                         str(int(number)))
                    self.assertIn(done.returncode, (-number, 128 + number))
                    self.assertEqual(len(self.list(scene)), 1 if expected else 0)
                    if expected:
                        crash = scene.reports()[0]["crash"]
                        self.assertEqual((crash["name"], crash["kind"], crash["death"]["cause"]),
                                         (number.name, "killed", expected[0]))
                        self.assertIn(expected[1], crash["summary"])

    def test_what_a_killed_supervisor_saw_is_in_the_report(self):
        with Scene() as scene:
            process = run(scene, "waits")
            self.await_sample(scene, process)
            child = child_of(process)
            process.kill()
            end(process)
            while os.path.exists(f"/proc/{child}"):
                time.sleep(0.01)
            report = self.only_report(scene)
            self.assert_told(report)
            self.assertEqual(report["crash"]["death"]["keeper"], "none")
            self.assertGreater(report["process"]["memory"][0]["rss_bytes"], 0)

    def test_a_waiting_agent_makes_the_report_at_once(self):
        with Scene() as scene:
            process = start(scene, LIVES, "waits", CRASHHOOK_KILLS="yes", CRASHHOOK_MODE="daemon")
            process.kill()
            end(process)
            wait_for(scene.report_paths)
            self.assert_told(scene.reports()[0])

    def test_a_waiting_agent_that_never_saw_the_program_reads_what_its_user_may(self):
        with Scene() as scene:
            home = os.path.join(scene.folder, "home")
            os.mkdir(home, mode=0o700)
            lives_here = shutil.copy(LIVES, home)
            go = os.path.join(scene.folder, "go")
            agent = os.path.join(scene.folder, "agent")
            with open(agent, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\nwhile [ ! -e {go} ]; do sleep 0.01; done\n'
                           f'exec {harness.AGENT} "$@"\n')
            os.chmod(agent, 0o700)
            process = start(scene, lives_here, "waits", CRASHHOOK_KILLS="yes",
                            CRASHHOOK_MODE="daemon", CRASHHOOK_AGENT=agent)
            process.kill()
            end(process)
            os.mknod(go)
            wait_for(scene.report_paths)
            self.assert_told(scene.reports()[0])

    def with_a_stack(self, make):
        """The first report of make that has one: a loaded machine may not have read it in the
        second that a killed process is held."""
        for _ in range(10):
            report = make()
            names = harness.names_of(harness.crashed_thread(report))
            if names:
                return report, names
        self.fail("no report has a stack")

    def test_the_environment_of_a_traced_program_does_not_choose_which_kills_are_reported(self):
        with Scene() as scene:
            shown = scene.run([harness.CRASHHOOK, "run", "--via", "trace", "--", "/usr/bin/env"])
            self.assertIn("CRASHHOOK_SPOOL", shown.stdout)
            self.assertNotIn("CRASHHOOK_KILLS", shown.stdout)

    def test_a_tracer_reads_a_program_that_is_killed_once_more(self):
        def kill():
            with Scene() as scene:
                process = run(scene, "waits", "--via", "trace")
                began = time.monotonic()
                process.kill()
                self.assertEqual(end(process), -signal.SIGKILL)
                self.assertLess(time.monotonic() - began, 10)
                return scene.reports()[0]

        report, names = self.with_a_stack(kill)
        self.assertIn("main", names)
        self.assertEqual(report["crash"]["death"]["keeper"], "trace")
        self.assertTrue(report["crash"]["summary"].startswith("Killed by SIGKILL"))
        self.assertEqual(report["title"], "killed · lives")

    def test_a_page_shows_the_cause_and_the_memory(self):
        with Scene() as scene:
            collector = Collector(scene.folder)
            self.addCleanup(collector.kill)
            process = run(scene, "waits", "--url", collector.url)
            self.await_sample(scene, process)
            os.kill(child_of(process), signal.SIGKILL)
            end(process)
            deadline = time.monotonic() + 30  # it is sent without being asked
            while not collector.get("/api/v1/reports")["reports"]:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
            identity = collector.get("/api/v1/reports")["reports"][0]["id"]
            with urllib.request.urlopen(f"{collector.url}/reports/{identity}") as answer:
                page = answer.read().decode()
            self.assertIn("Killed by SIGKILL, which a process sent", page)
            self.assertRegex(page, r"Memory: \d+ to \d+ MB")

    def report_of_a_full_cgroup(self, *options, supervisor_too=True):
        group = os.path.join(MEMORY, f"crashhook-test.{os.getpid()}")
        os.mkdir(group)
        try:
            with open(os.path.join(group, "memory.limit_in_bytes"), "w", encoding="ascii") as file:
                file.write("60000000")
            with Scene() as scene:
                entered = f"echo $$ >{group}/cgroup.procs; exec \"$@\""
                enter = ["/bin/sh", "-c", entered, "sh"]
                run = [harness.CRASHHOOK, "run", *options, "--"]
                command = enter + run if supervisor_too else run + enter
                process = start(scene, *command, LIVES, "fills", LD_PRELOAD="")
                self.assertEqual(end(process), -signal.SIGKILL)
                report = self.only_report(scene)
                self.shown = scene.command("show").stdout
        finally:
            while True:  # until the last process has left
                try:
                    os.rmdir(group)
                    break
                except OSError:
                    time.sleep(0.01)
        self.assertEqual(report["crash"]["kind"], "out-of-memory")
        death = report["crash"]["death"]
        self.assertEqual(death["cause"], "memory-cgroup")
        self.assertLess(abs(death["limit_bytes"] - 60000000), 4096)
        self.assertIn("its memory cgroup is full (limit 57 MB)", report["crash"]["summary"])
        return report

    @needs_root
    @HAS_CGROUPS
    def test_a_full_memory_cgroup_is_told_with_its_curve(self):
        report = self.report_of_a_full_cgroup()
        self.assert_told(report)
        self.assertEqual(report["crash"]["death"]["oom_kills"], 1)
        self.assertRegex(self.shown, r"Memory +\d+ to \d+ MB, at most \d+ MB, its cgroup \d+ MB, "
                                     r"in the last \d+\.\d s [\u2581-\u2588]+\u2588")
        memory = report["process"]["memory"]
        self.assertGreater(len(memory), 3)
        self.assertLess(memory[0]["rss_bytes"], memory[-1]["rss_bytes"])
        self.assertGreater(memory[-1]["rss_bytes"], 40 << 20)

    @needs_root
    @HAS_CGROUPS
    @unittest.skipUnless(os.access("/dev/kmsg", os.R_OK), "the kernel's log cannot be read")
    def test_a_tracer_tells_where_a_memory_cgroup_was_full(self):
        _, names = self.with_a_stack(
            lambda: self.report_of_a_full_cgroup("--via", "trace", supervisor_too=False))
        self.assertIn("fill", names)

    def test_a_watchdog_reports_a_hang_twice_and_then_ends_the_program(self):
        with Scene() as scene:
            process = start(scene, LIVES, "hangs")
            self.assertEqual(end(process), -signal.SIGABRT)
            *live, last = scene.reports()
            self.assertEqual([r.get("crash") for r in live], [None, None])
            self.assertEqual(last["crash"]["kind"], "watchdog")
            self.assertEqual(last["crash"]["summary"],
                             "The program did not feed its watchdog in time")
            self.assertIn("hang", harness.names_of(harness.crashed_thread(last)))

    def test_samples_of_a_live_program_say_what_they_have_in_common(self):
        with Scene() as scene:
            process = start(scene, LIVES, "waits")
            done = scene.command("attach", "--samples", "3", "--every", "10", "--json",
                                 str(process.pid))
            text = scene.command("attach", "--samples", "2", str(process.pid))
            process.kill()
            end(process)
            sampled = json.loads(done.stdout)
            self.assertEqual(sampled["samples"], 3)
            thread = sampled["threads"][0]
            self.assertEqual((thread["tid"], thread["samples"]), (process.pid, 3))
            self.assertIn("main", thread["common"])
            self.assertLessEqual(sum(thread["then"].values()), 3)
            self.assertRegex(text.stdout, r"Thread \d+ \"lives\", state S, 2 samples:\n")
            self.assertIn("   all  main\n", text.stdout)
            self.assertEqual(scene.command("attach", "--samples", "0", "1").returncode, 2)

    def test_every_kill_at_a_random_moment_is_one_report(self):
        print(f"{KILLS} kills, seed {SEED}")
        moments = random.Random(SEED)
        with Scene() as scene:
            scene.variables["CRASHHOOK_SPOOL_MAX"] = f"{2 * KILLS},1G"
            for _ in range(KILLS):
                process = start(scene, LIVES, "waits", CRASHHOOK_KILLS="yes")
                time.sleep(moments.random() * 0.004)
                process.kill()
                end(process)
            self.assertEqual(len(self.list(scene)), KILLS)
            self.assertEqual([n for n in os.listdir(scene.spool)
                              if not re.fullmatch(r"[0-9a-f-]{36}\.json", n)], [])


if __name__ == "__main__":
    harness.main()
