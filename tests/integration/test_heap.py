# SPDX-License-Identifier: Apache-2.0
#
# With libcrashhook-heap, the report of a misused block of the heap has its kind, the
# distance, and the stacks of the access, the free and the allocation.

import glob
import itertools
import json
import os
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import unittest

import harness
from place import rust_compiler
from harness import Scene

FULL = os.environ.get("CRASHHOOK_FULL") == "1"
SEED = int(os.environ.get("CRASHHOOK_SEED", random.randrange(1 << 32)))
LIBRARY = os.path.join(harness.BUILD, "lib", "libcrashhook-heap.so.1")
ALLOCATORS = {
    "glibc": None,
    "jemalloc": "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
    "tcmalloc": "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",
    "mimalloc": "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0",
    "scudo": next(iter(sorted(glob.glob("/usr/lib/llvm-*/lib/clang/*/lib/linux/"
                                        "libclang_rt.scudo_standalone-x86_64.so"))), "/none"),
}
SIZES = (1, 7, 16, 48, 100, 1000, 4096, 5000, 65536)
C_WAYS = ("malloc", "calloc", "realloc", "aligned", "posix")
CPP_WAYS = ("new", "new-array", "new-quiet", "new-aligned")
KINDS = {
    "after-free": "use-after-free",
    "overflow": "heap-overflow",
    "underflow": "heap-underflow",
    "damage": "heap-overflow",
    "double-free": "double-free",
    "invalid-free": "invalid-free",
    "mismatched": "mismatched-free",
}


def all_cases():
    """Each kind with each way to allocate, the rest drawn at random."""
    draw = random.Random(SEED)
    allocators = [name for name, path in ALLOCATORS.items()
                  if path is None or os.path.exists(path)]
    for kind, how in itertools.product(KINDS, C_WAYS + CPP_WAYS):
        yield {"kind": kind, "how": how, "access": draw.choice(("read", "write")),
               "size": draw.choice([size for size in SIZES if kind != "damage" or size < 60000]),
               "thread": draw.choice(("same", "other")), "allocator": draw.choice(allocators)}


