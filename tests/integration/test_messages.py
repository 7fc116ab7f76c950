# SPDX-License-Identifier: Apache-2.0
#
# A program that its C or C++ library ends says why in its report, in whatever way the
# handler came into it, and dies as it would have.

import glob
import json
import os
import signal
import subprocess
import unittest

import harness
from harness import Scene, crashed_thread, names_of
from place import needs_rust, rust_compilers, rust_minor

PRELOADED = "alone"
LINKED = ("shared", "static", "all_static")

LIBCXX = "/usr/lib/*/libc++abi.so.1"

# What the program does: the kind, and a pattern for all of the message.
SAYS = {
    "assert": ("assertion", r".*says_why\.c:\d+: fail_assert: "
                            r"Assertion `more_than_fits < 10' failed\."),
    "smash": ("stack-smashing", r"\*\*\* stack smashing detected \*\*\*: terminated"),
    "fortify": ("fortify", r"\*\*\* buffer overflow detected \*\*\*: terminated"),
    "double_free": ("heap-corruption", r"free\(\): double free detected in tcache 2"),
    "wild_free": ("heap-corruption", r"free\(\): invalid pointer"),
}

# How it is thrown: the exception's type and its text.
THROWS = {
    "main": ("std::runtime_error", "cannot open ledger 'q3'"),
    "thread": ("std::runtime_error", "cannot open ledger 'q3'"),
    "custom": ("ledger::closed", None),
    "int": ("int", "4"),
    "second_base": ("ledger::refused", "the second base"),
    "again": ("std::out_of_range", "no such page"),
    "kept": ("std::invalid_argument", "kept for later"),
    "noexcept": ("std::logic_error", "noexcept was a promise"),
    "template": ("ledger::page<int, std::vector<long, std::allocator<long> > >",
                 "of a template"),
    "system": ("std::filesystem::__cxx11::filesystem_error",
               "filesystem error: cannot read: Permission denied"),
}
# What was caught and thrown again: only the place of the second throw is known.
RETHROWN = {"again", "kept"}
# How a sentence names a type where that is not its whole name.
SAID = {"template": "ledger::page<int, std::vector<long>>"}
# Who threw it where that is not main.
THROWERS = {
    "main": "throw_runtime_error", "thread": "throw_runtime_error", "again": "throw_again",
    "kept": "throw_kept", "noexcept": "throw_in_noexcept",
}


