# SPDX-License-Identifier: Apache-2.0
#
# What a runtime, a library or a compiler's check knew and did not say is told by the
# report: live and from a core, of programs that were optimized and of some that were not.

import json
import os
import shutil
import signal
import struct
import subprocess
import unittest

import harness
from core_surgery import NT_SIGINFO, Core
from harness import Scene

LEVELS = ("O0", "O2")

# The exception's type and what its what() returns, or its value.
TEXTS = {
    "literal": ("ledger::literal", "a page is missing"),
    "texted": ("ledger::texted", "the sum of column 4 is wrong"),
    "buffered": ("ledger::buffered", "line 12 is blank"),
    "chosen": ("ledger::chosen", "the auditor has it"),
    "chosen_nothing": ("ledger::chosen", "nothing is known"),
    "far": ("ledger::far", "a virtual base"),
    "computing": ("ledger::computing", None),
    "bad_alloc": ("std::bad_alloc", None),
    "optional": ("std::bad_optional_access", "bad optional access"),
    "variant": ("std::bad_variant_access", "std::get: wrong index for variant"),
    "filesystem": ("std::filesystem::__cxx11::filesystem_error",
                   "filesystem error: cannot get file size: No such file or directory "
                   "[/nowhere/at/all]"),
    "system": ("std::system_error", "the ledger: No such file or directory"),
    "int": ("int", "42"),
    "unsigned_long": ("unsigned long", "18446744073709551615"),
    "double": ("double", "2.5"),
    "bool": ("bool", "true"),
    "text": ("char const*", "no such page"),
    "string": ("std::string", "a page that is longer than fits"),
    "short_string": ("std::string", "short"),
}
# Ended by std::terminate without an exception: the kind and the sentence.
TERMINATED = {
    "pure": ("pure-virtual", "A pure virtual function was called, in ledger::shape::"),
    "joinable": ("terminate", "A std::thread was destroyed, or assigned to, before its "
                              "thread was joined or detached, in leave_joinable"),
    "rethrow": ("terminate", "`throw;` was executed while no exception was handled, in "
                             "rethrow_nothing"),
    "terminate": ("terminate", "std::terminate was called, without an exception, in "),
}
ADDRESS = "0x[0-9a-f]+"
# Misused functions and refused accesses: the signal, the kind, the sentence.
MISUSES = {
    "heap": (signal.SIGSEGV, "heap-corruption",
             rf"Heap corruption that malloc\(\) came upon: Read from {ADDRESS}, where "
             r"nothing is mapped .*, in break_heap"),
    "free": (signal.SIGSEGV, "unknown",
             r"free\(\) of 0x123456780, where malloc has no memory .*, in free_wild"),
    "misaligned": (signal.SIGSEGV, "misaligned",
                   rf"Read from {ADDRESS}, which is not aligned as the instruction needs it "
                   r"\(read 16 bytes .*"),
    "kernel": (signal.SIGSEGV, "unknown",
               r"Read from 0xffffffff81000000, an address of the kernel's.*"),
    "key": (signal.SIGSEGV, "protection-key",
            rf"Write to {ADDRESS}, which protection key \d+ does not allow this thread .*"),
}
# Clang's checks, and what they say.
CHECKS = {
    "a": ("add-overflow", "a sum that overflows its type"),
    "d": ("divrem-overflow", "a division by zero, or one that overflows"),
    "m": ("mul-overflow", "a product that overflows its type"),
    "s": ("shift-out-of-bounds", "a shift by too many bits, or of a negative number"),
    "o": ("out-of-bounds", "an index outside of its array"),
}


def has_protection_keys():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        return " ospke" in file.read()


def compiled(scene, compiler, *options):
    """The program of undefined behaviour as the compiler makes it."""
    source = os.path.join(harness.SOURCE, "tests", "integration", "programs", "undefined.c")
    program = os.path.join(scene.folder, f"undefined_{compiler}")
    subprocess.run([compiler, "-O1", "-g", "-w", "-fsanitize=undefined", *options, "-o",
                    program, source], check=True, stderr=subprocess.PIPE)
    return program


