# SPDX-License-Identifier: Apache-2.0
#
# Exits that are crashes: what runtimes write before they exit is reported by
# `crashhook run --stderr-tail`, which passes everything on; and what the hooks of
# bindings/ leave in the spool, by whoever opens that next.

import fcntl
import hashlib
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import harness
from harness import FULL, HANDLER, SOURCE, Scene, wait_for
from place import rust_compiler

sys.path.append(os.path.join(SOURCE, "tests", "collector"))
from running import Collector
from test_daemon import daemons

PROGRAMS = os.path.join(SOURCE, "tests", "integration", "programs")
BINDINGS = os.path.join(SOURCE, "bindings")
MEGABYTES = 1024 if FULL else 128
THROWS = """
import sys, threading, crashhook
%s
crashhook.report_exceptions(threads=True)
def find_page(pages):
    return pages[7]
if sys.argv[1] == "thread":
    reader = threading.Thread(target=find_page, args=([],))
    reader.start()
    reader.join()
elif sys.argv[1] == "exit":
    sys.exit(3)
else:
    find_page([])
"""
# Languages whose runtime ends a program by an exit: what compiles the program, its source,
# and what the report says of it.
OTHER_LANGUAGES = {
    "perl": (None, "print.pl", "#!/usr/bin/perl\nsub total { die 'no such order' } total();\n",
             "uncaught-exception", "no such order at "),
    "ruby": (None, "total.rb", "#!/usr/bin/ruby\ndef total\n  raise 'no such order'\nend\ntotal\n",
             "uncaught-exception", "no such order (RuntimeError)"),
    "gnatmake": (["gnatmake", "-q", "-o", "total", "total.adb"], "total.adb",
                 "procedure Total is\n   No_Order : exception;\nbegin\n"
                 "   raise No_Order with \"order 7\";\nend Total;\n",
                 "uncaught-exception", "NO_ORDER : order 7"),
    "gfortran": (["gfortran", "-fcheck=bounds", "-o", "total", "total.f90"], "total.f90",
                 "program total\n  integer :: a(3), i\n  read(*, *, iostat=i) a\n"
                 "  a(4 + i - i) = 1\n  print *, a\nend program\n",
                 "fatal-exit", "Index '4'"),
}
# What runtimes that are rarely installed write, with the status, and what a report quotes.
OTHER_WORDS = [
    (2, 'Fatal error: exception Failure("no such order")', "uncaught-exception"),
    (1, "core.exception.RangeError@total.d(7): Range violation", "uncaught-exception"),
    (1, "total.nim(3) total\nError: unhandled exception: no order [ValueError]",
     "uncaught-exception"),
    (1, 'Exception in thread "main" java.lang.IllegalStateException: no order\n'
        "\tat Total.main(Total.java:3)", "uncaught-exception"),
    (134, "Unhandled exception. System.InvalidOperationException: no order\n"
          "   at Total.Main()", "uncaught-exception"),
    (255, "PHP Fatal error:  Uncaught Exception: no order in total.php:3", "uncaught-exception"),
    (1, "ERROR STOP no order", "fatal-exit"),
    (201, "Runtime error 201 at $0000000000401123 in order", "fatal-exit"),
]
WRITES = """
import os
piece = bytes(range(256)) * 256
for _ in range(%d): os.write(2, piece)
"""


