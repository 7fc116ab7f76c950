# SPDX-License-Identifier: Apache-2.0
#
# The flight record of real programs, compiled here by gcc and by clang, that crash in
# the ways that are hard for it: among signals, after fork, in the recorder itself.

import glob
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness
from harness import Scene, wait_for
from place import needs_root
from test_daemon import daemons

PROGRAMS = os.path.join(harness.SOURCE, "tests", "integration", "programs")
LIB = os.path.join(harness.BUILD, "lib")
SOURCES = [os.path.join(PROGRAMS, "flight", "flight_calls.c"),
           os.path.join(harness.SOURCE, "formats", "debug", "elf.c"),
           os.path.join(harness.SOURCE, "base", "cursor.c")]
FLAGS = ["-O2", "-g", "-fno-optimize-sibling-calls", "-D_GNU_SOURCE", "-I", harness.SOURCE,
         "-pthread"]
LIBRARY = os.path.join(PROGRAMS, "flight", "flight_library.c")
STATIC = [os.path.join(LIB, "libcrashhook-flight.a")]
SHARED = ["-Wl,--push-state,--no-as-needed", "-L", LIB, "-lcrashhook-flight",
          f"-Wl,-rpath,{LIB}", "-Wl,--pop-state"]
KEPT = ["-Wl,-u,crashhook_flight_start"]
HOOKS = ["-finstrument-functions"]
SLEDS = ["-fxray-instrument", "-fxray-instruction-threshold=1"]
DESCENT = ["descend"] * 6
LIVES = ["-I", os.path.join(harness.SOURCE, "include"), os.path.join(PROGRAMS, "flight", "flight_lives.c")]
HANDLER = ["-L", LIB, "-lcrashhook"]
DAMAGED = 60 if harness.FULL else 24
SEED = int(os.environ.get("CRASHHOOK_SEED", "7"))
LLVM_XRAY = sorted(glob.glob("/usr/lib/llvm-*/bin/llvm-xray"))


