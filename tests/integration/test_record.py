# SPDX-License-Identifier: Apache-2.0
#
# When no agent writes a report, the handler leaves a record, and the next command that
# looks at the spool makes a report of it: one for each crash, whatever happened to the
# agent, and none beside a report that the agent has written.

import contextlib
import json
import os
import resource
import shlex
import signal
import socket
import subprocess
import time
import unittest

import harness
from harness import Scene, crashed_thread, example, names_of, wait_for
from place import needs_root

OWN_FOLDER = f"/tmp/crashhook-{os.geteuid()}"
MISSING = "/nonexistent/crashhook-agent"


@contextlib.contextmanager
def left_below_tmp():
    """Where records go that the spool does not get; they are gone afterwards."""
    before = set(os.listdir(OWN_FOLDER)) if os.path.isdir(OWN_FOLDER) else set()
    left = []
    yield left
    left += sorted(set(os.listdir(OWN_FOLDER)) - before)
    for name in left:
        os.unlink(os.path.join(OWN_FOLDER, name))


def records(scene):
    if not os.path.isdir(scene.spool):
        return []
    return [name for name in os.listdir(scene.spool) if name.endswith(".record")]

# Crashes with a library that is newer than the agent, as far as the agent can see.
OTHER_VERSION = """
import ctypes, re
with open("/proc/self/maps") as maps, open("/proc/self/mem", "r+b", 0) as memory:
    for start, end in re.findall("(.*)-(.*) r.-p .* 00:00 0 +\\n", maps.read()):
        memory.seek(int(start, 16))
        content = memory.read(int(end, 16) - int(start, 16))
        # The magic and the version of shared/request_page.h.
        for at in re.finditer(rb"rashhook(?=[^\\0]\\0\\0\\0)", content):
            memory.seek(int(start, 16) + at.end())
            memory.write(bytes([content[at.end()] + 1]))
ctypes.string_at(0)
"""


