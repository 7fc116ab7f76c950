# SPDX-License-Identifier: Apache-2.0
#
# crashhook doctor: it tries what a report needs, and says what would stop one.

import http.server
import json
import os
import pwd
import shutil
import subprocess
import sys
import threading
import time
import unittest

import cli_scene
from cli_scene import BUILD, Scene

sys.path.insert(0, os.path.join(cli_scene.SOURCE, "tests", "collector"))
sys.path.insert(0, os.path.join(cli_scene.SOURCE, "tests", "support"))
import running
from place import needs_root, needs_tracing

COLLECTOR = os.path.join(BUILD, "bin", "crashhook-collector")
NOBODY = 65534


class Server:
    """A server of somebody else's, which answers every POST alike and keeps it."""

    def __init__(self, status, body=b"{}", needs=None):
        seen = self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                data = self.rfile.read(int(self.headers["Content-Length"]))
                seen.append((self.path, dict(self.headers), data))
                refused = needs is not None and self.headers.get(needs[0]) != needs[1]
                self.send_response(401 if refused else status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def host(self):
        return "127.0.0.1:%d" % self.server.server_port


class Doctor(unittest.TestCase):
    def found(self, scene, *arguments, **variables):
        """The findings by their name, as (verdict, text, fix)."""
        done = scene.run("doctor", "--json", *arguments, **variables)
        answer = json.loads(done.stdout)
        troubles = [c for c in answer["checks"] if c["verdict"] == "trouble"]
        self.assertEqual(answer["ok"], not troubles)
        self.assertEqual(done.returncode, 1 if troubles else 0, done.stdout + done.stderr)
        return {c["name"]: (c["verdict"], c["text"], c["fix"]) for c in answer["checks"]}


class Targets(Doctor):
    def target(self, url, **variables):
        with Scene() as scene:
            return self.found(scene, "--url", url, **variables)["targets"]

    def test_a_collector_is_asked_with_the_token_and_stores_nothing(self):
        with running.Collector(COLLECTOR, tokens=["marigold"]) as collector:
            verdict, text, _ = self.target(collector.url, CRASHHOOK_TOKEN="marigold")
            self.assertEqual((verdict, text), ("ok", collector.url + " takes reports"))
            status, answer = collector.json("GET", "/api/v1/reports")
            self.assertEqual((status, answer["reports"]), (200, []))

    def test_a_wrong_token_and_none_are_trouble(self):
        with running.Collector(COLLECTOR, tokens=["marigold"]) as collector:
            verdict, text, fix = self.target(collector.url, CRASHHOOK_TOKEN="tulip")
            self.assertEqual(verdict, "trouble")
            self.assertIn("lets no report in: it answered 401", text)
            self.assertNotIn("tulip", text)
            verdict, text, fix = self.target(collector.url)
            self.assertEqual(verdict, "trouble")
            self.assertIn("no token is set", text)
            self.assertIn("CRASHHOOK_TOKEN_FILE", fix[0])

    def test_a_token_file_that_cannot_be_used_is_trouble(self):
        with Scene() as scene:
            path = os.path.join(scene.folder, "token")
            with open(path, "w", encoding="ascii") as file:
                file.write("marigold")
            os.chmod(path, 0o666)
            verdict, text, _ = self.found(scene, "--url", "http://127.0.0.1:1",
                                          CRASHHOOK_TOKEN_FILE=path)["targets"]
        self.assertEqual(verdict, "trouble")
        self.assertIn("cannot use the token", text)

    def test_a_server_that_is_no_collector_is_trouble(self):
        for status in (200, 404, 400):
            with self.subTest(status=status), Server(status) as server:
                verdict, text, _ = self.target("http://" + server.host)
                self.assertEqual(verdict, "trouble")
                self.assertIn(f"is no collector: it answers {status}", text)

    def test_a_collector_that_refuses_every_report_is_trouble(self):
        with Server(400, b'{"error":"the store is closed"}') as server:
            verdict, text, _ = self.target("http://" + server.host)
            self.assertEqual(verdict, "trouble")
            self.assertIn("refuses every report: the store is closed", text)
            (_, _, body), = server.seen
        # It was asked with a report that it could judge.
        self.assertEqual(json.loads(body)["schema"], "crashhook.report/1")

    def test_sentry_is_asked_by_an_envelope_without_an_event(self):
        with Server(200) as server:
            verdict, text, _ = self.target(f"sentry+http://peony@{server.host}/7")
            self.assertEqual(verdict, "ok", text)
            self.assertNotIn("peony", text)
            (path, headers, body), = server.seen
        self.assertEqual(path, "/api/7/envelope/")
        self.assertIn("sentry_key=peony", headers["X-Sentry-Auth"])
        kinds = [json.loads(line).get("type") for line in body.splitlines()]
        self.assertEqual(kinds, [None, "client_report", None])

    def test_a_key_that_sentry_refuses_is_trouble(self):
        with Server(403, b'{"detail":"bad sentry DSN public key"}') as server:
            verdict, text, _ = self.target(f"sentry+http://peony@{server.host}/7")
        self.assertEqual(verdict, "trouble")
        self.assertIn("403: bad sentry DSN public key", text)

    def test_a_log_intake_is_asked_without_a_record_and_with_its_headers(self):
        with Server(200, needs=("X-Api-Key", "lilac")) as server:
            url = f"otlp+http://{server.host}"
            verdict, text, fix = self.target(url)
            self.assertEqual(verdict, "trouble")
            self.assertIn("401", text)
            self.assertIn("OTEL_EXPORTER_OTLP_HEADERS", fix[0])
            verdict, text, _ = self.target(url, OTEL_EXPORTER_OTLP_HEADERS="X-Api-Key=lilac")
            self.assertEqual(verdict, "ok", text)
            path, _, body = server.seen[-1]
        self.assertEqual((path, json.loads(body)), ("/v1/logs", {"resourceLogs": []}))

    def test_of_several_targets_each_is_named(self):
        with Server(200) as server:
            verdict, text, _ = self.target(f"otlp+http://{server.host} http://127.0.0.1:1 ftp://x")
        self.assertEqual(verdict, "trouble")
        self.assertIn("takes reports; http://127.0.0.1:1 does not answer", text)
        self.assertIn("'ftp://x'", text)


class Programs(Doctor):
    def build(self, scene, *flags, compiler="cc", source="int main(void) { return 0; }"):
        path = os.path.join(scene.folder, "program")
        done = subprocess.run([compiler, *flags, "-x", "c", "-", "-o", path], input=source,
                              text=True, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            self.skipTest(f"{compiler} {' '.join(flags)}: {done.stderr.splitlines()[:1]}")
        return path

    def program(self, scene, path, verdict, *words):
        found = self.found(scene, "--", path)["program"]
        self.assertEqual(found[0], verdict, found)
        for word in words:
            self.assertIn(word, found[1])
        return found

    def test_a_program_of_this_c_library_is_preloaded(self):
        with Scene() as scene:
            found = self.program(scene, self.build(scene), "note", "`crashhook run` preloads",
                                 "without `run` nothing of it is reported")
            self.assertEqual(found[2], [f"crashhook run -- '{scene.folder}/program'"])

    def test_a_program_that_holds_the_handler_needs_no_run(self):
        with Scene() as scene:
            library = os.path.join(BUILD, "lib", "libcrashhook.so")
            path = self.build(scene, "-Wl,--no-as-needed", library)
            self.program(scene, path, "ok", "it holds the handler")

    def own_library(self, scene):
        """A copy of the library in a folder of its own, and a program that links it."""
        folder = os.path.join(scene.folder, "own")
        os.mkdir(folder, 0o755)
        name = os.readlink(os.path.join(BUILD, "lib", "libcrashhook.so"))
        library = shutil.copy(os.path.join(BUILD, "lib", name), os.path.join(folder, name))
        return folder, self.build(scene, "-Wl,--no-as-needed", library, "-Wl,-rpath," + folder)

    @unittest.skipIf(cli_scene.SANITIZED, "the handler is loaded into a plain program")
    def test_a_library_that_finds_no_agent_is_trouble(self):
        """The agent beside the command is not the one that the program would start."""
        with Scene() as scene:
            _, path = self.own_library(scene)
            self.program(scene, path, "trouble", "leaves no report", "no agent starts")

    @unittest.skipIf(cli_scene.SANITIZED, "the handler is loaded into a plain program")
    def test_a_library_whose_agent_others_can_change_is_trouble(self):
        agent = os.path.join(BUILD, "libexec", "crashhook", "crashhook-agent")
        with Scene() as scene:
            folder, path = self.own_library(scene)
            copied = shutil.copy(agent, folder)
            self.program(scene, path, "ok", "finds an agent")
            os.chmod(copied, 0o777)
            self.program(scene, path, "trouble", "users other than root and its own can change")

    @unittest.skipIf(cli_scene.SANITIZED, "the handler is loaded into a plain program")
    def test_an_agent_that_others_can_change_is_trouble(self):
        agent = os.path.join(BUILD, "libexec", "crashhook", "crashhook-agent")
        with Scene() as scene:
            copied = shutil.copy(agent, scene.folder)
            os.chmod(copied, 0o777)
            found = self.found(scene, CRASHHOOK_AGENT=copied)
            self.assertEqual(found["agent"][0], "trouble")
            self.assertIn("users other than root and this one", found["agent"][1])
            self.assertEqual(found["test crash"][0], "note")
            self.assertIn("CRASHHOOK_AGENT is ignored", found["test crash"][1])
            # Nor is there a supervisor for programs that are not under run.
            words = "without an agent CRASHHOOK_KILLS reports the kills of programs under"
            self.assertNotIn(words, found["agent"][1])
            found = self.found(scene, CRASHHOOK_AGENT=copied, CRASHHOOK_KILLS="yes")
            self.assertIn(words, found["agent"][1])

    def test_a_static_program_without_an_agent_beside_it_is_trouble(self):
        with Scene() as scene:
            path = self.build(scene, "-static", "-Wl,-u,crashhook_install", "-L",
                              os.path.join(BUILD, "lib"), "-l:libcrashhook.a")
            self.program(scene, path, "trouble", "no agent is beside it")

    def test_static_programs_are_traced(self):
        for flag in ("-static", "-static-pie"):
            with self.subTest(flag=flag), Scene() as scene:
                self.program(scene, self.build(scene, flag), "note", "statically linked", "traces it")

    def test_programs_of_musl_are_traced(self):
        if shutil.which("musl-gcc") is None:
            self.skipTest("there is no musl-gcc")
        with Scene() as scene:
            path = self.build(scene, compiler="musl-gcc")
            self.program(scene, path, "note", "another C library", "traces it")

    def test_programs_with_a_sanitizer_are_preloaded_after_its_runtime(self):
        for compiler in ("gcc", "clang"):
            with self.subTest(compiler=compiler), Scene() as scene:
                path = self.build(scene, "-fsanitize=address", compiler=compiler)
                self.program(scene, path, "note", "sanitizer", "preloads the handler")

    def test_go_programs_are_traced(self):
        if shutil.which("go") is None:
            self.skipTest("there is no go")
        with Scene() as scene:
            source = os.path.join(scene.folder, "main.go")
            with open(source, "w", encoding="ascii") as file:
                file.write("package main\nfunc main() {}\n")
            path = os.path.join(scene.folder, "program")
            subprocess.run(["go", "build", "-o", path, source], check=True, cwd=scene.folder,
                           env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod",
                                "GOCACHE": os.path.join(BUILD, "tests", "go-cache")})
            self.program(scene, path, "note", "it is a Go program", "traces it")

    def test_programs_of_another_machine_are_told(self):
        with Scene() as scene:
            path = self.build(scene)
            with open(path, "r+b") as file: # e_machine: EM_386
                file.seek(18)
                file.write(b"\x03\x00")
            self.program(scene, path, "note", "of another machine")

    def test_handlers_of_its_own_are_told_by_what_it_imports(self):
        source = "#include <signal.h>\nint main(void) { return signal(SIGSEGV, SIG_DFL) == SIG_ERR; }"
        with Scene() as scene:
            self.program(scene, self.build(scene, source=source), "note",
                         "may set handlers of its own")
        with Scene() as scene:
            self.assertNotIn("handlers of its own",
                             self.program(scene, self.build(scene), "note")[1])

    @needs_root
    def test_a_setuid_program_and_one_with_file_capabilities_are_told(self):
        with Scene() as scene:
            path = self.build(scene)
            os.chown(path, NOBODY, NOBODY)
            os.chmod(path, 0o4755)
            self.program(scene, path, "note", f"setuid to user {NOBODY}", "gains privileges")
            os.chmod(path, 0o755)
            # version 2, effective: CAP_NET_BIND_SERVICE
            os.setxattr(path, "security.capability", bytes.fromhex("01000002" "00040000" + 24 * "0"))
            self.program(scene, path, "note", "file capabilities")

    @needs_root
    @needs_tracing
    def test_a_program_that_nobody_could_watch_is_trouble(self):
        with Scene() as scene:
            path = self.build(scene)
            os.chmod(path, 0o4755)
            os.chmod(scene.folder, 0o755)
            os.chown(scene.spool, NOBODY, NOBODY)
            copied = os.path.join(scene.folder, "product")
            library = os.readlink(os.path.join(BUILD, "lib", "libcrashhook.so"))
            for part in ("bin/crashhook", "libexec/crashhook/crashhook-agent", "lib/" + library):
                os.makedirs(os.path.dirname(os.path.join(copied, part)), exist_ok=True)
                shutil.copy(os.path.join(BUILD, part), os.path.join(copied, part))
            done = subprocess.run(
                [os.path.join(copied, "bin/crashhook"), "doctor", "--json", "--", path],
                cwd="/", env=scene.environment(cli_scene.OWN_SIGSEGV), timeout=60,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                user=NOBODY, group=NOBODY, extra_groups=[], check=False)
            checks = {c["name"]: c for c in json.loads(done.stdout)["checks"]}
        self.assertEqual(done.returncode, 1)
        troubles = [name for name in checks if checks[name]["verdict"] == "trouble"]
        self.assertEqual(troubles, ["program"])
        self.assertIn("leaves it unwatched", checks["program"]["text"])
        self.assertIn("crashhook-core-pattern install", checks["program"]["fix"][0])

    def test_a_script_stands_for_its_interpreter(self):
        with Scene() as scene:
            path = os.path.join(scene.folder, "script")
            with open(path, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n")
            os.chmod(path, 0o755)
            self.program(scene, path, "note", "'/bin/sh'")

    def test_what_cannot_be_run_is_trouble(self):
        with Scene() as scene:
            path = os.path.join(scene.folder, "file")
            with open(path, "wb") as file:
                file.write(b"\x7fELF nothing")
            self.program(scene, path, "trouble", "cannot be executed")
            os.chmod(path, 0o755)
            self.program(scene, path, "trouble", "no program that can be read")
            self.program(scene, "./none", "trouble", "'./none' is not found")
            self.program(scene, "crashhook-none", "trouble", "is not found")


class Users(Doctor):
    @needs_root
    def test_a_user_that_may_write_the_spool_is_no_trouble(self):
        with Scene() as scene:
            scene.admit_everybody()
            os.chown(scene.spool, NOBODY, NOBODY)
            name = pwd.getpwuid(NOBODY).pw_name
            found = self.found(scene, "--user", name, **cli_scene.OWN_SIGSEGV)
        self.assertEqual(found["user"][:2], ("ok", f"{name}: reports go to '{scene.spool}'"))
        self.assertEqual(found["test crash"][0], "ok")
        self.assertIn(f"became {name} crashed and was reported", found["test crash"][1])

    @needs_root
    def test_a_user_that_may_not_is_told_where_its_reports_go_instead(self):
        own = 1 << 20 | os.getpid()  # that no other test runs as
        fallback = f"/tmp/crashhook-{own}"
        with Scene() as scene:
            scene.admit_everybody()
            left = os.path.join(scene.folder, "left")
            os.mkdir(left)
            verdict, text, _ = self.found(scene, "--user", str(own), TMPDIR=left)["user"]
            self.assertIn(f"'{scene.spool}' cannot be written to", text)
            self.assertRegex(text, f"reports go to '(/var/lib/crashhook-drop|{fallback})'")
            self.assertIn(verdict, ("ok", "note"))
            self.assertEqual(os.listdir(left), [])
            self.assertFalse(os.path.exists(fallback))

    @needs_root
    def test_an_agent_that_the_user_cannot_run_is_trouble(self):
        with Scene() as scene:
            agent = os.path.join(scene.folder, "agent")
            shutil.copy(os.path.join(BUILD, "libexec", "crashhook", "crashhook-agent"), agent)
            found = self.found(scene, "--user", str(NOBODY), CRASHHOOK_AGENT=agent)
        self.assertEqual(found["user"][0], "trouble")
        self.assertIn("the agent cannot be run", found["user"][1])

    def test_a_user_that_is_not_there_is_trouble(self):
        with Scene() as scene:
            verdict, text, _ = self.found(scene, "--user", "no-such-user")["user"]
        self.assertEqual((verdict, text), ("trouble", "there is no user 'no-such-user'"))


class Variables(Doctor):
    def test_a_name_that_is_nearly_one_is_trouble_and_the_fix_renames_it(self):
        with Scene() as scene:
            verdict, text, fix = self.found(scene, CRASHHOOK_RELASE="1.2")["variables"]
        self.assertEqual(verdict, "trouble")
        self.assertIn("there is no CRASHHOOK_RELASE (CRASHHOOK_RELEASE?)", text)
        done = subprocess.run(["sh", "-c", fix[0] + "; env"], env={"CRASHHOOK_RELASE": "1.2"},
                              stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn("CRASHHOOK_RELEASE=1.2", done.stdout.splitlines())
        self.assertNotIn("RELASE", done.stdout)

    def test_a_name_that_is_like_none_is_a_note(self):
        with Scene() as scene:
            verdict, text, fix = self.found(scene, CRASHHOOK_FAVOURITE_COLOUR="red")["variables"]
        self.assertEqual((verdict, text, fix),
                         ("note", "there is no CRASHHOOK_FAVOURITE_COLOUR", []))

    def test_a_name_that_a_shell_would_carry_out_is_in_no_fix(self):
        with Scene() as scene:
            _, text, fix = self.found(scene, **{"CRASHHOOK_UR$(x)": "1"})["variables"]
        self.assertIn("CRASHHOOK_UR$(x)", text)
        self.assertEqual(fix, [])

    def test_relative_paths_and_a_log_on_stdout_are_told(self):
        with Scene() as scene:
            verdict, text, fix = self.found(scene, CRASHHOOK_LOG="stdout",
                                            CRASHHOOK_SPOOL="it's here")["variables"]
        self.assertEqual(verdict, "note")
        self.assertIn("CRASHHOOK_LOG='stdout' is not understood: it takes a file, or stderr", text)
        self.assertIn("means another file in each folder", text)
        done = subprocess.run(["sh", "-c", "\n".join(fix) + "\nenv"], cwd="/tmp", check=True,
                              stdout=subprocess.PIPE, text=True)
        self.assertIn("CRASHHOOK_SPOOL=/tmp/it's here", done.stdout.splitlines())

    def test_files_that_are_not_written_to_are_told(self):
        with Scene() as scene:
            link = os.path.join(scene.folder, "link")
            os.symlink("/dev/null", link)
            for name in ("CRASHHOOK_LOG", "CRASHHOOK_OUTPUT"):
                verdict, text, _ = self.found(scene, **{name: link})["variables"]
                self.assertEqual(verdict, "note")
                self.assertIn(f"{name}='{link}' is not written to", text)
            _, text, _ = self.found(scene, CRASHHOOK_OUTPUT=scene.folder)["variables"]
            self.assertNotIn("is not written to", text)

    def test_a_value_that_is_not_understood_is_a_note(self):
        with Scene() as scene:
            verdict, text, _ = self.found(scene, CRASHHOOK_LIMIT="many")["variables"]
        self.assertEqual(verdict, "note")
        self.assertIn("CRASHHOOK_LIMIT='many' is not understood", text)


class Processes(Doctor):
    FAULT = ("6,1207,88000000,-;shop[{pid}]: segfault at 0 ip 0000563c sp 00007ffc error 6 in "
             "shop[563c+1000]\n")
    KILLED = "3,1208,99000000,-;Out of memory: Killed process {pid} (shop) total-vm:65536kB\n"
    GONE = 4194303  # PIDs end before it

    def process(self, scene, pid, *arguments, **variables):
        return self.found(scene, "--pid", str(pid), *arguments, **variables)["process"]

    def kernel_log(self, scene, *lines):
        path = os.path.join(scene.folder, "kmsg")
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(line.format(pid=self.GONE) for line in lines))
        return "--kernel-log", path

    def waiting(self, **variables):
        process = subprocess.Popen(["sh", "-c", "echo up; read line"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"],
                                                                "HOME": "/", **variables})
        self.addCleanup(process.communicate)
        process.stdout.readline()
        return process.pid

    @unittest.skipIf(cli_scene.SANITIZED, "the handler is preloaded into a plain program")
    def test_a_process_that_holds_the_handler_is_told_with_where_its_reports_go(self):
        library = os.path.join(BUILD, "lib", "libcrashhook.so")
        with Scene() as scene:
            pid = self.waiting(LD_PRELOAD=library, CRASHHOOK_SPOOL=scene.spool)
            verdict, text, _ = self.process(scene, pid)
            self.assertEqual(verdict, "ok", text)
            self.assertIn("holds the handler; its reports go to " + scene.spool, text)
            pid = self.waiting(LD_PRELOAD=library, CRASHHOOK_ENABLE="no")
            verdict, text, _ = self.process(scene, pid)
            self.assertEqual(verdict, "trouble", text)
            self.assertIn("CRASHHOOK_ENABLE=no", text)

    @unittest.skipIf(cli_scene.SANITIZED, "the handler is preloaded into a plain program")
    def test_a_process_that_finds_no_agent_is_trouble(self):
        library = os.path.join(BUILD, "lib", "libcrashhook.so")
        words = "no agent is where its handler looks for one"
        with Scene() as scene:
            pid = self.waiting(LD_PRELOAD=library, CRASHHOOK_AGENT="/nonexistent/agent")
            verdict, text, _ = self.process(scene, pid)
            self.assertEqual(verdict, "trouble", text)
            self.assertIn(words, text)

    @needs_root
    @unittest.skipIf(cli_scene.SANITIZED, "the handler is preloaded into a plain program")
    def test_a_process_that_left_its_agent_outside_of_its_root_is_trouble(self):
        library = os.path.join(BUILD, "lib", "libcrashhook.so")
        script = "import os, sys; os.chroot(sys.argv[1]); print('up', flush=True); input()"
        with Scene() as scene:
            process = subprocess.Popen(["/usr/bin/python3", "-c", script, scene.folder],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, env={"LD_PRELOAD": library})
            self.addCleanup(process.communicate)
            process.stdout.readline()
            verdict, text, _ = self.process(scene, process.pid)
            self.assertEqual(verdict, "trouble", text)
            self.assertIn("looks for one, below its root " + scene.folder, text)

    def test_a_process_without_the_handler_is_trouble(self):
        with Scene() as scene:
            pid = self.waiting()
            verdict, text, _ = self.process(scene, pid)
            self.assertEqual(verdict, "trouble", text)
            self.assertIn(f"`crashhook attach {pid}`", text)

    def test_of_a_process_that_left_a_report_that_is_named(self):
        with Scene() as scene:
            identity = scene.add(1, process={"pid": self.GONE, "executable": "/bin/shop"})
            scene.add(2)
            verdict, text, _ = self.process(scene, self.GONE)
            self.assertEqual((verdict, text),
                             ("ok", f"process {self.GONE} was reported: crashhook show {identity}"))

    def test_of_a_process_whose_child_left_a_report_that_is_named(self):
        with Scene() as scene:
            identity = scene.add(1, process={"pid": 7, "ppid": self.GONE, "executable": "/bin/shop"})
            verdict, text, _ = self.process(scene, self.GONE)
            self.assertEqual((verdict, text), (
                "note", f"process {self.GONE} left no report; one that it had started did: "
                        f"crashhook show {identity}"))

    def test_why_there_is_no_report_is_told_from_the_kernels_log(self):
        with Scene() as scene:
            fault = self.kernel_log(scene, "6,1,2,-;other[1]: segfault at 1\n", self.FAULT)
            verdict, text, fix = self.process(scene, self.GONE, *fault)
            self.assertEqual(verdict, "trouble")
            self.assertIn("has no report of it; the kernel says: ", text)
            self.assertIn(f"Z shop[{self.GONE}]: segfault at 0", text)
            self.assertIn("crashhook-core-pattern install", fix[0])
            killed = self.kernel_log(scene, self.FAULT, self.KILLED)
            verdict, text, fix = self.process(scene, self.GONE, *killed)
            self.assertIn("Out of memory: Killed process", text)
            self.assertIn("but `crashhook run` does", text)
            self.assertEqual(fix, [])

    def test_what_the_kernel_did_not_log_and_the_agent_did_is_told(self):
        with Scene() as scene:
            log = os.path.join(scene.folder, "log")
            with open(log, "w", encoding="ascii") as file:
                file.write(f"cannot stop process 12: No\ncannot stop process {self.GONE}: Gone\n")
            nothing = self.kernel_log(scene)
            _, text, _ = self.process(scene, self.GONE, *nothing, CRASHHOOK_LOG=log)
            self.assertIn("the kernel logged no fault of it", text)
            self.assertTrue(text.endswith(f"says: cannot stop process {self.GONE}: Gone"), text)
            _, text, _ = self.process(scene, self.GONE, *nothing)
            self.assertIn("set CRASHHOOK_LOG=FILE", text)

    def moment_of_kernel(self, seconds_ago):
        """A record of the kernel's log written so long ago, and when that was, for --at."""
        us = int((time.clock_gettime(time.CLOCK_MONOTONIC) - seconds_ago) * 1e6)
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds_ago))
        return f"6,1207,{us},-;shop[{{pid}}]: segfault at 0 ip 0 sp 0 error 6\n", when

    def test_of_a_number_that_was_given_away_again_the_time_tells_which_is_meant(self):
        with Scene() as scene:
            identity = scene.add(1, process={"pid": self.GONE, "executable": "/bin/shop"})
            taken = int(identity[:13].replace("-", ""), 16) // 1000
            for at in (taken - 60, taken + 59):
                _, text, _ = self.process(scene, self.GONE, "--at",
                                          time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(at)))
                self.assertEqual(text,
                                 f"process {self.GONE} was reported: crashhook show {identity}")
            later = time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(taken + 3600))
            verdict, text, _ = self.process(scene, self.GONE, "--at", later,
                                            *self.kernel_log(scene))
            self.assertEqual(verdict, "trouble")
            self.assertIn("has no report of it at that time", text)
            self.assertIn(f"had the same number: crashhook show {identity}", text)

    def test_what_the_kernel_said_at_another_time_is_of_another_process(self):
        with Scene() as scene:
            fault, when = self.moment_of_kernel(5)
            log = self.kernel_log(scene, "6,1,2,-;Linux begins\n", fault)
            self.assertIn("segfault", self.process(scene, self.GONE, "--at", when, *log)[1])
            _, before = self.moment_of_kernel(600)
            self.assertIn("the kernel logged no fault of it",
                          self.process(scene, self.GONE, "--at", before, *log)[1])

    def test_a_kernels_log_that_begins_later_is_told(self):
        with Scene() as scene:
            log = self.kernel_log(scene, self.moment_of_kernel(5)[0])
            _, before = self.moment_of_kernel(600)
            _, text, _ = self.process(scene, self.GONE, "--at", before, *log)
            self.assertIn("the kernel's log begins at ", text)
            self.assertIn("`journalctl -k` may have it", text)

    def test_a_process_that_was_started_after_that_time_is_another(self):
        with Scene() as scene:
            pid = self.waiting()
            for when, text in ((time.time() - 86400, "has no report of it at that time"),
                               (time.time(), "does not hold the shared handler")):
                at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
                self.assertIn(text, self.process(scene, pid, "--at", at)[1])

    def test_a_time_of_day_is_the_last_such_one(self):
        with Scene() as scene:
            identity = scene.add(1, process={"pid": self.GONE})
            now = time.time()
            for hours in (1, 23):
                recent = f"{int((now - 3600 * hours) * 1000):012x}"
                moved = f"{recent[:8]}-{recent[8:]}{identity[13:]}"
                os.rename(scene.file(identity), scene.file(moved))
                at = time.strftime("%H:%M", time.gmtime(now - 3600 * hours)) + "Z"
                self.assertIn("crashhook show " + moved,
                              self.process(scene, self.GONE, "--at", at)[1])
                identity = moved

    def test_what_is_no_time_is_trouble_and_a_time_without_a_process_is_misuse(self):
        with Scene() as scene:
            for word in ("", "25:00", "12:31Zx", "2026-13-01T00:00"):
                self.assertIn("is no time", self.process(scene, self.GONE, "--at", word)[1])
            self.assertEqual(scene.run("doctor", "--at", "12:31").returncode, 2)

    def test_what_is_no_number_is_trouble(self):
        with Scene() as scene:
            for word in ("", "0", "-1", "12x", "99999999999"):
                self.assertIn("is no process's number", self.process(scene, word)[1])