class Messages(unittest.TestCase):
    def crash(self, program, how, kind):
        """The crash of the one report that a program leaves, which SIGABRT ended."""
        with Scene() as scene:
            if kind != PRELOADED:
                scene.preload = None
            ended = scene.run([harness.program(f"{program}_{kind}"), how],
                              CRASHHOOK_AGENT=harness.AGENT)
            reports = scene.reports()
        self.assertEqual(ended.signal, signal.SIGABRT)
        self.assertEqual(len(reports), 1, ended.stderr)
        return reports[0]["crash"]

    def says(self, how, kind):
        expected, message = SAYS[how]
        crash = self.crash("says_why", how, kind)
        self.assertEqual(crash["kind"], expected)
        self.assertRegex(crash["message"], f"^{message}$")

    def throws(self, how, kind):
        name, what = THROWS[how]
        words = name if what is None else f"{name}: {what}"
        said = words.replace(name, SAID.get(how, name))
        verb = "rethrown" if how in RETHROWN else "thrown"
        crash = self.crash("throws", how, kind)
        self.assertEqual(crash["kind"], "uncaught-exception")
        self.assertEqual(crash["exception"]["type"], name)
        self.assertEqual(crash["exception"].get("what"), what)
        self.assertEqual(crash["message"], "uncaught exception " + words)
        # A call that was inlined is named without its arguments.
        thrower = crash["exception"][f"{verb}_in"]["function"]
        self.assertEqual(thrower.removesuffix("()"), THROWERS.get(how, "main"))
        left = "; it was leaving a noexcept function" if how == "noexcept" else ""
        self.assertEqual(crash["summary"],
                         f"Uncaught exception {said}{left}, {verb} in {thrower}")

    def test_the_c_library_is_quoted(self):
        for how in SAYS:
            with self.subTest(how):
                self.says(how, PRELOADED)

    def test_an_uncaught_exception_is_named(self):
        for how in THROWS:
            with self.subTest(how):
                self.throws(how, PRELOADED)

    def test_programs_that_link_the_handler_say_as_much(self):
        for kind in LINKED:
            for how in SAYS:
                with self.subTest(f"{kind} {how}"):
                    self.says(how, kind)
            for how in ("main", "thread", "second_base"):
                with self.subTest(f"{kind} {how}"):
                    self.throws(how, kind)

    def test_an_exception_of_a_library_that_was_loaded_late_is_named(self):
        for how in ("loaded_exception", "loaded_exception_in_thread"):
            with self.subTest(how), Scene() as scene:
                ended = scene.run([harness.program("faults"), how])
                reports = scene.reports()
            self.assertEqual(ended.signal, signal.SIGABRT)
            self.assertEqual(
                reports[0]["crash"]["summary"],
                "Uncaught exception std::length_error: thrown by a library that came late, "
                "thrown in thrower_work")

    def test_a_sanitizer_is_quoted(self):
        for how, words in (("use_freed", "heap-use-after-free on address 0x[0-9a-f]+, "
                                         "READ of size 1"),
                           ("overrun", "heap-buffer-overflow on address 0x[0-9a-f]+, "
                                       "WRITE of size 1")):
            with self.subTest(how), Scene() as scene:
                scene.preload = None
                ended = scene.run([harness.program("sanitized"), how],
                                  CRASHHOOK_AGENT=harness.AGENT,
                                  ASAN_OPTIONS="abort_on_error=1")
                reports = scene.reports()
                self.assertEqual(ended.signal, signal.SIGABRT)
                crash = reports[0]["crash"]
                self.assertEqual(crash["kind"], "sanitizer")
                self.assertRegex(crash["summary"], f"^AddressSanitizer: {words}$")
                self.assertIn(how, harness.names_of(harness.crashed_thread(reports[0])))

    def test_a_fault_that_a_sanitizer_handles_is_told_as_the_fault(self):
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([harness.program("sanitized"), "write_null"],
                              CRASHHOOK_AGENT=harness.AGENT, ASAN_OPTIONS="abort_on_error=1")
            report, = scene.reports()
        self.assertEqual(ended.signal, signal.SIGABRT)
        self.assertIn("SEGV on unknown address", ended.stderr)
        self.assertEqual(report["crash"]["kind"], "null-dereference")
        self.assertIn("write_null", harness.names_of(harness.crashed_thread(report)))

    @needs_rust
    def test_a_rust_panic_is_quoted_and_told_by_its_frames(self):
        source = os.path.join(harness.SOURCE, "tests", "integration", "programs", "panics.rs")
        for compiler in rust_compilers():
            for panic, arguments, place, words in (
                    ("abort", [], "close_ledger",
                     "index out of bounds: the len is 3 but the index is 6"),
                    # The second panic is said of where it came from or of whom it left.
                    ("unwind", ["cleanup"], "(close_ledger|main)",
                     "panic in a destructor during cleanup")):
                with self.subTest(compiler=compiler, panic=panic), Scene() as scene:
                    program = os.path.join(scene.folder, "panics")
                    subprocess.run([compiler, "-g", "-C", f"panic={panic}", "-o", program,
                                    source], check=True, stderr=subprocess.PIPE)
                    ended = scene.run([program, *arguments], RUST_BACKTRACE="0")
                    # A backtrace is written over the words.
                    scene.run([program, *arguments], RUST_BACKTRACE="1")
                    quiet, loud = scene.reports()
                    self.assertEqual(ended.signal, signal.SIGABRT)
                    for report in (quiet, loud):
                        crash = report["crash"]
                        self.assertEqual(crash["kind"], "panic")
                        self.assertRegex(crash["raised_in"]["function"], place)
                        self.assertRegex(crash["summary"], f"^Rust panic.*, in .*{place}$")
                        names = names_of(crashed_thread(report))
                        self.assertIn("panics::main", names)
                        self.assertEqual(names[-1], "_start")
                    # Older libraries write the words at once and keep them nowhere.
                    if rust_minor(compiler) >= 70:
                        self.assertIn(words, quiet["crash"]["message"])

    @needs_rust
    def test_a_rust_panic_is_quoted_where_the_hook_was_inlined_and_nothing_has_a_name(self):
        source = os.path.join(harness.SOURCE, "tests", "integration", "programs", "panics.rs")
        for compiler in rust_compilers():
            with self.subTest(compiler), Scene() as scene:
                program = os.path.join(scene.folder, "panics")
                subprocess.run([compiler, "-O", "-C", "panic=abort", "-C", "lto=fat", "-C",
                                "codegen-units=1", "-C", "strip=symbols", "-o", program, source],
                               check=True, stderr=subprocess.PIPE)
                # A backtrace is written over the words.
                # Rust 1.63 keeps a literal apart from its place.
                literals = [["none"]] if rust_minor(compiler) >= 81 else []
                for arguments in ([], ["thread"], *literals):
                    ended = scene.run([program, *arguments], RUST_BACKTRACE="1")
                    self.assertEqual(ended.signal, signal.SIGABRT)
                for report in scene.reports():
                    self.assertEqual(report["crash"]["kind"], "panic")
                    self.assertRegex(report["crash"]["summary"],
                                     r"^Rust panic at .*panics\.rs:\d+:\d+: "
                                     r"(index out of bounds: the len is 3 but the index is \d|"
                                     r"called `Option::unwrap\(\)` on a `None` value)$")

    @unittest.skipUnless(glob.glob(LIBCXX), "libc++ is not installed")
    def test_an_exception_of_libcxx_is_named(self):
        for how in ("main", "thread", "again", "noexcept", "int"):
            with self.subTest(how), Scene() as scene:
                ended = scene.run([harness.program("throws_libcxx"), how])
                reports = scene.reports()
            self.assertEqual(ended.signal, signal.SIGABRT)
            name, what = THROWS[how]
            crash = reports[0]["crash"]
            self.assertEqual(crash["kind"], "uncaught-exception")
            self.assertEqual(crash["exception"]["type"],
                             "std::runtime_error" if how == "again" else name)
            self.assertEqual(crash["exception"].get("what"), what)

    def core_of(self, program, how):
        """The crash that a core tells of, of a program that has no handler."""
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([harness.program(program), how], core=True,
                              CRASHHOOK_ENABLE="no")
            self.assertEqual(ended.signal, signal.SIGABRT)
            done = scene.command("core", "--json", scene.core(ended.pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["crash"]

    @unittest.skipUnless(harness.cores_land_in_folder(), "cores go elsewhere")
    def test_a_core_says_as_much(self):
        for kind in (PRELOADED, "all_static"):
            for how in SAYS:
                with self.subTest(f"{kind} {how}"):
                    crash = self.core_of(f"says_why_{kind}", how)
                    self.assertEqual(crash["kind"], SAYS[how][0])
                    self.assertRegex(crash["message"], f"^{SAYS[how][1]}$")
            for how in ("main", "thread", "second_base", "template", "noexcept"):
                with self.subTest(f"{kind} {how}"):
                    crash = self.core_of(f"throws_{kind}", how)
                    self.assertEqual(crash["kind"], "uncaught-exception")
                    self.assertEqual((crash["exception"]["type"], crash["exception"]["what"]),
                                     THROWS[how])

    def test_secrets_and_homes_are_masked_in_what_a_program_says(self):
        crash = self.crash("throws", "secret", PRELOADED)
        self.assertNotIn("hunter2", str(crash))
        self.assertNotIn("ann", str(crash))
        self.assertEqual(crash["exception"]["what"], "no login with password=***, see ~/log")

    def test_an_allocation_that_a_limit_refused_says_so(self):
        crash = self.crash("throws", "memory", PRELOADED)
        self.assertEqual(crash["kind"], "memory-limit")
        self.assertRegex(crash["summary"],
                         r"^Uncaught exception std::bad_alloc; 2\d\d MiB of the 256 MiB that "
                         r"RLIMIT_AS allows are in use, thrown in throw_without_memory")

    def test_an_abort_without_words_stays_one(self):
        crash = self.crash("says_why", "abort", PRELOADED)
        self.assertEqual((crash["kind"], crash["summary"]), ("abort", "The program aborted"))
        self.assertNotIn("message", crash)

    def test_an_abort_while_an_exception_is_handled_does_not_blame_it(self):
        crash = self.crash("throws", "handler", PRELOADED)
        self.assertEqual(crash["kind"], "abort")
        self.assertNotIn("exception", crash)


if __name__ == "__main__":
    harness.main()