class Record(unittest.TestCase):
    def list(self, scene):
        listed = scene.command("list", "--json")
        self.assertEqual(listed.stderr, "")
        return json.loads(listed.stdout)

    def only_report(self, scene):
        """The report of the one record that was left; it is gone then."""
        self.assertEqual(len(records(scene)), 1)
        self.assertEqual(len(self.list(scene)), 1)
        self.assertEqual(records(scene), [])
        reports = scene.reports()
        self.assertEqual(len(reports), 1)
        self.assertEqual(reports[0]["agent"]["tier"], "record")
        return reports[0]

    def test_a_crash_without_an_agent_is_listed_with_its_frames(self):
        with Scene() as scene:
            ended = scene.run([example("null_write")], CRASHHOOK_AGENT=MISSING,
                              CRASHHOOK_TAGS="fleet=blue", CRASHHOOK_RELEASE="7.1",
                              CRASHHOOK_USER="kim")
            self.assertEqual(ended.signal, signal.SIGSEGV)
            report = self.only_report(scene)
            self.assertEqual(report["crash"]["kind"], "null-dereference")
            self.assertEqual(report["process"]["pid"], ended.pid)
            self.assertEqual(report["tags"], {"fleet": "blue", "user": "kim"})
            self.assertEqual(report["release"], "7.1")
            self.assertIn("no agent could be started", report["problems"][0]["status"])
            self.assertIn("main", names_of(crashed_thread(report)))
            with open(os.path.join(harness.SOURCE, "docs/report-1.schema.json"),
                      encoding="utf-8") as file:
                schema = json.load(file)
            for key in schema["required"]:
                self.assertIn(key, report)

    def test_a_program_that_was_written_to_right_after_its_crash_names_nothing(self):
        with Scene() as scene:
            program = scene.copy(harness.program("worst"))
            scene.run([program, "plain"], CRASHHOOK_AGENT=MISSING)
            now = time.time_ns()
            os.utime(program, ns=(now, now))
            self.assertNotIn("crash", names_of(crashed_thread(self.only_report(scene))))

    def test_the_text_of_an_abort_is_in_it(self):
        with Scene() as scene:
            scene.run([harness.program("says_why_alone"), "assert"],
                      CRASHHOOK_AGENT=MISSING)
            self.assertEqual(self.only_report(scene)["crash"]["kind"], "assertion")

    def test_a_full_stack_is_followed(self):
        with Scene() as scene:
            scene.run([example("overflow")], CRASHHOOK_AGENT=MISSING)
            report = self.only_report(scene)
            self.assertEqual(report["crash"]["kind"], "stack-overflow")
            self.assertGreater(names_of(crashed_thread(report)).count("render_comment"), 8)

    def test_one_report_of_each_crash_whatever_became_of_the_agent(self):
        agents = {
            "exit 1": "the agent ended",
            "kill -KILL $$": "the agent ended",
            "kill -STOP $$": "by the deadline",
        }
        for text, reason in agents.items():
            with self.subTest(text), Scene() as scene:
                timeout = "1s" if "STOP" in text else "30s"
                ended = scene.run([example("null_write")], CRASHHOOK_TIMEOUT=timeout,
                                  CRASHHOOK_AGENT=harness.agent_script(scene, text))
                self.assertEqual(ended.signal, signal.SIGSEGV)
                report = self.only_report(scene)
                self.assertIn(reason, report["problems"][0]["status"])

    def test_an_agent_killed_while_it_works_makes_one_report_in_all(self):
        for place in ("process_vm_readv:when=1", "write:when=1", "renameat:when=1",
                      "sendto:when=1", "sendto:when=2"):
            call, when = place.split(":")
            with self.subTest(place), Scene() as scene:
                agent = harness.agent_script(
                    scene, f"exec strace -D -f -o /dev/null -e trace={call} "
                           f"-e inject={call}:signal=SIGKILL:{when} {shlex.quote(harness.AGENT)}")
                ended = scene.run([example("null_write")], CRASHHOOK_AGENT=agent)
                self.assertEqual(ended.signal, signal.SIGSEGV)
                self.assertEqual(len(self.list(scene)), 1)
                self.assertEqual(len(scene.reports()), 1)
                self.assertEqual(records(scene), [])

    def test_there_is_no_record_beside_a_report(self):
        with Scene() as scene:
            scene.run([example("null_write")])
            self.assertEqual(records(scene), [])
            self.assertEqual(len(scene.reports()), 1)

    @needs_root
    def test_a_process_that_may_start_no_other_leaves_one(self):
        def limit():
            os.setgid(harness.NOBODY)
            os.setuid(harness.NOBODY)
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))

        with Scene() as scene:
            scene.admit_nobody()
            process = subprocess.run([scene.copy(harness.program("worst")), "plain"], preexec_fn=limit, check=False,
                                     cwd=scene.folder, env=scene.environment({}),
                                     stderr=subprocess.DEVNULL)
            self.assertEqual(process.returncode, -signal.SIGSEGV)
            left = records(scene)
            self.assertEqual(len(left), 1)
            self.assertEqual(os.stat(os.path.join(scene.spool, left[0])).st_mode & 0o777,
                             0o600)

    def test_it_says_nothing_secret(self):
        with Scene() as scene:
            scene.run([example("null_write")], CRASHHOOK_AGENT=MISSING,
                      CRASHHOOK_TOKEN="sesame-7731", PASSWORD="sesame-7732")
            with open(os.path.join(scene.spool, records(scene)[0]), "rb") as file:
                content = file.read()
            self.assertFalse(b"sesame" in content)
            self.assertTrue(b"[stack]" in content)

    def test_a_spool_of_somebody_else_gets_none(self):
        with Scene() as scene, left_below_tmp():
            os.mkdir(scene.spool, 0o777)
            os.chmod(scene.spool, 0o777)
            ended = scene.run([example("null_write")], CRASHHOOK_AGENT=MISSING)
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertEqual(os.listdir(scene.spool), [])

    def test_a_link_in_place_of_the_spool_is_not_followed(self):
        with Scene() as scene, left_below_tmp():
            elsewhere = os.path.join(scene.folder, "elsewhere")
            os.mkdir(elsewhere, 0o700)
            os.symlink(elsewhere, scene.spool)
            ended = scene.run([example("null_write")], CRASHHOOK_AGENT=MISSING)
            self.assertEqual(ended.signal, signal.SIGSEGV)
            self.assertEqual(os.listdir(elsewhere), [])

    def test_a_file_limit_does_not_change_how_the_program_ends(self):
        with Scene() as scene:
            process = subprocess.run(
                [example("null_write")], cwd=scene.folder, check=False,
                env=scene.environment({"CRASHHOOK_AGENT": MISSING}),
                stderr=subprocess.DEVNULL,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
            self.assertEqual(process.returncode, -signal.SIGSEGV)

    def test_what_is_no_record_is_said_and_goes(self):
        with Scene() as scene:
            os.mkdir(scene.spool, 0o700)
            path = os.path.join(scene.spool, "crash-0000000000000001-00000001.record")
            with open(path, "wb") as file:
                file.write(b"x" * 4096)
            listed = scene.command("list", "--json")
            self.assertEqual(json.loads(listed.stdout), [])
            self.assertIn("cannot make a report of record", listed.stderr)
            self.assertFalse(os.path.exists(path))

    def test_records_of_another_version_stay_and_are_told_in_one_line(self):
        with Scene() as scene:
            scene.run([example("null_write")], CRASHHOOK_AGENT=MISSING)
            made, = records(scene)
            with open(os.path.join(scene.spool, made), "rb") as file:
                record = bytearray(file.read())
            record[8] += 1  # the version, after the magic
            for number in range(3):
                with open(os.path.join(scene.spool, f"crash-{number:016x}-00000001.record"),
                          "wb") as file:
                    file.write(record)
            listed = scene.command("list", "--json")
            self.assertEqual(len(json.loads(listed.stdout)), 1)
            self.assertRegex(listed.stderr, r"\Acrashhook: records in '.*' are of another"
                             r" version .*\(3, such as 'crash-0000.*\n\Z")
            self.assertEqual(len(records(scene)), 3)
            # A program that has nothing to do with them says what it says alone.
            done = scene.command("run", "--via", "preload", "--", "true")
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_library_and_an_agent_of_two_versions_leave_a_record_and_a_line(self):
        with Scene() as scene:
            ended = scene.run(["/usr/bin/python3", "-c", OTHER_VERSION])
            self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
            self.assertLess(ended.seconds, 10)
            self.assertEqual(len(records(scene)), 1)
            self.assertRegex(scene.command("list").stderr, r"another version .* \(1, such as")

    def test_run_makes_the_report_itself(self):
        with Scene() as scene:
            scene.command("run", "--agent", MISSING, "--", example("null_write"))
            self.assertEqual(len(scene.reports()), 1)

    def test_the_next_crash_takes_it_along(self):
        with Scene() as scene:
            scene.run([example("null_write")], CRASHHOOK_AGENT=MISSING)
            scene.run([example("null_write")])
            wait_for(lambda: not records(scene))
            self.assertEqual(sorted(r["agent"]["tier"] for r in scene.reports()),
                             ["ptrace", "record"])

    def test_who_watches_the_spool_sends_it(self):
        with Scene() as scene, socket.create_server(("127.0.0.1", 0)) as server:
            environment = scene.environment({})
            environment.pop("LD_PRELOAD")
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            watch = subprocess.Popen([harness.CRASHHOOK, "upload", "--watch", "--url", url],
                                     env=environment, stderr=subprocess.DEVNULL)
            try:
                scene.run([example("null_write")], CRASHHOOK_AGENT=MISSING)
                server.settimeout(60)
                connection, _ = server.accept()
                with connection:
                    self.assertTrue(connection.recv(64).startswith(b"POST /api/v1/reports"))
            finally:
                watch.kill()
                watch.wait()
            self.assertEqual(records(scene), [])

    def test_two_who_look_at_once_make_one_report(self):
        with Scene() as scene:
            scene.run([example("null_write")], CRASHHOOK_AGENT=MISSING)
            environment = scene.environment({})
            environment.pop("LD_PRELOAD")
            lists = [subprocess.Popen([harness.CRASHHOOK, "list"], env=environment,
                                      stdout=subprocess.DEVNULL) for _ in range(4)]
            for process in lists:
                self.assertEqual(process.wait(timeout=60), 0)
            self.assertEqual(len(scene.reports()), 1)


if __name__ == "__main__":
    harness.main()
