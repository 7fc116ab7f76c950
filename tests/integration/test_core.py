# SPDX-License-Identifier: Apache-2.0
#
# Reports of core files: real crashes leave them, and some are then cut, thinned out or
# moved to a place where nothing of the program is.

import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import jsonschema

import gdb_compare
import harness
from core_surgery import NT_FILE, NT_PRSTATUS, NT_SIGINFO, PT_LOAD, PT_NOTE, Core
from harness import Scene, addresses_of, crashed_thread, frames_of, names_of, program

# name, command: what is compared with gdb, thread by thread.
COMPARED = [
    ("null_write", [harness.example("null_write")]),
    ("heap_abort", [harness.example("heap_abort")]),
    ("uncaught", [harness.example("uncaught")]),
    ("divide", [harness.example("divide")]),
    ("worker_raise", [harness.example("worker_raise")]),
    ("pie", [program("core_threads_pie"), "0"]),
    ("pie, 20 threads", [program("core_threads_pie"), "20"]),
    ("pie, abort", [program("core_threads_pie"), "3", "abort"]),
    ("pie, in a handler", [program("core_threads_pie"), "3", "handler"]),
    ("no_pie", [program("core_threads_no_pie"), "0"]),
    ("no_pie, 20 threads", [program("core_threads_no_pie"), "20"]),
    ("static", [program("core_threads_static"), "0"]),
    ("static, 20 threads", [program("core_threads_static"), "20"]),
    ("python3", ["/usr/bin/python3", "-c", "import ctypes; ctypes.string_at(0)"]),
]
with open(os.path.join(harness.SOURCE, "docs", "report-1.schema.json"),
          encoding="utf-8") as schema:
    SCHEMA = json.load(schema)

CUTS = 400 if harness.FULL else 60
SECONDS_MAX = 20  # for any one core, however it is damaged


class CoreScene(Scene):
    """A scene in which programs run without the handler and leave cores."""

    def __init__(self):
        super().__init__()
        self.preload = None

    def crash(self, command):
        ended = self.run(command, core=True)
        assert ended.signal != 0, f"{command} ended with {ended.status}: {ended.stderr}"
        path = self.core(ended.pid)
        assert path is not None, f"{command} left no core"
        kept = path + ".kept"
        os.rename(path, kept)
        return kept

    def report(self, core, *options, **variables):
        done = self.command("core", core, "--json", *options, **variables)
        assert done.returncode == 0, f"{core}: {done.stderr}"
        return json.loads(done.stdout)


def problems_of(report):
    return " ".join(problem["status"] for problem in report["problems"])


def by_tid(report):
    return {thread["tid"]: addresses_of(thread) for thread in report["threads"]}


