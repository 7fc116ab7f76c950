# SPDX-License-Identifier: Apache-2.0
#
# Cores of aarch64 programs, cross-built here and crashed under qemu-user: they have no
# table of mapped files, no siginfo, and none of their programs' code.

import glob
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import unittest

import gdb_compare
import harness
import place
from core_surgery import NT_PRFPREG, NT_SIGINFO, Core
from harness import Scene, crashed_thread, frames_of, names_of

COMPILER, CXX = "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++"
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
SYSROOT = "/usr/aarch64-linux-gnu"
PROGRAM = os.path.join(harness.SOURCE, "tests", "integration", "programs", "core_threads.c")
CASES = os.path.join(harness.SOURCE, "tests", "cases", "types")
LINE = harness.crash_line("tests/integration/programs/core_threads.c")
FLAGS = ["-g", "-O1", "-pthread", "-fno-optimize-sibling-calls"]
NT_ARM_TLS, NT_ARM_PAC_MASK, NT_ARM_GCS = 0x401, 0x406, 0x410
PT_AARCH64_MEMTAG_MTE = 0x70000002
DESCENT = ["crash"] + 6 * ["descend"] + ["main"]


class ForeignScene(Scene):
    """A scene in which programs are built for aarch64 and leave qemu's cores."""

    def build(self, name, *flags, compiler=COMPILER, source=PROGRAM):
        path = os.path.join(self.folder, name)
        subprocess.run([compiler, *FLAGS, *flags, "-o", path, source], check=True)
        return path

    def crash(self, path, *arguments):
        """Runs a program under qemu until it crashes; the core that qemu left."""
        # The name that qemu gives a core starts with the program's.
        pattern = os.path.join(self.folder, f"qemu_{os.path.basename(path)}_*.core")

        most = place.core_limit()
        if most == 0:
            raise unittest.SkipTest("the hard limit of core files is 0")

        def allow_core():
            resource.setrlimit(resource.RLIMIT_CORE, (most, most))

        process = subprocess.run([QEMU, "-L", SYSROOT, path, *arguments], cwd=self.folder,
                                 preexec_fn=allow_core, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, check=False)
        assert process.returncode < 0, f"{path} ended with {process.returncode}"
        # qemu dies of the signal itself, and leaves a core of its own.
        for own in glob.glob(os.path.join(self.folder, "core*")):
            os.remove(own)
        cores = glob.glob(pattern)
        assert len(cores) == 1, f"{cores} of {path}"
        return cores[0]

    def report(self, core, *options):
        done = self.command("core", core, "--json", "--limit", "none", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def kinds_of(thread):
    return {frame["trust"] for frame in frames_of(thread)}


def gdb_arguments(path, core):
    """What gdb says of the arguments of every frame, by thread."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gdb_arguments.py")
    done = subprocess.run(["gdb-multiarch", "-nx", "-batch", "-x", script, path, core],
                          capture_output=True, text=True, check=False, timeout=100)
    if gdb_compare.NO_REGISTER in done.stderr:
        raise unittest.SkipTest("this gdb misses a register in the core")
    return json.loads(done.stdout.split("ARGUMENTS ")[1].splitlines()[0])


def number_of(value):
    """A value of a report as a number: an integer, or what a pointer holds."""
    if isinstance(value, dict):
        value = value["address"]
    if value is None:
        return 0
    return int(value, 16) if isinstance(value, str) else value


# A type in C, a value of it, and what a report shows.
CLASSES = (
    ("signed char", "-7", -7),
    ("short", "-700", -700),
    ("unsigned", "4000000000u", 4000000000),
    ("long", "-5000000000", -5000000000),
    ("enum colour", "RED", "RED"),
    ("struct pair", "(struct pair){ 3, -4 }", {"a": 3, "b": -4}),
    ("struct bytes", '(struct bytes){ 1, 2, 3 }', {"a": 1, "b": 2, "c": 3}),
    ("struct words", "(struct words){ 5, 6 }", {"a": 5, "b": 6}),
    ("struct mixed", "(struct mixed){ 8, 9.5 }", {"n": 8, "d": 9.5}),
    ("struct large", "(struct large){ 1, 2, 3 }", {"a": 1, "b": 2, "c": 3}),
    ("struct nested", "(struct nested){ { 1, 2 }, { 3, 4, 5 } }",
     {"pair": {"a": 1, "b": 2}, "large": {"a": 3, "b": 4, "c": 5}}),
    ("double", "2.5", 2.5),
    ("float", "-1.5f", -1.5),
    ("struct point", "(struct point){ 1.5, 2.5 }", {"x": 1.5, "y": 2.5}),
    ("struct lone", "(struct lone){ 4.5f }", {"x": 4.5}),
    ("struct four", "(struct four){ { { 1, 2 }, { 3, 4 } } }",
     {"p": [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}]}),
    ("struct floats", "(struct floats){ 6.5f, 7.5f, 8.5f }", {"a": 6.5, "b": 7.5, "c": 8.5}),
)

# qemu writes no vector registers into cores: the program saves those of the crash.
SAVER = """
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
_Static_assert(offsetof(ucontext_t, uc_mcontext.__reserved) == 464, "as the agent reads it");
struct { char mark[16]; unsigned char vectors[528]; } saved = { "the vectors are:" };
static void save(int number, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    memcpy(saved.vectors, c->uc_mcontext.__reserved + 16, 512);
    signal(number, SIG_DFL);
}
"""


def add_vectors(path):
    """Adds the note to a core that kernels of AArch64 write."""
    core = Core(path)
    at = bytes(core.bytes).index(b"the vectors are:") + 16
    core.add_note(NT_PRFPREG, bytes(core.bytes[at:at + 528]), b"CORE").write(path)


def ctf_program(signatures):
    lines = [SAVER, "enum colour { GREEN, RED };",
             "struct pair { int a, b; }; struct bytes { signed char a, b, c; };",
             "struct words { long a, b; }; struct mixed { long n; double d; };",
             "struct large { long a, b, c; };",
             "struct nested { struct pair pair; struct large large; };",
             "struct point { double x, y; }; struct lone { float x; };",
             "struct four { struct { double a, b; } p[2]; };",
             "struct floats { float a, b, c; };"]
    for number, signature in enumerate(signatures):
        types = ", ".join(f"{kind} a{at}" for at, (kind, *_) in enumerate(signature))
        lines.append(f"__attribute__((noipa)) void f{number}(volatile int *p, {types})"
                     " { *p = 0; }")
    lines.append("int main(int argc, char **argv) {"
                 " struct sigaction action = { .sa_sigaction = save, .sa_flags = SA_SIGINFO };"
                 " sigaction(SIGSEGV, &action, NULL);"
                 " switch (atoi(argv[argc - 1])) {")
    for number, signature in enumerate(signatures):
        values = ", ".join(value for _, value, *_ in signature)
        lines.append(f"case {number}: f{number}(0, {values}); break;")
    return "\n".join(lines) + "\n} }\n"


def symbol(path, name):
    """The address of a symbol of a static program."""
    listed = subprocess.run(["aarch64-linux-gnu-nm", path], check=True, capture_output=True,
                            text=True).stdout
    address, = [line.split()[0] for line in listed.splitlines() if line.split()[-1] == name]
    return int(address, 16)


def as_json(value):
    """A value of a report without what its type adds."""
    if isinstance(value, dict) and "name" in value and "value" in value:
        return value["name"]
    if isinstance(value, dict):
        return {key: as_json(member) for key, member in value.items()}
    return value


class CoresOfQemu(unittest.TestCase):
    def setUp(self):
        self.scene = ForeignScene()
        self.addCleanup(shutil.rmtree, self.scene.folder, True)

    def check(self, report, names, last="_start"):
        thread = crashed_thread(report)
        told = names_of(thread)
        self.assertEqual(told[:len(names)], names)
        self.assertEqual(told[-1], last)
        self.assertEqual(thread["backtrace"]["ended"], "end-of-stack")
        self.assertEqual(report["problems"], [])
        self.assertEqual(report["host"]["arch"], "aarch64")

    def test_a_static_program_is_named_to_its_start(self):
        path = self.scene.build("fixed", "-static")
        report = self.scene.report(self.scene.crash(path), "--exe", path)
        self.check(report, DESCENT)
        first = frames_of(crashed_thread(report))[0]
        self.assertEqual((first["file"], first["line"]), (PROGRAM, LINE))
        self.assertEqual(report["crash"]["name"], "SIGSEGV")
        self.assertEqual(report["process"]["arguments"], [path])
        self.assertIn("x30", crashed_thread(report)["registers"])

    def test_libraries_are_found_under_the_sysroot(self):
        path = self.scene.build("moving")
        report = self.scene.report(self.scene.crash(path, "0", "abort"), "--exe", path,
                                   "--sysroot", SYSROOT)
        names = names_of(crashed_thread(report))
        self.assertIn("abort", names)
        self.check(report, names[:names.index("abort") + 1] + DESCENT)
        self.assertEqual(report["crash"]["kind"], "abort")
        paths = [image["path"] for image in report["images"]]
        self.assertIn(path, paths)
        self.assertIn("/lib/ld-linux-aarch64.so.1", paths)
        self.assertTrue(any(p.endswith("/libc.so.6") for p in paths), paths)
        self.assertTrue(all("build_id" in image for image in report["images"]))

    def test_a_call_from_a_signal_handler_is_followed_through_the_signal(self):
        path = self.scene.build("handling")
        report = self.scene.report(self.scene.crash(path, "0", "handler"), "--exe", path,
                                   "--sysroot", SYSROOT)
        names = names_of(crashed_thread(report))
        self.assertEqual(names[:5], ["crash", "descend", "descend", "descend", "on_signal"])
        self.assertIn("raise", " ".join(names))
        self.check(report, names)
        self.assertIn("main", names)

    def test_code_without_frame_pointers_is_unwound_by_its_tables(self):
        path = self.scene.build("bare", "-fomit-frame-pointer", "-O2", "-fno-inline",
                                "-fno-ipa-cp")
        report = self.scene.report(self.scene.crash(path), "--exe", path, "--sysroot",
                                   SYSROOT)
        self.check(report, ["crash"])
        self.assertIn("main", names_of(crashed_thread(report)))
        self.assertEqual(kinds_of(crashed_thread(report)), {"context", "cfi"})

    def test_a_function_that_returns_through_another_register_is_unwound(self):
        """glibc's rawmemchr keeps its return address in x15."""
        source = os.path.join(self.scene.folder, "scan.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("#include <string.h>\n"
                       "int main(int n, char **v) { return rawmemchr((char *)16, !v) == v; }\n")
        path = self.scene.build("scan", "-w", "-D_GNU_SOURCE", source=source)
        thread = crashed_thread(self.scene.report(self.scene.crash(path), "--exe", path,
                                                  "--sysroot", SYSROOT))
        self.assertEqual(names_of(thread)[:2], ["rawmemchr", "main"])
        self.assertEqual(kinds_of(thread), {"context", "cfi"})

    def test_an_uncaught_exception_shows_who_threw_it(self):
        source = os.path.join(harness.SOURCE, "examples", "uncaught.cpp")
        path = self.scene.build("throwing", "-static", compiler=CXX, source=source)
        report = self.scene.report(self.scene.crash(path), "--exe", path)
        names = names_of(crashed_thread(report))
        self.assertEqual(report["crash"]["name"], "SIGABRT")
        self.assertIn("main", names)
        self.assertTrue(any("throw" in name for name in names), names)
        self.check(report, names)

    @unittest.skipIf(shutil.which("gdb-multiarch") is None, "no gdb for aarch64 here")
    def test_frames_and_arguments_are_those_that_gdb_finds(self):
        """The 21 stacks of each of 3 builds, or of 15 with CRASHHOOK_FULL=1. Static ones
        alone: of others gdb does not find where qemu has loaded them."""
        builds = [(level, *more) for level in ("-O0", "-O1", "-O2", "-O3", "-Os")
                  for more in ([], ["-fomit-frame-pointer"], ["-mbranch-protection=standard"])]
        if not harness.FULL:
            builds = builds[0], builds[4], builds[8]
        threads = frames = values = 0
        for number, flags in enumerate(builds):
            path = self.scene.build(f"many{number}", "-static", "-fno-ipa-cp", *flags)
            core = self.scene.crash(path, "20")
            # Without the masks gdb fails at a signed return address; we need none.
            mask = struct.pack("<QQ", 0x7f << 48, 0x7f << 48)
            report = self.scene.report(core, "--exe", path)
            Core(core).add_note(NT_ARM_PAC_MASK, mask, threads=21).write(core)
            problems, these, more = gdb_compare.compare(
                "aarch64", report, gdb_compare.gdb_frames(path, core, "gdb-multiarch"),
                gdb_compare.Differences())
            self.assertEqual(problems, [], flags)
            self.assertEqual(these, 21)
            threads += these
            frames += more
            values += self.compare_values(report, gdb_arguments(path, core), flags)
            os.remove(core)
        self.assertGreater(frames, 9 * threads)
        self.assertGreater(values, 12 * len(builds))
        print(f"{threads} stacks, {frames} frames and {values} values as gdb has them",
              file=sys.stderr)

    def compare_values(self, report, told, flags):
        compared = 0
        for thread in report["threads"]:
            for ours, theirs in zip(frames_of(thread), told[str(thread["tid"])]):
                if "arguments" in ours:
                    self.assertEqual(ours["function"], theirs["function"], flags)
                    compared += self.compare_arguments(ours, theirs["arguments"])
        return compared

    def compare_arguments(self, frame, told):
        compared = 0
        for argument in frame["arguments"]:
            theirs = told[argument["name"]]
            if theirs is None:
                continue
            self.assertIn("value", argument, frame["function"])
            # For one at the entry gdb may take what the register has now.
            if argument["source"] == "dwarf-entry-value":
                continue
            self.assertEqual(number_of(argument["value"]), theirs,
                             (frame["function"], argument))
            self.assertEqual(argument["confidence"], "exact")
            compared += 1
        return compared

    def test_arguments_are_read_where_ctf_alone_describes_them(self):
        self.check_arguments("entry_value", "-gctf", "-rdynamic", "-Wl,--ctf-variables")

    def test_arguments_in_vector_registers_are_read_with_dwarf(self):
        # gcc says of small and of many-membered structures that they are on the stack
        # before it has put them there.
        early = ("struct floats", "struct four", "struct bytes")
        classes = [one for one in CLASSES if one[0] not in early]
        self.check_arguments("value", "-g", classes=classes)

    def test_locals_in_the_upper_vector_registers_are_shown(self):
        source = os.path.join(self.scene.folder, "upper.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(SAVER + "__attribute__((noipa)) int crash(int *p, double a) {"
                       " register double upper __asm__(\"v20\") = a * 2;"
                       " register float last __asm__(\"v31\") = a * 4;"
                       " __asm__ volatile(\"\" : \"+w\"(upper), \"+w\"(last));"
                       " int got = *(volatile int *)p;"
                       " __asm__ volatile(\"\" :: \"w\"(upper), \"w\"(last)); return got; }"
                       "int main(void) {"
                       " struct sigaction action = { .sa_sigaction = save, .sa_flags = SA_SIGINFO };"
                       " sigaction(SIGSEGV, &action, NULL); return crash(0, 1.25); }")
        path = self.scene.build("upper", "-O2", "-static", source=source)
        core = self.scene.crash(path)
        add_vectors(core)
        frame = frames_of(crashed_thread(self.scene.report(core, "--exe", path)))[0]
        found = {each["name"]: each.get("value") for each in frame["locals"]}
        self.assertEqual((found["upper"], found["last"]), (2.5, 5.0))

    def check_arguments(self, key, *flags, classes=CLASSES):
        """6 functions of random signatures, or 60 with CRASHHOOK_FULL=1, each of which
        crashes at its first instruction. The report says the values under that key."""
        count = 60 if os.environ.get("CRASHHOOK_FULL") == "1" else 6
        chance = random.Random(52)
        simple = [one for one in classes if not one[0].startswith("struct")]
        signatures = [[chance.choice(simple if number % 3 == 0 else classes)
                       for _ in range(chance.randrange(6, 15))] for number in range(count)]
        source = os.path.join(self.scene.folder, "ctf.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(ctf_program(signatures))
        path = os.path.join(self.scene.folder, "ctf")
        subprocess.run([COMPILER, "-O2", *flags, "-o", path, source], check=True)
        tried = shown = 0
        for number, signature in enumerate(signatures):
            core = self.scene.crash(path, str(number))
            add_vectors(core)
            report = self.scene.report(core, "--exe", path, "--sysroot", SYSROOT)
            os.remove(core)
            frame = frames_of(crashed_thread(report))[0]
            self.assertEqual(frame["function"], f"f{number}")
            if frame["function_offset"] != 0:  # gcc 14 stores most structures first
                continue
            tried += 1
            arguments = frame["arguments"][1:]
            self.assertEqual(len(arguments), len(signature))
            for at, ((_, _, expected), argument) in enumerate(zip(signature, arguments)):
                self.assertIn(key, argument, (number, at, signature))
                self.assertEqual(as_json(argument[key]), expected, (number, at, argument))
                shown += 1
        print(f"{tried} functions, {shown} values right", file=sys.stderr)
        self.assertGreater(tried, 0)

    def test_global_variables_that_the_code_uses_are_shown(self):
        for flags in (["-O0"], ["-O2"], ["-O1", "-static"]):
            with self.subTest(flags=flags):
                objects = [os.path.join(CASES, "globals_library.c"),
                           os.path.join(self.scene.folder, "unit.o")]
                subprocess.run([COMPILER, "-g", "-w", *flags[:1], "-DUNIT", "-c", objects[0], "-o",
                                objects[1]], check=True)
                path = self.scene.build("globals" + "".join(flags), *flags[1:], flags[0], *objects, "-w",
                                        source=os.path.join(CASES, "globals.c"))
                report = self.scene.report(self.scene.crash(path), "--exe", path,
                                           "--sysroot", SYSROOT)
                frame, = [f for f in frames_of(crashed_thread(report))
                          if f.get("function", "").startswith("serve")]
                found = {g["name"]: as_json(g.get("value", g.get("reason")))
                         for g in frame["globals"]}
                self.assertEqual(found["hits"], 2)
                self.assertEqual(found["shared_count"], 43)
                self.assertEqual(found["defaults"]["limit"], 8)
                self.assertEqual(found["of_other_unit"], 77)
                self.assertNotIn("not_used_by_serve", found)

    def test_thread_locals_that_the_code_uses_are_shown(self):
        source = os.path.join(self.scene.folder, "locals.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("unsigned long thread_pointer; __thread int filler[20] = { 1 };"
                       "__thread int depth = 3; static __thread int unused = 4;"
                       "__attribute__((noipa)) int crash(int *p) { depth++; return *p + filler[2]; }"
                       "int main(void) { unused++;"
                       " __asm__(\"mrs %0, tpidr_el0\" : \"=r\"(thread_pointer));"
                       " return crash(0); }")
        for flags in ("-O0", "-O2"):
            path = self.scene.build("locals" + flags, flags, "-static", source=source)
            core = Core(self.scene.crash(path))
            # qemu's cores have no thread pointer.
            core.add_note(NT_ARM_TLS, core.read(symbol(path, "thread_pointer"), 8))
            report = self.scene.report(core.write(path + ".core"), "--exe", path)
            found = {g["name"]: g.get("value")
                     for g in frames_of(crashed_thread(report))[0]["globals"]}
            self.assertEqual(found["depth"], 4)
            self.assertNotIn("unused", found)

    def test_overwritten_stacks_have_the_callers_of_the_shadow_stack(self):
        """The program keeps it: qemu's processor has none."""
        source = os.path.join(harness.SOURCE, "tests", "integration", "programs", "smashed.c")
        right = 0
        for number, flags in enumerate((["-O0"], ["-O2"], ["-O2", "-mbranch-protection=standard"])):
            path = self.scene.build(f"smashed{number}", *flags, "-static", "-w", "-DGCS_WORDS=64",
                                    "-fno-stack-protector", source=source)
            for how in range(4):
                left = self.scene.crash(path, str(how), "1")
                core = Core(left)
                os.remove(left)
                pointer, = struct.unpack("<Q", core.read(symbol(path, "gcs_pointer"), 8))
                core.add_note(NT_ARM_GCS, struct.pack("<QQQ", 1, 0, pointer))
                with self.subTest(flags=flags, how=how):
                    report = self.scene.report(core.write(path + ".core"), "--exe", path)
                    self.assertEqual(names_of(crashed_thread(report))[:3],
                                     ["parse", "outer", "main"])
                    self.assertEqual(crashed_thread(report)["backtrace"]["ended"], "end-of-stack")
                    self.assertIn("the return address of ", report["crash"]["summary"])
                    right += 1
        print(f"{right} of 12 overwritten stacks have the right callers", file=sys.stderr)

    def test_the_tag_of_memory_is_read_from_a_core(self):
        path = self.scene.build("tagged", "-static")
        core = Core(self.scene.crash(path)).hide_notes([NT_SIGINFO])
        address = 0x5500007018
        core.add_note(NT_SIGINFO, struct.pack("<iiiiQ", 11, 0, 9, 0, 3 << 56 | address) +
                      bytes(104), b"CORE")
        tags = bytes([0x10, 0x72]) + bytes(126)  # of 4 granules: 0, 1, 2, 7
        core.add_segment(address & ~0xfff, tags, PT_AARCH64_MEMTAG_MTE, 4096)
        report = self.scene.report(core.write(path + ".core"), "--exe", path)
        self.assertEqual(report["crash"]["kind"], "memory-tag")
        self.assertEqual(report["crash"]["address"], hex(address))
        self.assertEqual(report["crash"]["memory_tag"], 1)

    def test_another_program_is_refused_by_its_entry_point(self):
        path = self.scene.build("right", "-static")
        other = self.scene.build("wrong", "-static", "-O3")
        core = self.scene.crash(path)
        report = self.scene.report(core, "--exe", other)
        told = " ".join(problem["status"] for problem in report["problems"])
        self.assertRegex(told, "is not the program of the core|is another build")
        report = self.scene.report(core, "--exe", "/bin/true")
        told = " ".join(problem["status"] for problem in report["problems"])
        self.assertIn("is of another machine than the core", told)

    def test_without_the_program_the_report_says_what_is_needed(self):
        path = self.scene.build("lost", "-static")
        core = self.scene.crash(path)
        os.remove(path)
        report = self.scene.report(core)
        told = " ".join(problem["status"] for problem in report["problems"])
        self.assertIn("--exe", told)
        self.assertEqual(len(frames_of(crashed_thread(report))) > 0, True)


if __name__ == "__main__":
    if QEMU is None or shutil.which(COMPILER) is None:
        print("test_core_aarch64: no qemu-user or no cross compiler here")
        sys.exit(77)
    harness.main()