class RuntimeWords(unittest.TestCase):
    def live(self, program, how, number=signal.SIGABRT):
        """The crash of the one report that the program leaves."""
        with Scene() as scene:
            ended = scene.run([program, how])
            reports = scene.reports()
        if ended.status == 77:
            self.skipTest(ended.stdout.strip())
        self.assertEqual(ended.signal, number, ended.stderr)
        self.assertLess(ended.seconds, 20)
        self.assertEqual(len(reports), 1, ended.stderr)
        return reports[0]["crash"]

    def core(self, program, how):
        """The crash as its core tells it."""
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([program, how], core=True)
            if ended.status == 77:
                self.skipTest(ended.stdout.strip())
            done = scene.command("core", "--json", scene.core(ended.pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["crash"]

    def crashes(self, name, how, number=signal.SIGABRT):
        """What is said of each program, live and of its core, and how it is called here."""
        for level in LEVELS:
            yield f"{name} {how} {level}", self.live(
                harness.program(f"{name}_{level}"), how, number)
        if harness.cores_land_in_folder():
            yield f"{name} {how} core", self.core(harness.program(f"{name}_O2"), how)

    def test_the_text_of_every_exception_is_read_without_running_its_code(self):
        for how, (name, text) in TEXTS.items():
            for title, crash in self.crashes("says_little", how):
                with self.subTest(title):
                    self.assertEqual(crash["kind"], "uncaught-exception")
                    self.assertEqual(crash["exception"]["type"], name)
                    self.assertEqual(crash["exception"].get("what"), text)

    def test_an_end_by_terminate_says_why(self):
        for how, (kind, sentence) in TERMINATED.items():
            for title, crash in self.crashes("says_little", how):
                with self.subTest(title):
                    self.assertEqual(crash["kind"], kind)
                    self.assertTrue(crash["summary"].startswith(sentence),
                                    crash["summary"])

    def test_an_exception_that_leaves_a_noexcept_function_is_told_so(self):
        for title, crash in self.crashes("says_little", "noexcept"):
            with self.subTest(title):
                self.assertEqual(crash["reason"], "noexcept")
                self.assertIn("it was leaving a noexcept function", crash["summary"])

    def test_what_happens_inside_the_c_library_is_told_by_what_was_asked_of_it(self):
        for how, (number, kind, sentence) in MISUSES.items():
            if how == "key" and not has_protection_keys():
                continue
            for title, crash in self.crashes("misuses", how, number):
                with self.subTest(title):
                    self.assertEqual(crash["kind"], kind, crash["summary"])
                    self.assertRegex(crash["summary"], f"^{sentence}")

    @unittest.skipUnless(harness.cores_land_in_folder(), "cores go elsewhere")
    def test_a_core_tells_of_a_protection_key_on_any_processor(self):
        """A core whose signal says so; the processor need not have them."""
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([harness.program("bad_values_O2"), "wild"], core=True,
                              WILD="123456789000")
            core = Core(scene.core(ended.pid))
            offset = next(at for at, kind in core.notes() if kind == NT_SIGINFO)
            name, = struct.unpack_from("<I", core.bytes, offset)
            signal_at = offset + 12 + (name + 3) // 4 * 4
            struct.pack_into("<i", core.bytes, signal_at + 8, 4)  # SEGV_PKUERR
            struct.pack_into("<I", core.bytes, signal_at + 32, 7)
            done = scene.command("core", "--json", core.write(scene.folder + "/keyed"))
        self.assertEqual(done.returncode, 0, done.stderr)
        crash = json.loads(done.stdout)["crash"]
        self.assertEqual((crash["kind"], crash["protection_key"]), ("protection-key", 7))
        self.assertRegex(crash["summary"], "^Read from 0x123456789008, which protection key 7 "
                                           "does not allow this thread")

    def test_a_check_of_the_c_library_names_who_failed_it(self):
        crash = self.live(harness.program("misuses_O2"), "fortify")
        self.assertEqual(crash["kind"], "fortify")
        self.assertRegex(crash["summary"], "buffer overflow detected.*, in overflow_copy$")

    @unittest.skipUnless(shutil.which("clang"), "clang is not installed")
    def test_clang_s_check_for_undefined_behaviour_is_named(self):
        with Scene() as scene:
            program = compiled(scene, "clang", "-fsanitize-trap=undefined")
            for how, (check, words) in CHECKS.items():
                crash = self.live(program, how, signal.SIGILL)
                self.assertEqual(crash["kind"], "sanitizer")
                self.assertEqual(crash["check"], {"by": "ubsan", "name": check})
                self.assertTrue(crash["summary"].endswith(words), crash["summary"])
            crash = self.live(program, "t", signal.SIGILL)
        self.assertNotIn("check", crash)

    @unittest.skipUnless(shutil.which("gcc"), "gcc is not installed")
    def test_no_check_is_claimed_for_gcc_whose_instruction_holds_none(self):
        with Scene() as scene:
            program = compiled(scene, "gcc", "-fsanitize-undefined-trap-on-error")
            for how in CHECKS:
                crash = self.live(program, how, signal.SIGILL)
                self.assertEqual(crash["kind"], "illegal-instruction")
                self.assertNotIn("check", crash)

    @unittest.skipUnless(shutil.which("go"), "go is not installed")
    def test_a_go_panic_is_quoted(self):
        source = os.path.join(harness.SOURCE, "tests", "integration", "programs", "panics.go")
        with Scene() as scene:
            program = os.path.join(scene.folder, "panics")
            subprocess.run(["go", "build", "-o", program, source], check=True,
                           stderr=subprocess.PIPE, cwd=scene.folder,
                           env={**os.environ, "HOME": scene.folder, "CGO_ENABLED": "0",
                                "GOCACHE": harness.GO_CACHE})
            said = {"text": "no such page: 7", "error": "the ledger is closed",
                    "index": "runtime error: index out of range [6] with length 3",
                    "int": "42"}
            for how, text in said.items():
                with self.subTest(how), Scene() as other:
                    other.preload = None
                    other.command("run", "--via", "trace", "--", program, how,
                                  GOTRACEBACK="crash")
                    crash = other.reports()[0]["crash"]
                    self.assertEqual(crash["kind"], "panic")
                    self.assertEqual(crash["summary"].split(", in ")[0], f"Go panic: {text}")


if __name__ == "__main__":
    harness.main()