class Places(Doctor):
    @unittest.skipUnless(shutil.which("dpkg-query"), "there is no dpkg")
    def test_the_programs_of_a_package_are_counted(self):
        with Scene() as scene:
            verdict, text, _ = self.found(scene, "--package", "coreutils")["package"]
            self.assertEqual(verdict, "ok", text)
            self.assertRegex(text, r"preloaded into [1-9]\d+ of its programs and 0 are traced")
            for name in ("no-such-package", "../../../etc/passwd"):
                verdict, text, _ = self.found(scene, "--package", name)["package"]
                self.assertEqual(verdict, "trouble")
                self.assertIn("is no installed package", text)

    def test_a_container_is_told(self):
        with Scene() as scene:
            for kind in ("lxc", "oci"):
                _, text, _ = self.found(scene, container=kind)["container"]
                self.assertFalse(text.startswith("this is none"), text)

    @needs_root
    def test_a_machine_without_proc_is_trouble(self):
        with Scene() as scene:
            done = subprocess.run(
                ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" doctor --json',
                 scene.command], env=scene.environment({}), stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        checks = {each["name"]: each for each in json.loads(done.stdout)["checks"]}
        self.assertEqual(checks["ptrace"]["verdict"], "trouble")
        self.assertIn("/proc is not mounted", checks["ptrace"]["text"])
        self.assertEqual(checks["ptrace"]["fix"], ["mount -t proc proc /proc"])


class Printing(Doctor):
    def test_fix_prints_the_commands_alone_below_what_they_are_for(self):
        with Scene() as scene:
            done = scene.run("doctor", "--fix", CRASHHOOK_URl="http://h")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout,
                         "# variables: there is no CRASHHOOK_URl (CRASHHOOK_URL?)\n"
                         'export CRASHHOOK_URL="$CRASHHOOK_URl"; unset CRASHHOOK_URl\n')

    def test_what_is_set_is_printed_without_secrets(self):
        with Scene() as scene:
            done = scene.run("doctor", CRASHHOOK_TOKEN="marigold",
                             CRASHHOOK_TAGS="password=tulip77",
                             CRASHHOOK_URL="http://ann:peony77@127.0.0.1:1")
        for secret in ("marigold", "tulip77", "peony77"):
            self.assertNotIn(secret, done.stdout + done.stderr)
        self.assertIn("CRASHHOOK_TOKEN=***", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