def protobuf_fields(data):
    """The numbers and values of a message's fields: varints and bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        yield tag >> 3, value


def functions(holder):
    frames = holder["backtrace"]["frames"]
    return [frame.get("function", "").split("(")[0] for frame in frames]


class Heap(unittest.TestCase):
    def crash(self, case, mode="every", show=False):
        """The crash of the one report, its report, and how it reads."""
        with Scene() as scene:
            scene.preload = ALLOCATORS[case["allocator"]]
            done = scene.command(
                "run", "--via", "preload", "--heap", mode, "--", harness.program("heap_bugs"),
                case["kind"], case["access"], str(case["size"]), case["how"], case["thread"])
            reports = scene.reports()
            text = scene.command("show", scene.report_paths()[0]).stdout if show else ""
        self.assertEqual(done.returncode, -signal.SIGSEGV, (case, done.stdout, done.stderr))
        self.assertEqual(len(reports), 1, done.stderr)
        return reports[0], text

    def check(self, case):
        report, _ = self.crash(case)
        crash = report["crash"]
        self.assertEqual(crash["kind"], KINDS[case["kind"]], crash)
        heap = crash["heap"]
        size = (case["size"] + 63) // 64 * 64 if case["how"] == "aligned" else case["size"]
        block = heap["block"]
        self.assertEqual(block["size"], size)
        self.assertEqual(block["offset"], int(heap["address"], 16) - int(block["address"], 16))
        self.assertLessEqual(heap["allocated"]["time"], report["time"])
        self.assertIn("allocate_block", functions(heap["allocated"])[:3], heap)
        self.assertIn("main", functions(heap["allocated"]))
        if case["kind"] in ("after-free", "double-free"):
            self.assertIn("free_block", functions(heap["freed"])[:3], heap)
            crashed = crash["thread"]
            is_other = case["thread"] == "other"
            self.assertEqual(heap["freed"]["thread"] != crashed, is_other)
            # The other thread has ended.
            self.assertEqual(heap["freed"]["thread_name"], "io" if is_other else "heap_bugs")
        else:
            self.assertNotIn("freed", heap)
        stack = functions(harness.crashed_thread(report))
        by_access = case["kind"] in ("after-free", "overflow", "underflow")
        if by_access:
            self.assertEqual(stack[0], "access_byte", stack)
            self.assertNotIn("found_by", heap)
            operation = crash["access"]["operation"]
            self.assertEqual(operation, case["access"])
        if case["kind"] == "after-free":
            self.assertEqual(block["offset"], size // 2)
        self.assertTrue(report["title"], report)
        # The access of a free that found an error is the library's own.
        self.assertEqual("(" in crash["summary"], "found_by" not in heap, crash["summary"])
        if "found_by" in heap:
            self.assertNotRegex(crash["summary"], " is 0x")
            self.assertFalse({"variable", "provenance"} & set(crash), crash)

    def test_each_kind_of_misuse_is_told_with_its_stacks(self):
        cases = list(all_cases())
        print(f"seed {SEED}, {len(cases)} cases", file=sys.stderr)
        self.assertGreaterEqual(len(cases), 60)
        for case in cases:
            with self.subTest(**case, seed=SEED):
                self.check(case)

    def test_people_read_who_freed_and_allocated_the_block(self):
        case = {"kind": "after-free", "how": "new-array", "access": "write", "size": 48,
                "thread": "same", "allocator": "glibc"}
        report, text = self.crash(case, show=True)
        self.assertRegex(report["crash"]["summary"],
                         r"^Write of 1 byte, 24 bytes into a block of 48 bytes, freed by thread "
                         r"\d+ 'heap_bugs' \d+ ms earlier")
        self.assertRegex(text, r"Freed here, by thread \d+ 'heap_bugs' with operator delete\[\], "
                               r"\d+ ms before the crash:\n")
        self.assertRegex(text.split("Freed here")[1].split("Allocated here")[0], "free_block")
        self.assertRegex(text.split("Allocated here")[1], "allocate_block")
        self.assertRegex(report["title"], "use after free in access_byte")

    def test_every_view_shows_the_three_stacks_and_a_search_finds_who_freed(self):
        with Scene() as scene:
            scene.preload = None
            scene.command("run", "--via", "preload", "--heap", "every", "--",
                          harness.program("heap_bugs"), "double-free", "read", "48", "malloc",
                          "same")
            scene.reports()
            path = scene.report_paths()[0]
            exported = [scene.command("export", "--format", form, path).stdout
                        for form in ("text", "sentry", "otlp")]
            search = "/api/v1/groups?q=kind:double-free+freed-in:"
            page, text, found, not_found = scene.collected(
                path, "/reports/{name}?all=yes", "/api/v1/reports/{name}?form=text",
                search + "free_block", search + "allocate_block")
            noted = ""
            if os.path.exists("/usr/bin/gdb"):
                noted = scene.command("debug", path, "--", "-batch").stdout
        self.assertRegex(page, r"Freed here <small>by thread \d+")
        self.assertRegex(page, r"Allocated here <small>by thread \d+")
        self.assertRegex(text, r"\nfreed here by thread \d+ .*\n   0 free_block\(char\*\) at ")
        self.assertRegex(text, r"\nallocated here by thread \d+ .*\n   0 allocate_block\(\) at ")
        for view in (page, *exported):
            self.assertRegex(view, "free_block")
            self.assertRegex(view, "allocate_block")
        if noted:
            self.assertRegex(noted, r"Freed here by thread \d+:\n\s*0  free_block")
            self.assertRegex(noted, r"Allocated here by thread \d+:\n\s*0  allocate_block")
        self.assertEqual([len(json.loads(groups)["groups"]) for groups in (found, not_found)],
                         [1, 0])

    def run_alone(self, command, preload, timeout=120, **variables):
        """Runs a program with the library, and no handler."""
        return subprocess.run(
            command, env={**os.environ, "LD_PRELOAD": ":".join(filter(None, preload)), **variables},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
            timeout=timeout)

    def test_a_bug_is_found_as_often_as_its_allocation_is_sampled(self):
        rate, runs = 50, 25
        tries = []
        for _ in range(runs):
            done = self.run_alone([harness.program("heap_bugs"), "again", "read", "40", "malloc",
                                   "same"], [LIBRARY], CRASHHOOK_HEAP="sample",
                                  CRASHHOOK_HEAP_RATE=str(rate))
            self.assertEqual(done.returncode, -signal.SIGSEGV, done.stderr)
            tries.append(int(done.stdout.split()[-1]))
        # Each number has the mean and the standard deviation `rate`.
        mean, deviation = sum(tries) / runs, rate / runs ** 0.5
        self.assertLess(abs(mean - rate), 5 * deviation, tries)

    def test_each_allocation_is_sampled_where_one_in_one_is_asked_for(self):
        source = (b"#include <stdlib.h>\nint main(void) { char *volatile block = NULL;\n"
                  b"for (int i = 0; i < 30; i++) block = malloc(40);\n"
                  b"free(block); return *(volatile char *)block; }\n")
        with Scene() as scene:
            program = os.path.join(scene.folder, "reads")
            subprocess.run(["gcc", "-w", "-fno-builtin", "-x", "c", "-o", program, "-"],
                           input=source, check=True)
            for _ in range(10):
                done = self.run_alone([program], [LIBRARY], CRASHHOOK_HEAP="sample",
                                      CRASHHOOK_HEAP_RATE="1")
                self.assertEqual(done.returncode, -signal.SIGSEGV)

    def test_a_core_and_a_traced_program_are_told_the_same(self):
        case = ("after-free", "write", "48", "new-array", "other")
        for way in ("trace", "core"):
            with self.subTest(way), Scene() as scene:
                scene.preload = LIBRARY
                command = [harness.program("heap_bugs"), *case]
                if way == "trace":
                    scene.run([harness.CRASHHOOK, "run", "--via", "trace", "--", *command],
                              CRASHHOOK_HEAP="every")
                else:
                    if not harness.cores_land_in_folder():
                        self.skipTest("cores do not land in the program's folder")
                    ended = scene.run(command, core=True, CRASHHOOK_HEAP="every")
                    core = scene.core(ended.pid)
                    self.assertIsNotNone(core)
                    report = scene.command("core", core, "--json").stdout
                    crash = harness.expanded(report.encode())["crash"]
                if way == "trace":
                    crash = scene.reports()[0]["crash"]
                self.assertEqual(crash["kind"], "use-after-free", crash)
                self.assertIn("free_block", functions(crash["heap"]["freed"])[:3])
                self.assertIn("allocate_block", functions(crash["heap"]["allocated"])[:3])

    def test_real_programs_run_as_without_the_library(self):
        sql = ("create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 "
               "from c where x < 5000) insert into t select x, hex(x) from c; "
               "select count(*), max(b) from t;")
        # A commit that is made meanwhile changes what the head's log is.
        head = self.run_alone(["/bin/sh", "-c", 'git -C "$0" rev-parse HEAD', harness.SOURCE],
                              []).stdout.strip()
        programs = (
            ["/usr/bin/python3", "-c", "import json, re, decimal; print(len(json.dumps("
                                       "[list(range(i)) for i in range(200)])))"],
            ["/usr/bin/git", "-C", harness.SOURCE, "log", "--format=%H %s", "-n", "50", head],
            ["/usr/bin/sqlite3", ":memory:", sql],
            ["/usr/bin/perl", "-e", "my %h; $h{$_} = 'x' x ($_ % 300) for 1..9999; print %h{7}"],
            ["/usr/bin/gcc", "-O2", "-S", "-o", "-", "-I", harness.SOURCE,
             os.path.join(harness.SOURCE, "base", "crc32c.c")],
            ["/bin/bash", "-c", "for i in 1 2 3; do date -d @$i -u | sed s/a/b/ | sort; done"],
            [harness.CRASHHOOK, "--help"],
        )
        modes = ({"CRASHHOOK_HEAP": "sample", "CRASHHOOK_HEAP_RATE": "50"},
                 {"CRASHHOOK_HEAP": "every"})
        ran = 0
        for command, mode in itertools.product(programs, modes):
            if not os.path.exists(command[0]):
                continue
            with self.subTest(command[0], **mode):
                without = self.run_alone(command, [])
                done = self.run_alone(command, [LIBRARY], **mode)
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (without.returncode, without.stdout, without.stderr))
                ran += 1
        self.assertGreaterEqual(ran, 6)

    def test_programs_that_strain_an_allocator_survive(self):
        ways = ("plain", "forks", "threads", "signals", "handlers", "atfork", "dlopen", "limits",
                "seccomp")
        modes = ({"CRASHHOOK_HEAP": "sample", "CRASHHOOK_HEAP_RATE": "20"},
                 {"CRASHHOOK_HEAP": "every", "CRASHHOOK_HEAP_SLOTS": "100"})
        # scudo changes errno by itself.
        allocators = [name for name in ALLOCATORS if name != "scudo"]
        if not FULL:
            allocators = ["glibc", random.Random(SEED).choice(allocators)]
        for way, mode, name in itertools.product(ways, modes, allocators):
            path = ALLOCATORS[name]
            if (path is not None and not os.path.exists(path)) or (
                    name != "glibc" and way not in ("plain", "threads", "signals", "dlopen")):
                continue
            with self.subTest(way, allocator=name, seed=SEED, **mode):
                done = self.run_alone([harness.program("heap_strain"), way], [LIBRARY, path],
                                      **mode)
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (0, "survived\n", ""))

    def check_estimates(self, folded, rate):
        """Each estimate of what heap_forms keeps is within five standard deviations."""
        estimates = dict.fromkeys(("new", "malloc", "realloc", "other"), 0)
        for line in folded.splitlines():
            stack, size = line.rsplit(" ", 1)
            name = re.search(r";keep_by_(\w+)\(\)", stack)
            # The buffer of stdout may be sampled too.
            estimates[name[1] if name else "other"] += int(size)
        for name, count, size in (("new", 30000, 64), ("malloc", 300, 100000),
                                  ("realloc", 10000, 300)):
            deviation = size * (rate * count) ** 0.5
            self.assertLess(abs(estimates[name] - size * count), 5 * deviation, folded)
        return estimates

    def test_live_memory_of_a_process_is_estimated_by_stacks(self):
        rate = 50
        environment = {**os.environ, "LD_PRELOAD": LIBRARY, "CRASHHOOK_HEAP": "sample",
                       "CRASHHOOK_HEAP_RATE": str(rate)}
        with Scene() as scene, subprocess.Popen(
                [harness.program("heap_forms"), "keep"], env=environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            try:
                self.assertEqual(program.stdout.readline(), "survived\n")
                asked = [scene.command("heap", "--format", form, str(program.pid))
                         for form in ("folded", "text")]
                with open(os.path.join(scene.folder, "profile"), "wb") as profile:
                    subprocess.run([harness.CRASHHOOK, "heap", "--format", "pprof",
                                    str(program.pid)], stdout=profile, check=False)
                with open(profile.name, "rb") as profile:
                    fields = list(protobuf_fields(profile.read()))
            finally:
                program.communicate("\n")
        if "Operation not permitted" in asked[0].stderr:
            self.skipTest("processes of this user may not be read")
        folded, text = (done.stdout for done in asked)
        estimates = self.check_estimates(folded, rate)
        self.assertRegex(text, r"^live heap: [\d.]+ MiB ± [\d.]+ MiB in \d+ blocks \(\d+ samples\)\n"
                               r"one allocation in 50 is sampled; ± is the standard error\n")
        self.assertRegex(text, r"\n[\d.]+ MiB ± .*, the oldest \d+ s old\n    keep_by_\w+\(\) at "
                               r".*/heap_forms.cpp:\d+\n    main at ")
        self.assertEqual(program.returncode, 0)
        names = [value for number, value in fields if number == 6]
        self.assertIn(b"inuse_space", names)
        self.assertIn(b"keep_by_new()", names)
        values = [[value for number, value in protobuf_fields(sample) if number == 2]
                  for number, sample in fields if number == 2]
        self.assertEqual(sum(value[1] for value in values), sum(estimates.values()))
        self.assertEqual(sum(value[0] for value in values) % rate, 0)

    def resident_unnamed_bytes(self, **variables):
        """What is resident of heap_forms' mappings that are no file's, heap or stack."""
        environment = {**os.environ, "LD_PRELOAD": LIBRARY, **variables}
        with subprocess.Popen([harness.program("heap_forms"), "fill"], env=environment, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            try:
                self.assertEqual(program.stdout.readline(), "survived\n")
                with open(f"/proc/{program.pid}/smaps", encoding="utf-8") as maps:
                    sizes = re.findall(r"^\S+ \S+ \S+ 00:00 0 *\nSize:.*\n(?:\w+:.*\n)*?"
                                       r"Rss: +(\d+) kB$", maps.read(), re.M)
            finally:
                program.communicate("\n")
        return sum(map(int, sizes)) << 10

    def test_a_process_full_of_samples_stays_within_the_memory_budget(self):
        without = self.resident_unnamed_bytes(CRASHHOOK_HEAP="no")
        full = self.resident_unnamed_bytes(CRASHHOOK_HEAP="sample", CRASHHOOK_HEAP_RATE="1",
                                           CRASHHOOK_HEAP_SLOTS="100000")
        self.assertGreater(full - without, 4 << 20)
        self.assertLessEqual(full - without, 5 << 20)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to make a setuid program")
    def test_a_setuid_program_ignores_the_variables(self):
        command = ["after-free", "read", "40", "malloc", "same"]
        ended = []
        with Scene() as scene:
            # The loader drops a preload from setuid programs, but not a linked library.
            program = scene.copy(harness.program("heap_linked"))
            os.chown(program, harness.NOBODY, harness.NOBODY)
            for mode in (0o755, 0o4755):
                os.chmod(program, mode)
                ended.append(self.run_alone([program, *command], [],
                                            CRASHHOOK_HEAP="every").returncode)
        self.assertEqual(ended, [-signal.SIGSEGV, 0])

    def test_the_report_of_a_crash_has_the_live_memory(self):
        with Scene() as scene:
            scene.preload = None
            done = scene.command("run", "--via", "preload", "--heap", "sample", "--",
                                 harness.program("heap_forms"), "crash",
                                 CRASHHOOK_HEAP_RATE="50")
            scene.reports()
            folded = scene.command("heap", "--format", "folded", scene.report_paths()[0])
            without = scene.command("heap", os.devnull)
        self.assertEqual(done.returncode, -signal.SIGABRT, done.stderr)
        self.check_estimates(folded.stdout, 50)
        self.assertEqual(without.returncode, 1)

    def test_a_run_says_what_was_guarded_and_which_limit_it_met(self):
        forms = harness.program("heap_forms")
        with Scene() as scene:
            scene.preload = None
            script = f"{forms} keep < /dev/null; {forms} churn; exit 3"
            done = scene.command("run", "--heap", "every", "--", "/bin/sh", "-c", script,
                                 CRASHHOOK_HEAP_SLOTS="500000", CRASHHOOK_PRINT="yes")
            quiet = scene.command("run", "--heap", "every", "--", forms, "churn")
            left = os.listdir(scene.folder)
        self.assertEqual((done.returncode, done.stdout), (3, "survived\n" * 2))
        self.assertRegex(done.stderr, r"^crashhook: --heap every: vm.max_map_count \(\d+\) allows "
                                      r"\d+ of 500000 guarded blocks at a time in a process; "
                                      r"sysctl vm.max_map_count=2000000 allows them all\n")
        self.assertRegex(done.stderr, r"\ncrashhook: heap: \d+ processes exited, \d+ allocations "
                                      r"guarded; \d+ blocks \(\d+ bytes\) were still allocated\n"
                                      r"crashhook: heap: \d+ blocks \(\d+ bytes\) in process \d+ "
                                      r"\(heap_forms\)\n")
        self.assertRegex(done.stderr, r"\ncrashhook: heap: \d+ allocations were not guarded, since "
                                      r"\d+ blocks or the memory for them were in use; ")
        self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))
        self.assertEqual([name for name in left if "heap" in name], [])

    def test_every_function_that_allocates_works_in_front_of_each_allocator(self):
        modes = [{"CRASHHOOK_HEAP": "every"}]
        modes += [{"CRASHHOOK_HEAP": "sample", "CRASHHOOK_HEAP_RATE": str(rate)}
                  for rate in (1, 2, 7)]
        for name, mode in itertools.product(ALLOCATORS, modes):
            path = ALLOCATORS[name]
            if path is not None and not os.path.exists(path):
                continue
            with self.subTest(name, **mode):
                done = self.run_alone([harness.program("heap_forms"), "churn"],
                                      [LIBRARY, path], **mode)
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (0, "survived\n", ""))

    def test_the_library_works_on_aarch64(self):
        compiler, root = "/usr/bin/aarch64-linux-gnu-gcc", "/usr/aarch64-linux-gnu"
        qemu = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
        if not os.path.exists(compiler) or qemu is None:
            self.skipTest("no compiler or no qemu for AArch64")
        with open(os.path.join(harness.SOURCE, "heap", "CMakeLists.txt"), encoding="utf-8") as text:
            others = re.findall(r"\.\./(\S+\.c)", text.read())
        programs = os.path.join(harness.SOURCE, "tests", "integration", "programs", "heap")
        build = [compiler, "-O1", "-w", "-D_GNU_SOURCE", "-I", harness.SOURCE,
                 "-I", os.path.join(harness.SOURCE, "include")]
        with Scene() as scene:
            library, strain = (os.path.join(scene.folder, name) for name in ("heap.so", "strain"))
            subprocess.run(
                [*build, "-shared", "-fPIC", "-fvisibility=hidden", "-fno-builtin-malloc",
                 "-fasynchronous-unwind-tables", "-Wl,-z,now", "-o", library,
                 "-Wl,--version-script=" + os.path.join(harness.SOURCE, "heap",
                                                        "libcrashhook-heap.map"),
                 *(os.path.join(harness.SOURCE, other) for other in others),
                 *glob.glob(os.path.join(harness.SOURCE, "heap", "*.c"))], check=True)
            subprocess.run([*build, "-fno-builtin", "-o", strain, "-lpthread",
                            os.path.join(programs, "heap_strain.c")], check=True)
            for way, mode in (("plain", "sample"), ("threads", "every")):
                with self.subTest(way, mode=mode):
                    done = subprocess.run(
                        [qemu, "-L", root, "-E", f"LD_PRELOAD={library}",
                         "-E", f"CRASHHOOK_HEAP={mode}", "-E", "CRASHHOOK_HEAP_RATE=20",
                         "-E", "CRASHHOOK_HEAP_SLOTS=100", strain, way],
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                        timeout=120)
                    self.assertEqual((done.returncode, done.stdout, done.stderr),
                                     (0, "survived\n", ""))

    @unittest.skipUnless(shutil.which("musl-gcc"), "musl is not installed")
    def test_a_program_of_musl_is_guarded_by_the_preloaded_and_by_the_linked_library(self):
        source = os.path.join(harness.SOURCE, "tests", "integration", "programs", "heap",
                              "heap_musl.c")
        archive = os.path.join(harness.BUILD, "lib", "libcrashhook-heap.a")
        for way, linked in (("preload", []), ("link", [archive])):
            with self.subTest(way), Scene() as scene:
                scene.preload = None
                program = os.path.join(scene.folder, way)
                # Debian's musl-gcc leaves the table out by which frames are found.
                subprocess.run(["musl-gcc", "-O1", "-g", "-fno-builtin", "-D_GNU_SOURCE",
                                "-fno-optimize-sibling-calls", "-Wl,--eh-frame-hdr", "-o", program,
                                source, *linked], check=True)
                for mode, rate in (("sample", "1"), ("sample", "5"), ("every", "1")):
                    done = self.run_alone([program], [] if linked else [LIBRARY],
                                          CRASHHOOK_HEAP=mode, CRASHHOOK_HEAP_RATE=rate)
                    self.assertEqual((done.returncode, done.stdout, done.stderr),
                                     (0, "survived\n", ""))
                scene.command("run", "--heap", "every", "--", program, "writes")
                crash = scene.reports()[0]["crash"]
            self.assertEqual(crash["kind"], "use-after-free")
            self.assertEqual(crash["heap"]["block"]["offset"], 40)
            self.assertEqual(crash["heap"]["freed"]["thread_name"], "io")
            self.assertEqual(functions(crash["heap"]["freed"])[:2], ["free_block", "free_it"])
            self.assertEqual(functions(crash["heap"]["allocated"])[:2], ["make_block", "main"])

    @unittest.skipUnless(shutil.which("musl-gcc"), "musl is not installed")
    def test_a_library_that_allocated_while_musl_loaded_it_has_its_callers(self):
        library = (b"#include <stdlib.h>\nchar *make(void) { char *p = malloc(40); *p = 1; "
                   b"return p; }\n__attribute__((constructor)) void begin(void) "
                   b"{ free(make()); }\n")
        program = (b"#include <dlfcn.h>\n#include <stdlib.h>\nint main(int argc, char **argv) {\n"
                   b"  char *(*make)(void) = dlsym(dlopen(argv[1], RTLD_NOW), \"make\");\n"
                   b"  char *p = make();\n  free(p);\n  return *p;\n}\n")
        with Scene() as scene:
            scene.preload = None
            paths = [os.path.join(scene.folder, name) for name in ("made.so", "loads")]
            for path, source, flags in zip(paths, (library, program), (["-shared", "-fPIC"], [])):
                subprocess.run(["musl-gcc", "-O1", "-g", "-fno-builtin", "-w", *flags,
                                "-Wl,--eh-frame-hdr", "-x", "c", "-o", path, "-"],
                               input=source, check=True)
            scene.command("run", "--heap", "every", "--", paths[1], paths[0])
            crash = scene.reports()[0]["crash"]
        self.assertEqual(functions(crash["heap"]["allocated"])[:2], ["make", "main"], crash)

    def test_a_program_that_loads_no_library_is_told_by_a_line(self):
        builds = {"main.c": ("gcc -static -o", "int main(void) { return 0; }"),
                  "main.go": ("go build -o", "package main\nfunc main() {}\n")}
        for name, (compiler, source) in builds.items():
            if shutil.which(compiler.split()[0]) is None:
                continue
            with self.subTest(name), Scene() as scene:
                program, path = (os.path.join(scene.folder, of) for of in ("static", name))
                with open(path, "w", encoding="ascii") as file:
                    file.write(source)
                subprocess.run([*compiler.split(), program, path], check=True,
                               env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod",
                                    "GOCACHE": os.path.join(scene.folder, "cache")})
                for way in ((), ("--stderr-tail",)):
                    done = scene.command("run", "--heap", "every", *way, "--", program)
                    self.assertEqual(
                        (done.returncode, done.stderr.count("it is statically linked\n")),
                        (0, 1), done.stderr)
                    self.assertIn(f"CRASHHOOK_HEAP has no effect in '{program}': ", done.stderr)

    def test_the_library_is_in_a_program_once_although_linked_and_preloaded(self):
        with Scene() as scene:
            scene.preload = None
            done = scene.command("run", "--heap", "every", "--", harness.program("heap_linked"),
                                 "none", "read", "100", "malloc", "same", CRASHHOOK_PRINT="yes")
        self.assertEqual((done.returncode, done.stdout), (0, "survived\n"))
        self.assertRegex(done.stderr, r"^crashhook: heap: 1 process exited, \d+ allocations ")

    def test_the_stacks_of_rust_and_of_c_in_go_have_their_callers(self):
        rust = (b"#[inline(never)] fn make() -> *mut u64 { Box::into_raw(Box::new(42)) }\n"
                b"#[inline(never)] fn drop_it(p: *mut u64) { unsafe { drop(Box::from_raw(p)) } }\n"
                b"fn main() { let p = make(); drop_it(p); "
                b"println!(\"{}\", unsafe { std::ptr::read_volatile(p) }) }\n")
        go = (b"package main\n/*\n#include <stdlib.h>\n"
              b"static char *make(void) { char *p = malloc(60); *p = 1; return p; }\n"
              b"static void drop_it(char *p) { free(p); __asm__ volatile(\"\"); }\n"
              b"*/\nimport \"C\"\nfunc main() { p := C.make(); C.drop_it(p); println(*p) }\n")
        builds = {"bug.rs": (f"{rust_compiler()} -g -o", rust, ["drop_it", "main"], ["make", "main"]),
                  "bug.go": ("go build -o", go, ["drop_it"], ["make"])}
        for name, (compiler, source, freed, allocated) in builds.items():
            if shutil.which(compiler.split()[0]) is None:
                continue
            with self.subTest(name), Scene() as scene:
                program, path = (os.path.join(scene.folder, of) for of in ("bug", name))
                with open(path, "wb") as file:
                    file.write(source)
                subprocess.run([*compiler.split(), program, path], check=True, env={
                    **os.environ, "CGO_CFLAGS": "-g -O1",
                    "GOCACHE": os.path.join(scene.folder, "cache")})
                scene.command("run", "--heap", "every", "--", program)
                crash = scene.reports()[0]["crash"]
                self.assertEqual(crash["kind"], "use-after-free")
                for event, wanted in (("freed", freed), ("allocated", allocated)):
                    names = [one.split("::")[-1] for one in functions(crash["heap"][event])]
                    found = [one for one in names if one in wanted]
                    self.assertEqual(found[:len(wanted)], wanted, names)

    @unittest.skipUnless(platform.machine() == "x86_64", "the program is written for x86-64")
    def test_a_walk_into_a_goroutine_leaves_what_go_has_only_reserved(self):
        source = (b"#include <stdio.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n"
                  b"enum { CHUNK = 4 << 20, ARENA = 64 << 20 };\n"
                  b"void crosscall2(void) {}\nextern char back[];\n"
                  b"void *allocate(void *frame); // without rules, as Go's functions are\n"
                  b"__asm__(\"allocate: push %rbp; mov %rdi, %rbp; mov $64, %edi\\n\"\n"
                  b"        \"call malloc@PLT; back: pop %rbp; ret\");\n"
                  b"int main(void) {\n"
                  b"  char *heap = mmap((void *)0xc000000000, ARENA, PROT_NONE,\n"
                  b"                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n"
                  b"  mprotect(heap, CHUNK, PROT_READ | PROT_WRITE);\n"
                  b"  void **frame = (void **)(heap + CHUNK - 64);\n"
                  b"  frame[0] = heap + CHUNK + 64;\n  frame[1] = back;\n"
                  b"  free(allocate(frame));\n  return puts(\"survived\") < 0;\n}\n")
        with Scene() as scene:
            program, path = (os.path.join(scene.folder, of) for of in ("go", "go.c"))
            with open(path, "wb") as file:
                file.write(source)
            subprocess.run(["gcc", "-O1", "-rdynamic", "-fno-builtin", "-D_GNU_SOURCE", "-o",
                            program, path], check=True)
            done = self.run_alone([program], [LIBRARY], CRASHHOOK_HEAP="every")
        self.assertEqual((done.returncode, done.stdout), (0, "survived\n"), done.stderr)

    def test_an_operator_new_of_a_library_alone_throws_as_without_us(self):
        library = (b"#include <new>\nextern \"C\" int try_it() { try { void *volatile block = "
                   b"::operator new(std::size_t(1) << 62); return block != nullptr; } "
                   b"catch (const std::bad_alloc &) { return 0; } }\n")
        program = (b"#include <dlfcn.h>\nint main(int c, char **v) { void *library = "
                   b"dlopen(v[1], RTLD_NOW); int (*f)(void) = dlsym(library, \"try_it\"); "
                   b"int failed = f() != 0 || dlclose(library) != 0; "
                   b"return failed || dlopen(v[1], RTLD_NOW | RTLD_NOLOAD) != 0; }")
        with Scene() as scene:
            host = os.path.join(scene.folder, "host")
            subprocess.run(["gcc", "-w", "-x", "c", "-o", host, "-"], input=program, check=True)
            for name, mode in itertools.product(("shared", "static"), ("no", "sample", "every")):
                with self.subTest(name, mode=mode):
                    path = os.path.join(scene.folder, name + ".so")
                    flags = [] if name == "shared" else ["-static-libstdc++"]
                    subprocess.run(["g++", "-w", "-shared", "-fPIC", *flags, "-x", "c++",
                                    "-o", path, "-"], input=library, check=True)
                    done = self.run_alone([host, path], [LIBRARY], CRASHHOOK_HEAP=mode)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_program_with_its_own_allocator_is_told_by_a_line_and_by_doctor(self):
        own, other = harness.program("heap_own"), harness.program("heap_strain")
        done = self.run_alone([own], [LIBRARY], CRASHHOOK_HEAP="every")
        self.assertEqual((done.returncode, done.stdout), (0, "survived\n"))
        self.assertRegex(done.stderr, r"^crashhook: CRASHHOOK_HEAP has no effect: [^\n]*\n$")
        words = "it has an allocator of its own, so CRASHHOOK_HEAP has no effect in it"
        with Scene() as scene:
            for program, told in ((own, True), (other, False)):
                said = scene.command("doctor", program, CRASHHOOK_HEAP="every").stdout
                self.assertEqual(words in said, told, said)
            self.assertNotIn(words, scene.command("doctor", own).stdout)

    def test_an_allocator_that_precedes_the_library_is_left_alone_with_a_line(self):
        ran = 0
        for name, path in ALLOCATORS.items():
            if path is None or not os.path.exists(path):
                continue
            with self.subTest(name):
                done = self.run_alone([harness.program("heap_forms"), "churn"],
                                      [path, LIBRARY], CRASHHOOK_HEAP="every")
                self.assertEqual((done.returncode, done.stdout), (0, "survived\n"))
                self.assertRegex(done.stderr, r"^crashhook: CRASHHOOK_HEAP has no effect: [^\n]*\n$")
                ran += 1
        if ran == 0:
            self.skipTest("no other allocator is installed")

    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
    def test_a_program_in_valgrind_is_left_alone(self):
        for mode in ("no", "every"):
            done = self.run_alone(["valgrind", "--quiet", "--error-exitcode=9",
                                   harness.program("heap_forms"), "churn"], [LIBRARY],
                                  CRASHHOOK_HEAP=mode)
            self.assertEqual((done.returncode, done.stdout), (0, "survived\n"), done.stderr)

    def test_a_program_without_bugs_runs_as_without_the_library(self):
        for name, how in itertools.product(ALLOCATORS, ("malloc", "realloc", "new-array")):
            if ALLOCATORS[name] is not None and not os.path.exists(ALLOCATORS[name]):
                continue
            with self.subTest(name, how=how):
                done = self.run_alone(
                    [harness.program("heap_bugs"), "none", "read", "100", how, "same"],
                    [LIBRARY, ALLOCATORS[name]], CRASHHOOK_HEAP="every")
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (0, "survived\n", ""))


if __name__ == "__main__":
    harness.main()