class Exits(unittest.TestCase):
    def run_kept(self, scene, *command):
        return scene.run([harness.CRASHHOOK, "run", "--stderr-tail", "--", *command],
                         LD_PRELOAD="")

    def only_crash(self, scene):
        reports = scene.reports()
        self.assertEqual(len(reports), 1)
        return reports[0]["crash"]

    def compiled(self, scene, *command):
        if shutil.which(command[0]) is None:
            self.skipTest(f"there is no {command[0]}")
        path = os.path.join(scene.folder, "program")
        subprocess.run([*command, "-o", path, *self.sources], check=True,
                       env=os.environ | {"GOCACHE": harness.GO_CACHE, "GOFLAGS": ""},
                       stdout=subprocess.DEVNULL)
        return path

    def rust(self, scene):
        self.sources = [os.path.join(PROGRAMS, "exits.rs")]
        return self.compiled(scene, rust_compiler(), "-g")

    def test_a_rust_panic_that_unwinds_is_reported_with_its_message(self):
        with Scene() as scene:
            path = self.rust(scene)
            for how, said in (("text", "page 7 is missing"),
                              ("drop", "cannot close the ledger"),
                              ("thread", "called `Result::unwrap()` on an `Err` value")):
                with self.subTest(how=how):
                    shutil.rmtree(scene.spool, ignore_errors=True)
                    ended = self.run_kept(scene, path, how)
                    self.assertEqual(ended.status, 101)
                    self.assertIn(said, ended.stderr)
                    crash = self.only_crash(scene)
                    self.assertEqual(crash["kind"], "panic")
                    self.assertIn(said, crash["message"])
                    self.assertEqual(crash["death"]["exit_status"], 101)
                    self.assertIn("panicked at", crash["death"]["stderr"])

    def test_a_program_that_ends_at_once_is_reported_by_its_own_name(self):
        shell = os.path.realpath("/bin/sh")
        script = "echo 'panic: no page' >&2; exit 2"
        with Scene() as scene:
            for _ in range(5):
                shutil.rmtree(scene.spool, ignore_errors=True)
                self.assertEqual(self.run_kept(scene, "sh", "-c", script).status, 2)
                process = scene.reports()[0]["process"]
                self.assertEqual(process["executable"], shell)
                self.assertEqual(process["arguments"], ["sh", "-c", script])

    def test_a_child_that_keeps_standard_error_open_keeps_nobody_waiting(self):
        with Scene() as scene:
            process = subprocess.Popen(
                [harness.CRASHHOOK, "run", "--stderr-tail", "--", "sh", "-c",
                 "sleep 1000 >/dev/null & echo $! && exit 3"],
                env=scene.environment({"LD_PRELOAD": ""}), stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True)
            child = int(process.stdout.readline())
            try:
                self.assertEqual(process.wait(timeout=60), 3)
            finally:
                os.kill(child, signal.SIGKILL)
                process.stdout.close()

    def test_a_sanitizer_that_exits_is_reported_once_with_its_stack(self):
        source = os.path.join(PROGRAMS, "sanitized.c")
        with Scene() as scene:
            path = os.path.join(scene.folder, "program")
            subprocess.run(["gcc", "-g", "-fsanitize=address", "-o", path, source], check=True)
            for tail in ([], ["--stderr-tail"]):
                with self.subTest(tail=tail):
                    shutil.rmtree(scene.spool, ignore_errors=True)
                    ended = scene.run([harness.CRASHHOOK, "run", *tail, "--", path, "overrun"],
                                      LD_PRELOAD="")
                    self.assertEqual(ended.status, 1)
                    self.assertIn("ERROR: AddressSanitizer: heap-buffer-overflow", ended.stderr)
                    report, = scene.reports()
                    self.assertEqual(report["crash"]["kind"], "sanitizer")
                    self.assertIn("heap-buffer-overflow", report["crash"]["message"])
                    self.assertIn("overrun", harness.names_of(harness.crashed_thread(report)))

    def test_different_panics_of_a_program_are_different_groups(self):
        with Scene() as scene:
            path = self.rust(scene)
            for how in ("text", "drop", "text"):
                self.run_kept(scene, path, how)
            keys = [report["fingerprint2"] for report in scene.reports()]
            self.assertEqual(len(set(keys)), 2)

    def group(self, *command, **variables):
        """Runs a program that an exception ends: its title, and the key of its group."""
        with Scene() as scene:
            scene.preload = None
            done = subprocess.run(command, check=False, timeout=60, stderr=subprocess.PIPE,
                                  env=scene.environment({"LIBCRASHHOOK": HANDLER,
                                                         "HOME": self.home, **variables}))
            self.assertIn(done.returncode, (1, 101), done.stderr)
            scene.command("list")
            crashes = [report for report in scene.reports() if "crash" in report]
            self.assertEqual(len(crashes), 1)
            self.report = crashes[0]
            return crashes[0]["title"], crashes[0]["fingerprint2"]

    def check_groups(self, ways):
        """Each way has a title of its own and, however often it is gone, a group of its own."""
        keys = []
        for title, command, variables in ways:
            with self.subTest(title):
                said, key = self.group(*command, **variables)
                self.assertTrue(said.startswith(title + " \u00b7 "), said)
                self.assertEqual(self.group(*command, **variables)[1], key)
                keys.append(key)
        self.assertEqual(len(set(keys)), len(ways))

    def write_way(self, name, text):
        path = os.path.join(self.home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def make_home(self):
        self.home = tempfile.mkdtemp(prefix="crashhook-home.")
        self.addCleanup(shutil.rmtree, self.home)

    def test_exceptions_of_python_are_grouped_by_type_and_the_programs_innermost_function(self):
        self.make_home()
        self.write_way("lib/site-packages/library.py",
                       "class LibraryError(Exception): pass\n"
                       "def parse(text): raise LibraryError('cannot parse ' + text)\n")
        path = self.write_way("shop.py", """
import json, os, sys
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib", "site-packages"))
import crashhook, library
crashhook.report_exceptions()
def price_of(order): return order["price"]
def login(user): raise ValueError("no token for %s %d" % (user, os.getpid()))
class Stock:
    def read(self): return json.loads("{")
    def parse(self): return library.parse("pear")
{"price": lambda: price_of({}), "login": lambda: login("kim"), "value": lambda: int("x"),
 "json": lambda: Stock().read(), "library": lambda: Stock().parse()}[sys.argv[1]]()
""")
        place = "Stock." if sys.version_info >= (3, 11) else ""
        ways = (("KeyError \"'price'\" in price_of (shop.py)", "price"),
                ('ValueError "no token for kim', "login"), ('ValueError "invalid literal', "value"),
                ('json.decoder.JSONDecodeError "Expecting property name', "json"),
                (f'library.LibraryError "cannot parse pear" in {place}parse (shop.py)', "library"))
        keys = set()
        for title, way in ways:
            said, key = self.group("/usr/bin/python3", path, way,
                                   PYTHONPATH=os.path.join(BINDINGS, "python"))
            self.assertTrue(said.startswith(title), said)
            # The numbers in its text differ.
            self.assertEqual(key, self.group("/usr/bin/python3", path, way, PYTHONPATH=os.path.join(
                BINDINGS, "python"))[1])
            keys.add(key)
        self.assertEqual(len(keys), len(ways))
        stack = self.report["crash"]["exception"]["stack"]
        self.assertEqual((stack[0]["function"], stack[0]["file"], stack[0]["system"]),
                         ("parse", "~/lib/site-packages/library.py", True))
        self.assertEqual((stack[1]["file"], stack[1]["line"]), ("~/shop.py", 10))

    @unittest.skipIf(shutil.which("node") is None, "there is no node")
    def test_exceptions_of_node_are_grouped_by_class_and_the_programs_innermost_function(self):
        self.make_home()
        self.write_way("node_modules/library/index.js",
                       "exports.parse = function parse(text) { throw new RangeError(text); };")
        os.symlink(os.path.join(BINDINGS, "node"), os.path.join(self.home, "node_modules/crashhook"))
        path = self.write_way("shop.js", """
require('crashhook').reportExceptions();
class NoToken extends Error {}
function priceOf(order) { return order.price.cents; }
function login(user) { throw new NoToken('for ' + user); }
async function stock() { await null; require('library').parse('pear'); }
({ price: () => priceOf({}), login: () => login('kim'), stock, text: () => { throw 'a text'; } })[
  process.argv[2]]();
""")
        self.check_groups(tuple((title, ("node", path, way), {}) for title, way in (
            ('TypeError "Cannot read properties of undefined (reading \'cents\')" in priceOf (shop.js)',
             "price"),
            ('NoToken "for kim" in login (shop.js)', "login"),
            ('RangeError "pear" in stock (shop.js)', "stock"))))
        self.assertIn('string "a text"', self.group("node", path, "text")[0])

    def test_panics_of_rust_are_grouped_by_what_they_say_and_the_programs_innermost_function(self):
        self.make_home()
        rustc = rust_compiler()
        if shutil.which(rustc) is None:
            self.skipTest(f"there is no {rustc}")
        path = self.write_way("shop.rs", """
#[inline(never)] fn price_of(prices: &[i32]) { println!("{}", prices[prices.len() + 3]); }
#[inline(never)] fn login(token: Option<u8>) { token.expect("no token"); }
fn main() {
    if std::env::args().nth(1).as_deref() == Some("live") { crashhook::set_panic_hook(); }
    crashhook::report_fatal_panics();
    match std::env::args().nth(2).as_deref() { Some("price") => price_of(&[]), _ => login(None) }
}
""")
        version = subprocess.run([rustc, "--version"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        known = int(re.search(r" 1\.(\d+)", version).group(1)) >= 65
        subprocess.run([rustc, "--edition", "2021", "-g", "--crate-type", "rlib", "--crate-name",
                        "crashhook", *(["--cfg", "has_backtrace"] if known else []), "--out-dir",
                        self.home, os.path.join(BINDINGS, "rust", "src", "lib.rs")], check=True)
        program = os.path.join(self.home, "shop")
        subprocess.run([rustc, "--edition", "2021", "-g", "-o", program, "--extern",
                        f"crashhook={self.home}/libcrashhook.rlib", path], check=True)
        for how in ("fatal", "live"):
            titles = ["panic \"index out of bounds", 'panic "no token"']
            self.check_groups(tuple((title, (program, how, way), {}) for title, way in zip(
                (titles[0] + ": the len is 0 but the index is 3\" in shop::price_of",
                 titles[1] + " in shop::login"), ("price", "login"))) if known else ())

    def test_a_go_panic_is_reported_with_its_goroutine(self):
        self.sources = [os.path.join(PROGRAMS, "panics.go")]
        with Scene() as scene:
            ended = self.run_kept(scene, self.compiled(scene, "go", "build"), "text")
            self.assertEqual(ended.status, 2)
            crash = self.only_crash(scene)
            self.assertEqual(crash["kind"], "panic")
            self.assertIn("no such page: 7", crash["message"])
            self.assertIn("main.closeLedger", crash["death"]["stderr"])

    def test_a_python_exception_is_quoted(self):
        with Scene() as scene:
            ended = self.run_kept(scene, "/usr/bin/python3", "-c", "{}['page']")
            self.assertEqual(ended.status, 1)
            crash = self.only_crash(scene)
            self.assertEqual((crash["kind"], crash["message"]),
                             ("uncaught-exception", "KeyError: 'page'"))

    def test_the_last_lines_before_a_crash_are_in_its_report_and_masked(self):
        says = ("import os, signal\nos.write(2, b'checking order 7\\npassword=hunter2hunter\\n')\n"
                "os.kill(os.getpid(), signal.%s)")
        for name in ("SIGABRT", "SIGSEGV"):
            with self.subTest(name), Scene() as scene:
                ended = self.run_kept(scene, "/usr/bin/python3", "-c", says % name)
                self.assertEqual(ended.signal, getattr(signal, name))
                said = self.only_crash(scene)["stderr"]
                self.assertIn("checking order 7\n", said)
                self.assertNotIn("hunter2hunter", said)
                shown = scene.command("show", *scene.report_paths()).stdout
                self.assertIn("Standard error:\n  checking order 7\n", shown)

    def test_error_exits_of_other_languages_are_reported(self):
        for compiler, (command, name, source, kind, said) in OTHER_LANGUAGES.items():
            if shutil.which(compiler) is None:
                print(f"skipped: there is no {compiler}")
                continue
            with self.subTest(compiler), Scene() as scene:
                path = os.path.join(scene.folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(source)
                os.chmod(path, 0o755)
                if command:
                    subprocess.run(command, cwd=scene.folder, check=True,
                                   stdout=subprocess.DEVNULL)
                    path = os.path.join(scene.folder, "total")
                self.run_kept(scene, path)
                crash = self.only_crash(scene)
                self.assertEqual(crash["kind"], kind)
                self.assertIn(said, crash["message"])
        for status, words, kind in OTHER_WORDS:
            with self.subTest(words=words), Scene() as scene:
                self.run_kept(scene, "/bin/sh", "-c", 'printf "%s\\n" "$1" >&2; exit $2', "sh",
                              words, str(status))
                crash = self.only_crash(scene)
                self.assertEqual(crash["kind"], kind)
                quoted = words.split("\n")
                self.assertEqual(crash["message"], next(
                    line for line in quoted if "order" in line or "Range" in line))

    def test_an_exit_without_such_words_is_no_crash(self):
        with Scene() as scene:
            for command in ("echo no >&2; exit 3", "echo 'panic: no' >&2; exit 0", "exit 2",
                            "echo 'bad total at total.txt line 7.' >&2; exit 1",
                            "echo 'usage: total (FILE)' >&2; exit 1"):
                self.run_kept(scene, "/bin/sh", "-c", command)
            self.assertEqual(scene.report_paths(), [])

    def test_all_of_it_arrives_in_order(self):
        with Scene() as scene:
            ended = subprocess.Popen(
                [harness.CRASHHOOK, "run", "--stderr-tail", "--", "/usr/bin/python3", "-c",
                 WRITES % (16 * MEGABYTES)], env=scene.environment({"LD_PRELOAD": ""}),
                stderr=subprocess.PIPE)
            seen = hashlib.md5()
            for piece in iter(lambda: ended.stderr.read(1 << 16), b""):
                seen.update(piece)
            self.assertEqual(ended.wait(), 0)
            ended.stderr.close()
            wanted = hashlib.md5()
            for _ in range(16 * MEGABYTES):
                wanted.update(bytes(range(256)) * 256)
            self.assertEqual(seen.hexdigest(), wanted.hexdigest())

    def test_a_terminal_stays_one(self):
        with Scene() as scene:
            ours, theirs = pty.openpty()
            done = subprocess.run(
                [harness.CRASHHOOK, "run", "--stderr-tail", "--", "/bin/sh", "-c",
                 "test -t 2 && echo seen >&2; exit 4"],
                env=scene.environment({"LD_PRELOAD": ""}), stderr=theirs, check=False)
            self.assertEqual(done.returncode, 4)
            os.close(theirs)
            self.assertEqual(os.read(ours, 100), b"seen\r\n")
            os.close(ours)


class Hooks(unittest.TestCase):
    """Programs whose language tells them of their end; nobody keeps them."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-test.")
        os.chmod(self.folder, 0o755)  # what a killed program leaves is read with nobody's rights
        self.addCleanup(shutil.rmtree, self.folder)

    def run_alone(self, scene, *command, **variables):
        scene.preload = None
        return scene.run([*command], **{"LIBCRASHHOOK": "/nonexistent.so", **variables})

    def only_report(self, scene):
        """The report of the program's end, which the next one who looks makes."""
        def listed():
            self.assertEqual(scene.command("list").stderr, "")
            return scene.report_paths()

        # The kernel may close what a process had mapped after that was waited for.
        wait_for(listed)
        reports = scene.reports()
        self.assertEqual(len(reports), 1)
        # Who stored the report removes its records then; it may be the agent's sweep.
        wait_for(lambda: not [name for name in os.listdir(scene.spool) if "record" in name])
        return reports[0]

    def nothing(self, scene):
        os.makedirs(scene.spool, mode=0o700, exist_ok=True)
        self.assertEqual(scene.command("list").stdout, "")
        self.assertEqual(scene.report_paths(), [])

    def check(self, report, kind, status, message):
        crash = report["crash"]
        self.assertEqual(crash["kind"], kind)
        self.assertIn(message, crash["message"])
        self.assertEqual(crash["death"].get("exit_status"), status)
        return crash["death"]["stderr"]

    def rust(self):
        rustc = rust_compiler()
        if shutil.which(rustc) is None:
            self.skipTest(f"there is no {rustc}")
        version = subprocess.run([rustc, "--version"], check=True, stdout=subprocess.PIPE, text=True)
        minor = int(re.match(r"rustc 1\.(\d+)", version.stdout).group(1))
        self.stacks = minor >= 65
        stack = ["--cfg", "has_backtrace"] if self.stacks else []
        program = os.path.join(self.folder, "exits")
        for more in (["--crate-type", "rlib", "--crate-name", "crashhook", *stack, "--out-dir",
                      self.folder, os.path.join(BINDINGS, "rust", "src", "lib.rs")],
                     ["-o", program, "--extern",
                      "crashhook=" + os.path.join(self.folder, "libcrashhook.rlib"),
                      os.path.join(BINDINGS, "rust", "examples", "exits.rs")]):
            subprocess.run([rustc, "--edition", "2021", "-g", "-D", "warnings", *more], check=True)
        return program

    def test_rust_panics_that_end_the_program_are_reported_and_others_are_not(self):
        program = self.rust()
        for how, said in (("text", "the len is 0 but the index is 7"),
                          ("drop", "cannot close the ledger"),
                          ("thread", "called `Result::unwrap()` on an `Err` value")):
            with self.subTest(how=how), Scene() as scene:
                ended = self.run_alone(scene, program, how)
                self.assertEqual(ended.status, 101)
                self.assertIn("panicked at", ended.stderr)
                report = self.only_report(scene)
                self.assertEqual(report["release"], "1.4.2")
                text = self.check(report, "panic", 101, said)
                self.assertIn("the len is 0" if how == "thread" else said, text)
                if self.stacks:
                    self.assertIn("close_ledger" if how == "drop" else "find_page", text)
        with Scene() as scene:
            self.assertEqual(self.run_alone(scene, program, "caught").status, 0)
            self.nothing(scene)

    def test_a_panic_has_what_the_program_told_of_itself(self):
        program = self.rust()
        with Scene() as scene:
            self.run_alone(scene, program, "text", LIBCRASHHOOK=HANDLER, CRASHHOOK_KILLS="yes",
                           CRASHHOOK_TAGS="shard=8")
            report = self.only_report(scene)
            self.check(report, "panic", 101, "the len is 0")
            self.assertEqual(report["tags"], {"shard": "8"})
            self.assertIn("exits", [image["name"] for image in report["images"]])

    def test_a_panic_under_run_is_reported_once(self):
        program = self.rust()
        with Scene() as scene:
            ended = scene.run([harness.CRASHHOOK, "run", "--stderr-tail", "--", program, "drop"],
                              LD_PRELOAD="")
            self.assertEqual(ended.status, 101)
            reports = scene.reports()
            self.assertEqual(len(reports), 1)
            self.check(reports[0], "panic", 101, "cannot close the ledger")

    def python(self, scene, how, install=""):
        return self.run_alone(scene, "/usr/bin/python3", "-c", THROWS % install, how,
                              PYTHONPATH=os.path.join(BINDINGS, "python"), LIBCRASHHOOK=HANDLER,
                              PYTHONDONTWRITEBYTECODE="1")

    def test_a_python_exception_that_ends_the_program_or_a_thread_is_reported(self):
        for how, status in (("text", 1), ("thread", 0)):
            with self.subTest(how=how), Scene() as scene:
                ended = self.python(scene, how, "crashhook.install(release='7', kills='yes')")
                self.assertEqual(ended.status, status)
                self.assertIn("IndexError: list index out of range", ended.stderr)
                report = self.only_report(scene)
                text = self.check(report, "uncaught-exception", 1 if status else None,
                                  "IndexError: list index out of range")
                self.assertIn("in find_page", text)
                self.assertEqual(report["release"], "7")
        with Scene() as scene:
            self.assertEqual(self.python(scene, "exit").status, 3)
            self.nothing(scene)

    @unittest.skipUnless(shutil.which("node"), "there is no node")
    def test_a_node_exception_and_a_rejected_promise_are_reported(self):
        program = os.path.join(BINDINGS, "node", "example", "exits.js")
        for how in ("text", "promise"):
            with self.subTest(how=how), Scene() as scene:
                ended = self.run_alone(scene, "node", program, how)
                self.assertEqual(ended.status, 1)
                self.assertIn("TypeError", ended.stderr)
                report = self.only_report(scene)
                text = self.check(report, "uncaught-exception", 1, "TypeError: Cannot read")
                self.assertIn("at findPage", text)
                self.assertEqual(report["release"], "1.4.2")
        with Scene() as scene:
            self.assertEqual(self.run_alone(scene, "node", program, "handled").status, 0)
            self.nothing(scene)

    def go(self):
        go = shutil.which("go")
        if go is None:
            self.skipTest("there is no go")
        program = os.path.join(self.folder, "program")
        environment = {**os.environ, "GOCACHE": harness.GO_CACHE, "GOPROXY": "off", "CGO_ENABLED": "0",
                       "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
        subprocess.run([go, "build", "-o", program, "./words/example"], check=True, env=environment,
                       cwd=os.path.join(BINDINGS, "go"))
        version = subprocess.run([go, "env", "GOVERSION"], check=True, stdout=subprocess.PIPE,
                                 text=True).stdout
        return program, int(re.match(r"go1\.(\d+)", version).group(1))

    def test_a_go_panic_and_a_fatal_error_end_the_program_as_ever(self):
        program, minor = self.go()
        for how, kind, said in (("text", "panic", "index out of range [7]"),
                                ("deadlock", "fatal-exit", "all goroutines are asleep")):
            with self.subTest(how=how), Scene() as scene:
                ended = self.run_alone(scene, program, how)
                self.assertEqual(ended.status, 2)
                self.assertIn(said, ended.stderr)
                if minor < 23:  # and that is all that such a Go can do
                    self.assertIn("panics are not reported: crashhook: Go before 1.23", ended.stderr)
                    self.nothing(scene)
                    continue
                report = self.only_report(scene)
                # A fatal error's first line goes to standard error alone.
                kept = said if how == "text" else "goroutine 1 [chan receive]:"
                self.assertIn("main." + ("main" if how == "deadlock" else "findPage"),
                              self.check(report, kind, 2, kept))
                self.assertEqual(report["release"], "1.4.2")

    def test_words_wait_until_their_program_has_ended_and_what_is_damaged_is_no_crash(self):
        with Scene() as scene:
            os.mkdir(scene.spool, 0o700)
            sleeper = subprocess.Popen(["/bin/sleep", "60"])
            with open(f"/proc/{sleeper.pid}/stat", encoding="ascii") as file:
                start = int(file.read().rpartition(")")[2].split()[19])
            head = "crashhook words 1\nkind: panic\nstatus: 101\n\n"
            files = {f"last-{start:016x}-{sleeper.pid:08x}.record": head + "panicked\n",
                     "last-0000000000000001-7ffffff0.record": head,
                     "last-0000000000000001-7ffffff1.record": "not that\n",
                     "last-0000000000000001-7ffffff2.record": "crashhook words 1\nkind: x\n"
                                                              "status: -9\npid: 99999999999\n\n\0\1",
                     "last-zz-1.record": head}
            for name, text in files.items():
                with open(os.path.join(scene.spool, name), "w", encoding="latin-1") as file:
                    file.write(text)
            listed = scene.command("list", "--json")
            self.assertEqual(len(scene.reports()), 1)
            self.assertEqual(scene.reports()[0]["crash"]["kind"], "fatal-exit")
            self.assertEqual(listed.stderr.count("malformed"), 2)
            self.assertEqual(os.listdir(scene.spool).count(list(files)[0]), 1)
            sleeper.kill()
            sleeper.wait()
            scene.command("list")
            self.assertEqual(len(scene.reports()), 2)


    def test_words_wait_for_the_liveness_record_that_the_agent_has_yet_to_write(self):
        with Scene() as scene:
            os.mkdir(scene.spool, 0o700)
            path = os.path.join(scene.spool, "last-0000000000000001-7ffffff0.record")
            with open(path, "w", encoding="ascii") as file:
                file.write("crashhook words 1\nkind: panic\nstatus: 101\nkills: yes\n\npanicked\n")
            self.nothing(scene)
            a_while_ago = time.time() - 20
            os.utime(path, (a_while_ago, a_while_ago))
            scene.command("list")
            self.assertEqual(scene.reports()[0]["crash"]["kind"], "panic")


class Restarts(unittest.TestCase):
    TIMES = 8

    def terminal(self, scene, *arguments):
        """What a wide terminal shows."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        subprocess.run([harness.CRASHHOOK, *arguments], stdout=theirs, check=True, env=scene.environment(
            {"LD_PRELOAD": "", "PAGER": "cat", "TERM": "dumb", "NO_COLOR": "1"}))
        os.close(theirs)
        text = b""
        while True:
            try:
                text += os.read(ours, 65536)
            except OSError:  # everything is read
                os.close(ours)
                return text.decode()

    def test_a_program_that_dies_in_one_way_again_and_again_is_one_line_with_a_count(self):
        with Scene() as scene, Collector(harness.COLLECTOR) as collector:
            for _ in range(self.TIMES):
                process = scene.start([harness.program("lives"), "waits"], CRASHHOOK_KILLS="yes")
                self.assertEqual(process.stdout.readline(), b"ready\n")
                process.kill()
                process.communicate(timeout=60)
                wait_for(lambda: not daemons(scene))  # its supervisor has seen that
            wait_for(lambda: len(scene.report_paths()) == self.TIMES)
            listed = json.loads(scene.command("list", "--json").stdout)
            self.assertEqual([row["times"] for row in listed], [self.TIMES] * self.TIMES)
            shown = self.terminal(scene, "list")
            self.assertRegex(shown, rf"{self.TIMES} times, since .*: Killed by SIGKILL")
            self.assertEqual(shown.count("SIGKILL"), 2)  # a row, and its summary
            # The collector has one group, which counts those that were not sent too.
            deadline = time.monotonic() + 60
            total = 0
            while total != self.TIMES:
                self.assertLess(time.monotonic(), deadline, total)
                scene.command("upload", "--url", collector.url, CRASHHOOK_RATE="2/1s")
                _, _, answer = collector.request("GET", "/api/v1/groups")
                group, = json.loads(answer)["groups"]
                total = group["count"] + group["held_back"]
                time.sleep(0.1)
            self.assertEqual(group["title"], "killed · lives")


if __name__ == "__main__":
    harness.main()