class CoresOfRealCrashes(unittest.TestCase):
    def test_every_thread_has_the_frames_that_gdb_finds(self):
        known = gdb_compare.Differences()
        threads = frames = 0
        problems = []
        for name, command in COMPARED:
            with CoreScene() as scene:
                core = scene.crash(command)
                report = scene.report(core, "--limit", "none")
                theirs = gdb_compare.gdb_frames(command[0], core)
                found, thread_count, frame_count = gdb_compare.compare(
                    name, report, theirs, known)
                problems += found
                threads += thread_count
                frames += frame_count
        print(f"{len(COMPARED)} cores, {threads} threads, {frames} frames, "
              f"{len(problems)} differences, {len(known.seen)} known ones", file=sys.stderr)
        self.assertEqual(problems, [])
        self.assertGreater(threads, 70)
        self.assertGreater(frames, 300)

    def test_a_core_names_the_crash_as_the_handler_does(self):
        for name in ("null_write", "heap_abort", "uncaught", "divide", "illegal", "overflow",
                     "worker_raise"):
            with self.subTest(name), Scene() as scene:
                ended = scene.run([harness.example(name)], core=True)
                mine = scene.reports()[0]
                done = scene.command("core", scene.core(ended.pid), "--json")
                report = json.loads(done.stdout)
                jsonschema.validate(report, SCHEMA)
                for key in ("signal", "name", "code", "code_name", "thread", "kind", "message",
                            "exception"):
                    self.assertEqual(report["crash"].get(key), mine["crash"].get(key), key)
                told = [[(f.get("function"), f.get("file"), f.get("line"))
                         for f in frames_of(crashed_thread(r))] for r in (report, mine)]
                self.assertEqual(told[0], told[1])
                self.assertEqual(report["process"]["arguments"], mine["process"]["arguments"])
                self.assertEqual(report["process"]["pid"], mine["process"]["pid"])

    def test_the_text_shows_names_and_lines(self):
        line = harness.crash_line("tests/integration/programs/core_threads.c")
        with CoreScene() as scene:
            core = scene.crash([program("core_threads_pie"), "3"])
            done = scene.command("core", core)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"core_threads.c:{line}", done.stdout)
        self.assertRegex(done.stdout, r"descend at .*core_threads\.c:\d+")
        self.assertEqual(done.stderr, "")

    def test_a_pipe_gives_what_the_file_gives(self):
        with CoreScene() as scene:
            core = scene.crash([program("core_threads_pie"), "3"])
            report = scene.report(core)
            piped = subprocess.run(
                ["sh", "-c", 'cat "$0" | "$1" core - --json', core, harness.CRASHHOOK], text=True,
                stdout=subprocess.PIPE, check=True)
            left = os.listdir(scene.folder)
        self.assertEqual(by_tid(json.loads(piped.stdout)), by_tid(report))
        self.assertEqual(sorted(left), [os.path.basename(core)])

    def test_a_core_that_gdb_made_of_a_live_process_has_no_crash(self):
        with CoreScene() as scene:
            process = scene.start(["/bin/sleep", "60"])
            try:
                harness.wait_for(lambda: harness.state_of(process.pid) == "S")
                core = os.path.join(scene.folder, "gcore")
                subprocess.run(["gdb", "-q", "-nx", "-batch", "-p", str(process.pid), "-ex",
                                f"generate-core-file {core}"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               check=False)
            finally:
                process.kill()
                process.communicate()
            if not os.path.exists(core):
                self.skipTest("gdb cannot attach here")
            report = scene.report(core)
        self.assertNotIn("crash", report)
        self.assertEqual(len(report["threads"]), 1)
        self.assertEqual(report["threads"][0]["backtrace"]["ended"], "end-of-stack")
        self.assertIn("clock_nanosleep", " ".join(names_of(report["threads"][0])))


class CoresThatLackSomething(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scene = CoreScene()
        # Small stacks make a small core, which is written over and over here.
        cls.core = cls.scene.crash(["/bin/sh", "-c", 'ulimit -s 256; exec "$0" 20',
                                    program("core_threads_pie")])
        cls.whole = cls.scene.report(cls.core)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scene.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.scene.folder, name)

    def test_without_the_table_of_files_the_linkers_list_has_the_images(self):
        core = Core(self.core).hide_notes([NT_FILE]).write(self.path("no-files"))
        report = self.scene.report(core)
        self.assertEqual(report["problems"], [])
        self.assertEqual(by_tid(report), by_tid(self.whole))
        wanted = {(i["build_id"], i["base"]) for i in self.whole["images"]}
        self.assertEqual({(i["build_id"], i["base"]) for i in report["images"]}, wanted)
        self.assertEqual(names_of(crashed_thread(report)),
                         names_of(crashed_thread(self.whole)))

    def test_without_siginfo_the_instruction_tells_the_address_of_the_first_thread(self):
        core = Core(self.core).hide_notes([NT_SIGINFO]).write(self.path("no-siginfo"))
        report = self.scene.report(core)
        self.assertEqual(report["crash"]["signal"], 11)
        self.assertEqual(report["crash"]["kind"], self.whole["crash"]["kind"])
        self.assertEqual(report["crash"]["address"], self.whole["crash"]["address"])
        self.assertNotIn("code_name", report["crash"])
        self.assertEqual(by_tid(report), by_tid(self.whole))

    def test_without_siginfo_the_thread_with_a_signal_has_crashed(self):
        core = Core(self.core).hide_notes([NT_SIGINFO])
        # Each description is after a header and the name "CORE".
        states = [offset + 20 for offset, kind in core.notes() if kind == NT_PRSTATUS]
        for state, number in zip(states[:3], (0, 0, 11)):
            struct.pack_into("<i", core.bytes, state, number)
            struct.pack_into("<h", core.bytes, state + 12, number)
        report = self.scene.report(core.write(self.path("third-thread")))
        self.assertEqual(report["crash"]["signal"], 11)
        tid, = struct.unpack_from("<i", core.bytes, states[2] + 32)
        self.assertEqual(crashed_thread(report)["tid"], tid)
        self.assertEqual(by_tid(report), by_tid(self.whole))

    def test_a_program_of_another_build_is_refused_and_said(self):
        report = self.scene.report(self.core, "--exe", program("core_threads_no_pie"))
        self.assertIn("core_threads_no_pie' is another build than the core's",
                      problems_of(report))
        # The right one is where the core says it was.
        self.assertEqual(by_tid(report), by_tid(self.whole))
        core = Core(self.core).hide_notes([NT_FILE]).write(self.path("wrong-exe"))
        report = self.scene.report(core, "--exe", "/bin/true")
        self.assertIn("is another build", problems_of(report))

    def test_something_that_is_no_program_is_refused_and_said(self):
        report = self.scene.report(self.core, "--exe", __file__)
        self.assertIn("is no program or library", problems_of(report))
        done = self.scene.command("core", self.core, "--exe", "/nowhere/x")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot open '/nowhere/x': No such file", done.stderr)

    def test_images_are_found_under_a_sysroot_alone(self):
        with tempfile.TemporaryDirectory() as sysroot:
            for image in self.whole["images"]:
                if image["path"].startswith("/"):
                    to = sysroot + image["path"]
                    os.makedirs(os.path.dirname(to), exist_ok=True)
                    shutil.copy(image["path"], to)
            report = self.scene.report(self.core, "--sysroot", sysroot)
            self.assertEqual(report["problems"], [])
            self.assertEqual(by_tid(report), by_tid(self.whole))
            self.assertEqual([i["path"] for i in report["images"]],
                             [i["path"] for i in self.whole["images"]])
            frames = frames_of(crashed_thread(report))
            self.assertTrue(frames[0]["file"].endswith("core_threads.c"), frames[0])

    def test_an_empty_sysroot_leaves_addresses_and_says_so(self):
        with tempfile.TemporaryDirectory() as sysroot:
            report = self.scene.report(self.core, "--sysroot", sysroot)
            self.assertIn("cannot open", problems_of(report))
            self.assertEqual(addresses_of(crashed_thread(report))[0],
                             addresses_of(crashed_thread(self.whole))[0])
            self.assertEqual(names_of(crashed_thread(report)), [])
            self.assertEqual(len(report["images"]), len(self.whole["images"]))
            # The program alone is enough to name its own frames.
            report = self.scene.report(self.core, "--sysroot", sysroot, "--exe",
                                       program("core_threads_pie"))
            self.assertIn("descend", names_of(crashed_thread(report)))

    def test_memory_that_was_not_dumped_is_a_hole_and_not_a_guess(self):
        everything = Core(self.core).leave_out(lambda flags, vaddr: True)
        report = self.scene.report(everything.write(self.path("no-memory")))
        self.assertEqual(len(report["threads"]), 21)
        for tid, addresses in by_tid(report).items():
            self.assertEqual(addresses, by_tid(self.whole)[tid][:1])

    def test_memory_that_was_writable_is_never_taken_from_a_file(self):
        # The way to the linker's list begins in the program's data. The program's file
        # has that too, and would say that there is no list.
        with CoreScene() as scene:
            core = Core(scene.crash([program("core_threads_no_pie"), "0"]))
            core.hide_notes([NT_FILE]).leave_out(lambda flags, _: flags & 2)
            path = core.write(os.path.join(scene.folder, "no-data"))
            report = scene.report(path, "--exe", program("core_threads_no_pie"))
        self.assertIn("linker's list of images is damaged: fault", problems_of(report))

    def test_a_core_cut_anywhere_gives_what_is_there(self):
        size = os.path.getsize(self.core)
        core = Core(self.core)
        _, _, notes, _, notes_size, _ = next(core.segments(PT_NOTE))
        chance = random.Random(4)
        cuts = [chance.randrange(size) for _ in range(CUTS // 2)]
        cuts += [chance.randrange(notes + notes_size + 4096) for _ in range(CUTS // 2)]
        whole_frames = by_tid(self.whole)
        for cut in [0, 1, 63, 64, 65, notes, notes + 100, *cuts]:
            with self.subTest(cut=cut):
                path = self.path("cut")
                with open(path, "wb") as file:
                    file.write(core.bytes[:cut])
                began = time.monotonic()
                done = self.scene.command("core", path, "--json", "--symbolize", "off")
                self.assertLess(time.monotonic() - began, SECONDS_MAX)
                if cut < 64:
                    self.assertEqual(done.returncode, 1)
                    self.assertEqual(len(done.stderr.splitlines()), 1)
                    continue
                self.assertEqual(done.returncode, 0, done.stderr)
                report = json.loads(done.stdout)
                self.assertIn("the core is cut", problems_of(report))
                if cut >= notes + notes_size:
                    self.assertEqual(len(report["threads"]), 21)
                    for tid, addresses in by_tid(report).items():
                        self.assertEqual(addresses[0], whole_frames[tid][0])

    def test_every_bit_of_headers_and_notes_may_be_wrong(self):
        core = Core(self.core)
        _, _, notes, _, notes_size, _ = next(core.segments(PT_NOTE))
        last = max(offset + size for _, _, offset, _, size, _ in core.segments(PT_LOAD))
        self.assertEqual(last, len(core.bytes))
        chance = random.Random(5)
        for _ in range(CUTS * 2):
            place = chance.randrange(notes + min(notes_size, 4096))
            bit = 1 << chance.randrange(8)
            with self.subTest(place=place, bit=bit):
                core.bytes[place] ^= bit
                path = core.write(self.path("flipped"))
                core.bytes[place] ^= bit
                began = time.monotonic()
                done = self.scene.command("core", path, "--json", "--symbolize", "off")
                self.assertLess(time.monotonic() - began, SECONDS_MAX)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                if done.returncode == 0:
                    json.loads(done.stdout)

    def test_sparse_cores_are_read_as_whole_ones(self):
        path = self.path("sparse")
        subprocess.run(["cp", "--sparse=always", self.core, path], check=True)
        self.assertLess(os.stat(path).st_blocks, os.stat(self.core).st_blocks)
        self.assertEqual(by_tid(self.scene.report(path)), by_tid(self.whole))

    def test_what_is_no_core_is_refused_in_one_line(self):
        for path, why in ((__file__, "not a core file"), ("/bin/true", "not a core file"),
                          ("/", "not a regular file"), ("/nowhere", "No such file")):
            with self.subTest(path):
                done = self.scene.command("core", path)
                self.assertEqual(done.returncode, 1)
                self.assertIn(why, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)
        empty = self.scene.command("core", "-")
        self.assertEqual(empty.returncode, 1)


if __name__ == "__main__":
    if not harness.cores_land_in_folder():
        print("test_core: kernel.core_pattern sends cores elsewhere and needs root")
        sys.exit(77)
    harness.main()
