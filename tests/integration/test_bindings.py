# SPDX-License-Identifier: Apache-2.0
#
# The bindings of bindings/ and crashhook.hpp, by the examples that come with them.

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import BUILD, HANDLER, SOURCE, Scene, crashed_thread, names_of
from place import rust_compiler

BINDINGS = os.path.join(SOURCE, "bindings")
HEADER = os.path.join(SOURCE, "include", "crashhook", "crashhook.h")
BACKTRACE = os.path.join(BUILD, "lib", "libcrashhook-backtrace.so.1")
PKG_CONFIG = {"PKG_CONFIG_PATH": os.path.join(BUILD, "lib", "pkgconfig")}


def line_of(path, mark):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if mark in line)


def option_members():
    """The members of struct crashhook_options after its size."""
    with open(HEADER, encoding="utf-8") as file:
        body = re.search(r"struct crashhook_options \{(.*?)\n\};", file.read(), re.DOTALL).group(1)
    return re.findall(r"const char \*(\w+);", body)


class Bindings(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-bindings.")
        self.addCleanup(shutil.rmtree, self.folder)

    def compile(self, command, **options):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, **options)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def end(self, scene, command, text="", **variables):
        """Runs the command to its end: how it ended, and its one report."""
        scene.preload = None
        environment = scene.environment({"LIBCRASHHOOK": HANDLER, **variables})
        ended = subprocess.run(command, env=environment, text=True, check=False, timeout=60,
                               input=text, cwd=scene.folder, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        reports = scene.reports()
        # A panic that ends the program is reported live, and once more as what ended it.
        reports = [report for report in reports if "crash" not in report] or reports
        self.assertEqual(len(reports), 1, ended.stderr)
        self.assertEqual(reports[0]["release"], "1.4.2")
        self.assertEqual(reports[0]["tags"]["stage"], "pricing")
        return ended, reports[0]

    def messages(self, report):
        return [crumb["message"] for crumb in report["breadcrumbs"]]


class Cpp(Bindings):
    def test_scopes_of_a_cpp_program_are_part_of_its_report(self):
        source = "examples/adopting/service.cpp"
        program = os.path.join(self.folder, "service")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "crashhook"], check=True,
                               env={**os.environ, **PKG_CONFIG}, stdout=subprocess.PIPE,
                               text=True).stdout.replace("\\ ", "\0").split()
        self.compile(["c++", "-std=c++17", "-g", "-O1", "-Wall", "-Wextra", "-pedantic", "-Werror",
                      "-o", program, os.path.join(SOURCE, source),
                      *(flag.replace("\0", " ") for flag in flags)])
        with Scene() as scene:
            ended, report = self.end(scene, [program], "apple 120\npear\n")
            self.assertEqual(-ended.returncode, signal.SIGSEGV)
            frame = crashed_thread(report)["backtrace"]["frames"][0]
            self.assertEqual((frame["function"], frame["line"]),
                             ("price_of", harness.crash_line(source)))
            self.assertEqual(self.messages(report)[-3:],
                             ["reading an order: begins", "reading an order: ends",
                              "order of pear"])

    def scopes(self, *flags):
        program = os.path.join(self.folder, "scopes")
        self.compile(["c++", "-g", "-O0", "-Wall", "-Wextra", "-Werror", "-I",
                      os.path.join(SOURCE, "include"), "-o", program,
                      os.path.join(SOURCE, "tests", "integration", "programs", "scopes.cpp"),
                      "-L", os.path.join(BUILD, "lib"), "-lcrashhook", *flags,
                      "-Wl,-rpath," + os.path.join(BUILD, "lib")])
        return program

    def test_scopes_nest_and_tell_of_exceptions(self):
        program = self.scopes("-std=c++17")
        with Scene() as scene:
            ended, report = self.end(scene, [program])
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual(report["tags"], {"stage": "pricing"})
            self.assertIn("work: left by an exception", self.messages(report))

    def test_a_stacktrace_becomes_cbf(self):
        macros = self.compile(["c++", "-std=c++23", "-x", "c++", "-include", "version", "-dM", "-E",
                               "/dev/null"])
        if "__cpp_lib_stacktrace" not in macros:
            self.skipTest("the compiler has no <stacktrace>; gcc 14 of Debian 13 has")
        program = self.scopes("-std=c++23", "-no-pie",
                              "-lcrashhook-backtrace", "-lstdc++exp")
        with Scene() as scene:
            ended, _ = self.end(scene, [program])
            decoded = json.loads(scene.command("cbf", "decode", "--json",
                                               ended.stdout.strip()).stdout)
            addresses = [frame["address"] for frame in decoded["frames"]]
            vaddrs = [hex(int(address, 16) - 1) for address in addresses[:3]]
            symbols = json.loads(scene.command("symbolize", "--exe", program, "--json",
                                               *vaddrs).stdout)
            self.assertEqual([symbol["frames"][0]["function"].removesuffix("()") for symbol in symbols],
                             ["inner", "outer", "print_stacktrace"])