class Programs:
    """What the tests crash, compiled once."""
    folder = None

    @classmethod
    def compile(cls, name, compiler, *options):
        path = os.path.join(cls.folder, name)
        if not os.path.exists(path):
            done = subprocess.run([compiler, *FLAGS, *options, "-o", path], check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                raise AssertionError(done.stdout)
        return path

    @classmethod
    def gcc(cls):
        return cls.compile("gcc", "gcc", *HOOKS, *SOURCES, *SHARED, "-ldl")

    @classmethod
    def xray(cls):
        return cls.compile("xray", "clang", *SLEDS, *SOURCES, *KEPT, *STATIC)


    @classmethod
    def lives(cls):
        return cls.compile("lives", "gcc", *HOOKS, *LIVES, *SHARED, *HANDLER)

    @classmethod
    def errno(cls):
        return cls.compile("errno", "gcc", *HOOKS,
                           os.path.join(PROGRAMS, "flight", "flight_errno.c"), *SHARED)


def setUpModule():
    Programs.folder = tempfile.mkdtemp(prefix="crashhook-test.")
    os.chmod(Programs.folder, 0o755)  # a killed program's record is read with nobody's rights


def tearDownModule():
    shutil.rmtree(Programs.folder, ignore_errors=True)


def crashed(report):
    """The flight record of the thread that crashed."""
    threads = report["flight"]["threads"]
    assert threads[0]["tid"] == report["crash"]["thread"], threads[0]["tid"]
    return threads[0]


def functions(thread, action="enter"):
    return [event.get("function") for event in thread["events"]
            if event["action"].startswith(action)]


class Unharmed(unittest.TestCase):
    def test_an_instrumented_function_keeps_errno(self):
        for memory in ([], ["none"]):
            with self.subTest(memory=memory), Scene() as scene:
                ended = scene.run([Programs.errno(), *memory], CRASHHOOK_FLIGHT="64K")
                self.assertEqual((ended.status, ended.stdout), (0, "0 changes\n"), ended.stderr)


class Flight(unittest.TestCase):
    def run_one(self, *command, flight="64K", tools=(), **variables):
        """The report of a program's one crash."""
        with Scene() as scene:
            scene.run([*command], CRASHHOOK_FLIGHT=flight, **variables)
            reports = scene.reports()
            self.assertEqual(len(reports), 1)
            self.trace(scene, reports[0], tools)
        self.readable(reports[0])
        return reports[0]

    def readable(self, report):
        """What holds of every record, however the program crashed."""
        self.assertNotIn("flight", [p["stage"] for p in report["problems"]])
        names = {f["address"] for f in report["flight"]["functions"]["frames"]}
        for thread in report["flight"]["threads"]:
            times = [event["t_ns"] for event in thread["events"]]
            self.assertTrue(times == sorted(times), times)
            self.assertGreaterEqual(min(e["depth"] for e in thread["events"]), 0)
            self.assertLessEqual({e["address"] for e in thread["events"]}, names)

    def trace(self, scene, report, tools):
        """Every form of the exported trace is one that we read, and each of tools."""
        path = os.path.join(scene.folder, "trace")
        for version in ("1", "3", "5"):
            with open(path, "wb") as file:
                subprocess.run(
                    [harness.CRASHHOOK, "export", "--format", "fdr", "--fdr-version", version,
                     scene.report_paths()[0]], stdout=file, check=True)
            done = subprocess.run([harness.CRASHHOOK, "fdr", "dump", "--json", path], check=True,
                                  stdout=subprocess.PIPE)
            records = json.loads(done.stdout)["records"]
            entered = [r for r in records if r["kind"] == "function" and
                       r["action"].startswith("enter") and
                       r["tid"] == report["crash"]["thread"]]
            # All entries are there, by name; exits are where their entries are.
            self.assertEqual(len(entered), len(functions(crashed(report))))
            for record, name in zip(entered, functions(crashed(report))):
                if name is not None:
                    self.assertEqual(record["name"], name)
            for tool in tools:
                for arguments in (("convert", "-f", "yaml", "-o", "/dev/null"),
                                  ("account", "-k"), ("fdr-dump",)):
                    done = subprocess.run([tool, *arguments, path], stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, check=False)
                    self.assertEqual(done.returncode, 0, (tool, version, done.stdout))

    def check_stack(self, report, source):
        """The last open calls are the crashed stack."""
        thread = crashed(report)
        self.assertEqual(thread["source"], source)
        self.assertEqual(thread["open_calls"][-6:], DESCENT)
        self.assertEqual(thread["open_on_stack"], len(thread["open_calls"]))
        frames = report["threads"][0]["backtrace"]["frames"]
        self.assertEqual([frames[call["frame"]]["function"] for call in thread["open"][-6:]],
                         DESCENT)
        self.assertLess(thread["events"][-1]["t_ns"], 0)
        self.assertGreater(thread["events"][-1]["t_ns"], -10**10)

    def check_workers(self, report):
        threads = report["flight"]["threads"]
        self.assertGreaterEqual(len(threads), 4)
        for thread in threads[1:]:
            if thread["tid"] != report["process"]["pid"]:
                self.assertIn("elf_view_section", functions(thread))

    def test_gcc_with_four_threads(self):
        report = self.run_one(Programs.gcc(), "worker", tools=LLVM_XRAY)
        self.check_stack(report, "finstrument")
        self.check_workers(report)

    def test_static_recorder(self):
        path = Programs.compile("static", "gcc", *HOOKS, *SOURCES, *STATIC)
        self.check_stack(self.run_one(path, "worker"), "finstrument")

    def test_all_static_program(self):
        handler = ["-static", "-Wl,-u,crashhook_install", os.path.join(LIB, "libcrashhook.a")]
        path = Programs.compile("all_static", "gcc", *HOOKS, *SOURCES, *KEPT, *STATIC, *handler,
                                "-Wno-unused-command-line-argument", "-w")
        with Scene() as scene:
            scene.preload = None
            scene.run([path, "worker"], CRASHHOOK_FLIGHT="64K", CRASHHOOK_AGENT=harness.AGENT)
            report = scene.reports()[0]
        self.check_stack(report, "finstrument")

    def test_clang_hooks(self):
        path = Programs.compile("clang", "clang", *HOOKS, *SOURCES, *STATIC, "-ldl")
        self.check_stack(self.run_one(path, "worker"), "finstrument")

    def test_xray_with_four_threads_and_first_arguments(self):
        report = self.run_one(Programs.xray(), "worker", tools=LLVM_XRAY)
        self.check_stack(report, "xray-handler")
        self.check_workers(report)
        self.assertEqual([call["arguments"] for call in crashed(report)["open"][-6:]],
                         [["0x5"], ["0x4"], ["0x3"], ["0x2"], ["0x1"], ["0x0"]])
        # What the frames' own arguments do not know any more, the record does.
        frames = report["threads"][0]["backtrace"]["frames"]
        first = [frames[call["frame"]]["arguments"][0] for call in crashed(report)["open"][-6:]]
        self.assertEqual([argument["entry_value"] for argument in first], [5, 4, 3, 2, 1, 0])
        self.assertIn("flight-record", [argument["source"] for argument in first])

    def test_xray_numbers_are_the_programs(self):
        report = self.run_one(Programs.xray(), "wrap")
        done = subprocess.run(["llvm-xray", "extract", "-symbolize", Programs.xray()],
                              check=True, stdout=subprocess.PIPE, text=True)
        for event in crashed(report)["events"][-20:]:
            self.assertRegex(done.stdout,
                             rf"id: {event['id']},.*function-name: '?{event['function']}'?,")

    def test_ten_thousand_short_threads(self):
        report = self.run_one(Programs.gcc(), "threads")
        self.check_stack(report, "finstrument")
        flight = report["flight"]
        self.assertEqual(flight["threads_missed"], 0)
        # Few rings were used again and again, and the last threads to end are there.
        self.assertLess(len(flight["threads"]), 64)
        ended = [thread for thread in flight["threads"] if thread["ended"]]
        self.assertGreaterEqual(len(ended), 8)
        for thread in ended:
            self.assertEqual(thread["open_calls"], [])

    def test_child_of_fork_has_its_own_record(self):
        report = self.run_one(Programs.gcc(), "fork")
        self.check_stack(report, "finstrument")
        self.assertEqual([t["tid"] for t in report["flight"]["threads"]],
                         [report["process"]["pid"]])
        self.assertIn("crash_in_a_child", crashed(report)["open_calls"])

    def test_signals_in_the_recorder(self):
        report = self.run_one(Programs.gcc(), "signals")
        self.check_stack(report, "finstrument")
        # Some came while a record was being written.
        self.assertGreater(crashed(report)["dropped"], 0)

    def test_calls_left_by_longjmp_are_told_from_the_stack(self):
        report = self.run_one(Programs.gcc(), "longjmp")
        thread = crashed(report)
        self.assertEqual(thread["open_calls"].count("jump"), 4)
        self.assertEqual(len(thread["open_calls"]) - thread["open_on_stack"], 4)
        self.assertEqual(thread["open_calls"][-6:], DESCENT)

    def test_unloaded_code_has_names(self):
        for name, flags in (("library.so", ()), ("unidentified.so", ("-Wl,--build-id=none",))):
            library = Programs.compile(name, "gcc", *HOOKS, *flags, "-shared", "-fPIC", LIBRARY)
            report = self.run_one(Programs.gcc(), "dlclose", library)
            self.check_stack(report, "finstrument")
            calls = [e for e in crashed(report)["events"] if "image" in e]
            self.assertEqual([e["function"] for e in calls],
                             ["call_in_library"] + 6 * ["called_inside"] + ["call_in_library"])
            image = report["images"][calls[0]["image"]]
            self.assertEqual((image["path"], image["unloaded"]), (library, True))

    def test_code_that_replaces_unloaded_code_has_its_own_names(self):
        first, other = (Programs.compile(f"{name}.so", "gcc", *HOOKS, "-shared", "-fPIC",
                                         f"-Dcalled_inside={name}_inside", LIBRARY)
                        for name in ("first", "other"))
        report = self.run_one(Programs.gcc(), "dlclose", first, other, first)
        self.check_stack(report, "finstrument")
        inside = [e for e in crashed(report)["events"]
                  if e.get("function", "").endswith("_inside")]
        self.assertEqual([e["function"] for e in inside],
                         6 * ["first_inside"] + 6 * ["other_inside"] + 6 * ["first_inside"])
        self.assertEqual(len({e["address"] for e in inside}), 1)
        self.assertEqual({report["images"][e["image"]]["path"] for e in inside}, {first, other})

    def test_ring_that_wrapped(self):
        report = self.run_one(Programs.gcc(), "wrap", flight="8K")
        self.check_stack(report, "finstrument")
        self.assertTrue(crashed(report)["wrapped"])
        whole = self.run_one(Programs.gcc(), "wrap", flight="1M")
        self.check_stack(whole, "finstrument")

    def test_crash_in_the_recorder(self):
        inside, tries = False, 0
        while not inside:  # mostly the first is
            tries += 1
            self.assertLess(tries, 50)
            report = self.run_one(Programs.gcc(), "recorder")
            frames = report["threads"][0]["backtrace"]["frames"]
            inside = any("cyg_profile" in frame.get("function", "") for frame in frames[:4])
            self.assertEqual(set(functions(crashed(report))), {"step"})
            self.assertEqual(report["crash"]["signal"], signal.SIGSEGV)

    def test_xrays_own_recorder_is_found_in_memory(self):
        source = os.path.join(PROGRAMS, "flight", "flight_xray_fdr.c")
        for compiler in sorted(shutil.which(f"clang-{n}") or "" for n in (14, 16, 19)):
            if not glob.glob(f"/usr/lib/llvm-{compiler[-2:]}/lib/clang/*/lib/linux/*xray-*.a"):
                continue
            for strip in ([], ["-s"]):
                path = Programs.compile(f"fdr{compiler[-2:]}{len(strip)}", compiler, *SLEDS,
                                        source, *strip)
                report = self.run_one(path)
                thread = crashed(report)
                self.assertEqual(thread["source"], "xray-fdr-memory")
                calls = [call["address"] for call in thread["open"][-6:]]
                self.assertEqual(len(set(calls)), 1)
                if not strip:
                    self.assertEqual(thread["open_calls"][-6:], DESCENT)
                    self.assertEqual(thread["open_on_stack"], len(thread["open_calls"]))
                self.assertGreaterEqual(len(report["flight"]["threads"]), 3)
                self.assertLess(thread["events"][-1]["t_ns"], 0)
                self.assertGreater(thread["events"][-1]["t_ns"], -10**10)

    def test_nothing_is_recorded_unless_asked(self):
        for flight, program in (("no", Programs.gcc()), ("no", Programs.xray())):
            with Scene() as scene:
                scene.run([program, "worker"], CRASHHOOK_FLIGHT=flight)
                report = scene.reports()[0]
            self.assertNotIn("flight", report)

    def start_and_kill(self, scene, *command, alone=False, **variables):
        """Starts a program that says when it is ready, and kills it then."""
        process = scene.start([*command], CRASHHOOK_FLIGHT="64K", **{"CRASHHOOK_KILLS": "yes",
                                                                     **variables})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        if alone:  # its supervisor is killed first, and has left a copy of the record
            life, = wait_for(lambda: glob.glob(os.path.join(scene.spool, "life-*")))
            for pid in daemons(scene):
                os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        return life if alone else None

    def report_of_killed(self, scene):
        def listed():
            done = scene.command("list")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return scene.report_paths()

        # Its supervisor makes the spool, and the report.
        wait_for(lambda: os.path.isdir(scene.spool))
        wait_for(listed)
        reports = scene.reports()
        self.assertEqual(len(reports), 1)
        return reports[0]

    def check_killed(self, report, source="finstrument"):
        """The record of each of the two threads ends in the function that it waited in."""
        self.assertEqual(report["crash"]["kind"], "killed")
        self.assertEqual(report["problems"], [])
        self.readable(report)
        main, server = report["flight"]["threads"]
        self.assertEqual(main["tid"], report["process"]["pid"])
        self.assertEqual(main["open_calls"], ["main", "wait_for_pages"])
        self.assertEqual(server["open_calls"], ["serve", "serve_pages", "wait_for_pages"])
        self.assertEqual(functions(server).count("count_page"), 100)
        self.assertEqual({thread["source"] for thread in (main, server)}, {source})
        self.assertNotIn("call_in_a_child", json.dumps(report["flight"]))

    def test_a_killed_program_leaves_the_last_calls_of_each_thread(self):
        for how in ("waits", "forks"):
            with self.subTest(how=how), Scene() as scene:
                self.start_and_kill(scene, Programs.lives(), how)
                report = self.report_of_killed(scene)
                self.check_killed(report)
                self.assertEqual(report["breadcrumbs"][-1]["message"], "serving")
                self.assertIn("wait_for_pages", scene.command("show").stdout)

    def test_a_killed_static_program_leaves_them_too(self):
        path = Programs.compile("lives_static", "gcc", *HOOKS, *LIVES, "-static", *KEPT,
                                "-Wl,-u,crashhook_install", *STATIC,
                                os.path.join(LIB, "libcrashhook.a"))
        with Scene() as scene:
            scene.preload = None
            self.start_and_kill(scene, path, "forks", CRASHHOOK_AGENT=harness.AGENT)
            self.check_killed(self.report_of_killed(scene))

    @unittest.skipUnless(shutil.which("clang"), "there is no clang")
    def test_a_killed_program_with_xray_leaves_them_by_name(self):
        path = Programs.compile("lives_xray", "clang", *SLEDS, *LIVES, *KEPT, *STATIC, *HANDLER,
                                f"-Wl,-rpath,{LIB}")
        with Scene() as scene:
            self.start_and_kill(scene, path)
            self.check_killed(self.report_of_killed(scene), "xray-handler")

    @needs_root
    def test_a_full_spool_costs_a_killed_program_its_calls_and_not_its_report(self):
        with Scene() as scene:
            os.mkdir(scene.spool, 0o700)
            # Room for what comes before the rings, and for none of their blocks.
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k,mode=700", "none", scene.spool],
                           check=True)
            try:
                self.start_and_kill(scene, Programs.lives(), "counts")
                wait_for(lambda: not daemons(scene))
                life, = wait_for(lambda: os.listdir(scene.spool))
                shutil.copy(os.path.join(scene.spool, life), scene.folder)
            finally:
                subprocess.run(["umount", "-l", scene.spool], check=True)
            shutil.move(os.path.join(scene.folder, life), scene.spool)
            report = self.report_of_killed(scene)
            self.assertEqual(report["breadcrumbs"][-1]["message"], "serving")

    def test_a_damaged_life_is_read_within_its_bounds(self):
        print(f"{DAMAGED} damaged files, seed {SEED}")
        chance = random.Random(SEED)
        with Scene() as scene:
            life = self.start_and_kill(scene, Programs.lives(), alone=True)
            with open(life, "rb") as file:
                good = file.read(1400 << 10)  # the blocks of both threads are in it
            used = [at for at in range(0, len(good), 4096) if any(good[at:at + 4096])]
            for i in range(DAMAGED):
                bad = bytearray(good[:chance.randrange(len(good))] if i % 4 == 0 else good)
                for _ in range(200):
                    at = chance.choice(used) + chance.randrange(4096)
                    if 4096 <= at < len(bad):  # the head of a record decides what it is
                        bad[at] = chance.randrange(256)
                with open(life, "wb") as file:
                    file.write(bad)
                done = scene.command("list", timeout=20)
                self.assertIn(done.returncode, (0, 1), (i, done.stderr))
                for path in scene.report_paths():
                    os.unlink(path)

    def test_report_is_shown_with_its_last_calls(self):
        with Scene() as scene:
            scene.run([Programs.gcc(), "worker"], CRASHHOOK_FLIGHT="64K")
            scene.reports()
            shown = scene.command("show", scene.report_paths()[0]).stdout
        self.assertIn("Last calls before the crash:", shown)
        self.assertRegex(shown, r"\d+ open calls, all on its stack")
        self.assertRegex(shown, r"-\d+\.\d{3} [mun]s +> descend")


if __name__ == "__main__":
    missing = [tool for tool in ("clang", "gcc", "llvm-xray") if shutil.which(tool) is None]
    if missing or not glob.glob("/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.xray-*.a"):
        print(f"SKIPPED: {' '.join(missing)} or clang's XRay runtime is not installed")
        raise SystemExit(77)
    harness.main()