class Rust(Bindings):
    def build(self, link=False, source="bindings/rust/examples/panics.rs", flags=()):
        rustc = rust_compiler()
        if shutil.which(rustc) is None:
            self.skipTest(f"there is no {rustc}")
        feature = ["--cfg", "is_linked"] if link else []
        # As build.rs tells cargo.
        library = ["-L", os.path.join(BUILD, "lib"), "-l", "dylib=crashhook"] if link else []
        linked = ["-L", os.path.join(BUILD, "lib"), "-C",
                  "link-arg=-Wl,-rpath," + os.path.join(BUILD, "lib")] if link else []
        folder = os.path.join(BINDINGS, "rust")
        program = os.path.join(self.folder, "program")
        self.compile([rustc, "--edition", "2021", "-g", "-D", "warnings", "--crate-type", "rlib",
                      "--crate-name", "crashhook", *flags, *feature, *library, "--out-dir", self.folder,
                      os.path.join(folder, "src", "lib.rs")])
        self.compile([rustc, "--edition", "2021", "-g", "-D", "warnings", "-o", program,
                      "--extern", "crashhook=" + os.path.join(self.folder, "libcrashhook.rlib"),
                      *linked, *flags, os.path.join(SOURCE, source)])
        return program

    def check_end(self, program, how, message, via=()):
        """The program dies of its panic and has one report, of that panic. A compiler that does
        not know this panic makes another end of it, which has one report too."""
        with Scene() as scene:
            ended, report = self.end(scene, [*via, program, how])
            if ended.returncode in (-signal.SIGABRT, 128 + signal.SIGABRT):
                # One that began to unwind was reported when it began, of the living program.
                said = report.get("title") or self.messages(report)[-1]
                self.assertRegex(said, message, ended.stderr)
            else:
                self.assertIn(ended.returncode, (101, -signal.SIGSEGV, 128 + signal.SIGSEGV))
            return ended.returncode

    def test_a_death_by_a_panic_has_one_report(self):
        source = "tests/integration/languages/ends.rs"
        run = (os.path.join(BUILD, "bin", "crashhook"), "run", "--")
        for link in (False, True):
            programs = {}
            for flags in ((), ("-C", "panic=abort")):
                folder, self.folder = self.folder, tempfile.mkdtemp(dir=self.folder)
                programs[flags] = self.build(link, source, flags)
                self.folder = folder
            unwinds, aborts = programs.values()
            for via in ((),) if link else ((), run):
                with self.subTest(link=link, via=via[1:2]):
                    self.check_end(unwinds, "checked", "unsafe precondition", via)
                    self.check_end(unwinds, "extern", "a price", via)
                    self.check_end(aborts, "checked", "unsafe precondition", via)
                    self.check_end(aborts, "extern", "a price", via)
                    self.assertIn(self.check_end(aborts, "plain", "as it is", via), (-6, 134))

    def check_crash(self, program):
        with Scene() as scene:
            ended, report = self.end(scene, [program, "crash"])
            self.assertEqual(-ended.returncode, signal.SIGSEGV)
            self.assertIn("panics::write_nowhere", names_of(crashed_thread(report)))
            self.assertEqual(self.messages(report), ["order of pear"])

    def test_a_crash_of_a_program_that_loads_the_library_is_reported(self):
        self.check_crash(self.build())

    def test_a_crash_of_a_program_that_links_the_library_is_reported(self):
        self.check_crash(self.build(link=True))

    def test_a_panic_is_reported_with_its_message_and_place_and_ends_as_ever(self):
        program = self.build()
        with Scene() as scene:
            ended, report = self.end(scene, [program])
            line = line_of("bindings/rust/examples/panics.rs", "panics here")
            self.assertEqual(ended.returncode, 101)
            self.assertIn("panicked at", ended.stderr)
            self.assertRegex(self.messages(report)[-1],
                             rf"^panicked at .*panics.rs:{line}:\d+: called `Option::unwrap\(\)`")
            names = [frame.get("function") for thread in report["threads"]
                     for frame in thread["backtrace"]["frames"]]
            self.assertIn("panics::total_in_cents", names)

    def test_a_captured_stack_has_names_and_lines(self):
        source = "bindings/rust/examples/backtrace.rs"
        ended = subprocess.run([self.build(source=source)], text=True, check=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, "LIBCRASHHOOK_BACKTRACE": BACKTRACE})
        line = line_of(source, "captured here")
        self.assertRegex(ended.stdout, rf"\A\w+::read_order {line}\n\w+::main \d+\n")
        self.assertRegex(ended.stderr, r"read_order at .*backtrace\.rs")

    def test_without_the_backtrace_library_there_is_no_stack(self):
        ended = subprocess.run([self.build(source="bindings/rust/examples/backtrace.rs")], text=True,
                               env={**os.environ, "LIBCRASHHOOK_BACKTRACE": "/nonexistent.so"},
                               check=True, stderr=subprocess.PIPE)
        self.assertEqual(ended.stderr,
                         "no backtrace: libcrashhook-backtrace.so.1 cannot be loaded\n")

    def test_a_program_goes_on_without_the_library(self):
        program = self.build()
        ended = subprocess.run([program], env={**os.environ, "LIBCRASHHOOK": "/nonexistent.so"},
                               text=True, check=False, stderr=subprocess.PIPE)
        self.assertEqual(ended.returncode, 101)
        self.assertIn("crashes are not reported: libcrashhook.so.1 cannot be loaded", ended.stderr)

    def test_it_knows_every_option(self):
        with open(os.path.join(BINDINGS, "rust", "src", "lib.rs"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(re.findall(r"^        (\w+) = \d+;", text, re.MULTILINE),
                         option_members())
        self.assertIn(f"const MEMBERS: usize = {len(option_members())};", text)


class Go(Bindings):
    def build(self, *tags, source="./example"):
        go = shutil.which("go")
        if go is None:
            self.skipTest("go is not installed")
        program = os.path.join(self.folder, "example")
        folder = os.path.join(BINDINGS, "go")
        environment = {**os.environ, **PKG_CONFIG, "GOPROXY": "off", "GOFLAGS": "-mod=mod",
                       "GOTOOLCHAIN": "local"}
        if " " in BUILD:
            self.skipTest("cgo takes no path with a space")
        self.compile([go, "build", *tags, "-o", program, source], cwd=folder, env=environment)
        return program

    def capture(self, library):
        return subprocess.run([self.build(source="./backtrace/example")], text=True, check=True,
                              env={**os.environ, "LIBCRASHHOOK_BACKTRACE": library},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_a_captured_stack_has_each_function_of_go_and_of_c_once(self):
        ended = self.capture(BACKTRACE)
        source = "bindings/go/backtrace/example/main.go"
        line = line_of(source, "captured here")
        self.assertRegex(ended.stdout, rf"logStack at \S*example/main.go:{line}\n")
        names = re.sub(r" \d+ \S+$", "", ended.stderr, flags=re.MULTILINE).split("\n")
        self.assertEqual(names[:2], ["main.logStack", "main.main"])
        second = [re.sub("^_cgoexp_.*", "_cgoexp", name)
                  for name in names[names.index("main.logStack", 1):]]
        known = {"main.logStack": 1, "main.compareOrders": 1, "_cgoexp": 1, "compareOrders": 1,
                 "sort_orders": 1, "main.main": 1}
        self.assertEqual({name: second.count(name) for name in known}, known, ended.stderr)
        self.assertEqual(sorted(known, key=second.index), list(known))
        self.assertIn("qsort", "".join(second[second.index("compareOrders"):]))
        self.assertNotIn("library_context", second)
        self.assertIn(f"sort_orders {line_of(source, 'sorted here')} ", ended.stderr)

    def test_without_the_backtrace_library_there_is_no_stack(self):
        ended = self.capture("/nonexistent.so")
        self.assertEqual((ended.stdout, ended.stderr),
                         ("", "no backtrace: crashhook: libcrashhook-backtrace.so.1 cannot be"
                              " loaded\n"))

    def check_crash(self, program):
        # Go's runtime says what it makes of the fault and aborts, which is no other crash.
        with Scene() as scene:
            ended, report = self.end(scene, [program, "crash"])
            self.assertEqual(-ended.returncode, signal.SIGABRT)
            self.assertRegex(ended.stderr, "fatal error: unexpected signal|SIGSEGV: segmentation")
            self.assertEqual(report["crash"]["name"], "SIGSEGV")
            frame = crashed_thread(report)["backtrace"]["frames"][0]
            self.assertEqual((frame["function"], frame["line"]),
                             ("write_null", line_of("bindings/go/example/main.go", "crashes here")))
            self.assertEqual(self.messages(report), ["order of pear"])

    def test_a_crash_in_c_and_a_panic_of_a_linked_program_are_reported(self):
        program = self.build()
        self.check_crash(program)
        with Scene() as scene:
            ended, report = self.end(scene, [program])
            self.assertEqual(-ended.returncode, signal.SIGABRT)
            self.assertIn("panic: runtime error: invalid memory address", ended.stderr)
            self.assertIn("main.priceOf", names_of(crashed_thread(report)))
            self.assertIn("invalid memory address", report["crash"]["message"])
            version = subprocess.run(["go", "env", "GOVERSION"], stdout=subprocess.PIPE, text=True,
                                     check=True).stdout
            if int(re.match(r"go1\.(\d+)", version).group(1)) >= 23:
                self.assertIn("main.priceOf", json.dumps(report["attachments"]))

    def test_a_crash_in_c_of_a_program_that_loads_the_library_is_reported(self):
        self.check_crash(self.build("-tags", "crashhook_load"))

    def test_it_knows_every_option(self):
        with open(os.path.join(BINDINGS, "go", "crashhook.go"), encoding="utf-8") as file:
            text = file.read()
        values = re.search(r"return \[\]string\{(.*?)\}", text, re.DOTALL).group(1)
        self.assertEqual([name.lower() for name in re.findall(r"o\.(\w+)", values)],
                         [name.replace("_", "") for name in option_members()])


class Python(Bindings):
    def crash(self, scene, *arguments):
        return self.end(scene, ["/usr/bin/python3", os.path.join(BINDINGS, "python", "examples",
                                                                 "crash.py"), *arguments],
                        PYTHONPATH=os.path.join(BINDINGS, "python"), PYTHONDONTWRITEBYTECODE="1")

    def test_a_crash_in_c_is_reported(self):
        with Scene() as scene:
            ended, report = self.crash(scene)
            self.assertEqual((-ended.returncode, ended.stderr), (signal.SIGSEGV, ""))
            self.assertEqual(report["crash"]["kind"], "null-dereference")
            self.assertIn("strlen", names_of(crashed_thread(report))[0])
            self.assertEqual(self.messages(report), ["order of pear"])

    def test_faulthandler_goes_on_working(self):
        with Scene() as scene:
            ended, report = self.crash(scene, "faulthandler")
            self.assertEqual(-ended.returncode, signal.SIGSEGV)
            self.assertIn("Fatal Python error: Segmentation fault", ended.stderr)
            self.assertIn("in price_of", ended.stderr)
            self.assertIn("strlen", names_of(crashed_thread(report))[0])

    def test_an_option_that_there_is_none_of_is_refused(self):
        self.module("try: crashhook.install(relase='1')\n"
                    "except TypeError as error: assert 'relase' in str(error), error\n"
                    "else: assert False")

    def test_without_the_library_install_says_so_and_the_rest_does_nothing(self):
        self.module("crashhook.breadcrumb('a'); crashhook.set_tag('a', 'b')\n"
                    "try: crashhook.install()\n"
                    "except OSError: pass\n"
                    "else: assert False", LIBCRASHHOOK="/nonexistent.so")

    def test_tags_of_with_statements_nest(self):
        self.module("crashhook.install(spool='%s')\n"
                    "calls = []\n"
                    "crashhook.set_tag = lambda name, value: calls.append((name, value))\n"
                    "with crashhook.tag('a', '1'):\n"
                    "    with crashhook.tag('a', '2'): pass\n"
                    "assert calls == [('a', '1'), ('a', '2'), ('a', '1'), ('a', None)], calls\n"
                    % self.folder, LIBCRASHHOOK=HANDLER)

    def test_a_captured_stack_has_the_functions_of_c(self):
        self.module("import ctypes\n"
                    "from crashhook import backtrace\n"
                    "found = []\n"
                    "@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)\n"
                    "def compare(left, right):\n"
                    "    found.append(backtrace.capture().symbolicate())\n"
                    "    return 0\n"
                    "ctypes.CDLL(None).qsort(ctypes.create_string_buffer(2), 2, 1, compare)\n"
                    "frames = found[0].frames\n"
                    "images = [frame.image for frame in frames if frame.image]\n"
                    "assert any('qsort' in (frame.function or '') for frame in frames), frames\n"
                    "assert any(image.startswith('_ctypes') for image in images), images\n"
                    "assert '_ctypes' in str(found[0]) or '_Py' in str(found[0]), found[0]\n"
                    "assert len(backtrace.capture(limit=3).symbolicate().frames) >= 3\n",
                    LIBCRASHHOOK_BACKTRACE=BACKTRACE)

    def test_without_the_backtrace_library_a_capture_says_so(self):
        self.module("from crashhook import backtrace\n"
                    "try: backtrace.capture()\n"
                    "except OSError as error: assert '/nonexistent.so' in str(error), error\n"
                    "else: assert False", LIBCRASHHOOK_BACKTRACE="/nonexistent.so")

    def module(self, script, **variables):
        self.compile(["/usr/bin/python3", "-c", "import crashhook\n" + script],
                     env={**os.environ, **variables, "PYTHONDONTWRITEBYTECODE": "1",
                          "PYTHONPATH": os.path.join(BINDINGS, "python")})

    def test_it_knows_every_option(self):
        with open(os.path.join(BINDINGS, "python", "crashhook", "__init__.py"),
                  encoding="utf-8") as file:
            members = re.search(r"_MEMBERS = \((.*?)\)", file.read(), re.DOTALL).group(1)
        self.assertEqual(re.findall(r'"(\w+)"', members), option_members())


if __name__ == "__main__":
    harness.main()
