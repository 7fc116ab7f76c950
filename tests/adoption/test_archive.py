# SPDX-License-Identifier: Apache-2.0
#
# libcrashhook.a and the headers, under the flags and linkers that programs are built with.
# CRASHHOOK_FULL=1 builds the archive in every way; otherwise in one, beside the build's own.

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import adopter
import harness
from harness import AGENT, BUILD, FULL, SOURCE, Scene

LINKERS = ("bfd", "gold", "lld", "mold")
SHAPES = ("", "-static", "-static-pie", "-fvisibility=hidden -Wl,--gc-sections")
# How the flags of distributions and of programs would have the archive be built.
ARCHIVES = {
    "gcc's fat LTO": ("gcc", "-O2 -flto=auto -ffat-lto-objects"),
    "gcc's LTO": ("gcc", "-O2 -flto=auto"),
    "clang's LTO": ("clang", "-O2 -flto"),
    "clang's thin LTO": ("clang", "-O2 -flto=thin"),
    "sanitizers": ("gcc", "-O1 -fsanitize=address,undefined"),
}
# Processors without a handler: the prefix of Debian's cross compiler, and qemu's name.
STUBS = (("riscv64-linux-gnu", "riscv64"), ("powerpc64le-linux-gnu", "ppc64le"),
         ("s390x-linux-gnu", "s390x"), ("arm-linux-gnueabihf", "arm"),
         ("i686-linux-gnu", "i386"))
LEAST_CASES = 6 if not FULL else 15  # for each linker that is installed
WARNINGS = ("-Werror -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow "
            "-Wcast-qual -Wcast-align -Wundef -Wformat=2").split()
C_CALLER = """
#include <crashhook/crashhook.h>
#include <crashhook/flight.h>
#include <crashhook/backtrace.h>
#include <crashhook/backtrace_symbols.h>
#include <crashhook/backtrace_values.h>
int main(void)
{
    struct crashhook_options options = CRASHHOOK_DEFAULTS;
    options.release = "1.2.3";
    return crashhook_install(&options) != 0 || crashhook_watch("o", &options, "int") != 0;
}
"""
CXX_CALLER = """
#include <crashhook/crashhook.hpp>
int main()
{
    crashhook::scoped_tag tag("order", "17");
    crashhook::scoped_breadcrumb work("pricing");
    if (crashhook::settings().set(&crashhook_options::release, "1.4.2").try_install() != 0)
        return 1;
    crashhook::breadcrumb("begun");
    return 0;
}
"""


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="crashhook-archive.")
        cls.program = adopter.write(cls.folder, "program.c", adopter.PROGRAM)
        cls.cases = 0

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def make_archive(self, name):
        compiler, flags = ARCHIVES[name]
        if shutil.which(compiler) is None:
            return None
        folder = os.path.join(self.folder, re.sub(r"\W+", "-", name))
        adopter.run(self, "cmake", "-S", SOURCE, "-B", folder, "-G", "Ninja",
                    "-DCRASHHOOK_ONLY_HANDLER=ON", "-DCRASHHOOK_TESTS=OFF",
                    "-DCMAKE_C_COMPILER=" + compiler, "-DCMAKE_C_FLAGS=" + flags)
        adopter.run(self, "cmake", "--build", folder, "--target", "crashhook_static")
        return os.path.join(folder, "lib", "libcrashhook.a")

    def link_and_crash(self, archive, compiler, linker, flags):
        made = os.path.join(self.folder, "program")
        adopter.run(self, compiler, "-g", *flags.split(), "-fuse-ld=" + linker, self.program,
                    "-Wl,-u,crashhook_install", archive, "-pthread", "-o", made)
        with Scene() as scene:
            said = adopter.crash(self, scene, made, CRASHHOOK_AGENT=AGENT)
            adopter.check_report(self, scene, said)
        type(self).cases += 1

    def test_each_linker_makes_each_shape_of_program_of_each_archive(self):
        archives = {"the build's": os.path.join(BUILD, "lib", "libcrashhook.a")}
        for name in ARCHIVES if FULL else list(ARCHIVES)[:1]:
            archives[name] = self.make_archive(name)
        for name, archive in archives.items():
            if archive is None:
                continue
            for linker in LINKERS:
                if shutil.which({"mold": "mold"}.get(linker, "ld." + linker)) is None:
                    print(f"skipped: {linker} is not installed")
                    continue
                for shape in SHAPES:
                    # gcc passes gold an option for this that gold has not.
                    if (linker, shape) == ("gold", "-static-pie"):
                        continue
                    with self.subTest(archive=name, linker=linker, shape=shape):
                        self.link_and_crash(archive, "gcc", linker, shape)
        for compiler, linker, flags in (("gcc", "bfd", "-O2 -flto -fno-inline"),
                                        ("clang", "lld", "-O2 -flto=thin -fno-inline")):
            if shutil.which(compiler) is not None and shutil.which("ld." + linker) is not None:
                with self.subTest(program=flags):
                    self.link_and_crash(archives["the build's"], compiler, linker, flags)
        print(f"{self.cases} programs linked and crashed")
        found = [linker for linker in LINKERS if shutil.which(
            {"mold": "mold"}.get(linker, "ld." + linker)) is not None]
        self.assertGreaterEqual(self.cases, LEAST_CASES * len(found))

    def test_a_static_program_that_aborts_is_reported_with_its_message(self):
        source = adopter.write(self.folder, "asserts.c", """
#include <assert.h>
static volatile int stock;
int main(void)
{
    assert(stock == 1);
}
""")
        for flags in ("", "-static", "-static-pie"):
            for linker in ("bfd", "mold"):
                if shutil.which({"mold": "mold"}.get(linker, "ld." + linker)) is None:
                    continue
                made = os.path.join(self.folder, "asserts")
                adopter.run(self, "gcc", "-g", *flags.split(), "-fuse-ld=" + linker, source,
                            "-Wl,-u,crashhook_install", "-s",
                            os.path.join(BUILD, "lib", "libcrashhook.a"), "-o", made)
                with self.subTest(flags=flags, linker=linker), Scene() as scene:
                    scene.preload = None
                    ended = scene.run(made, CRASHHOOK_AGENT=AGENT)
                    self.assertEqual(ended.signal, 6, ended.stderr)
                    self.assertIn("stock == 1", scene.reports()[0]["crash"]["message"])

    def test_doctor_knows_a_dynamic_program_that_holds_the_archive(self):
        made = os.path.join(self.folder, "held")
        adopter.run(self, "gcc", "-g", self.program, "-Wl,-u,crashhook_install",
                    os.path.join(BUILD, "lib", "libcrashhook.a"), "-o", made)
        with Scene() as scene:
            said = scene.command("doctor", "--", made).stdout
            self.assertNotIn("sanitizer", said)
            self.assertRegex(said, "TROUBLE program .*it holds the handler.*no agent is beside it")
            os.symlink(AGENT, os.path.join(self.folder, "crashhook-agent"))
            self.addCleanup(os.unlink, os.path.join(self.folder, "crashhook-agent"))
            self.assertRegex(scene.command("doctor", "--", made).stdout,
                             "ok +program .*it holds the handler")

    def test_a_processor_without_a_handler_gets_a_library_that_says_so(self):
        there = [(target, machine) for target, machine in STUBS
                 if shutil.which(target + "-gcc") and shutil.which(f"qemu-{machine}-static")]
        if not there:
            self.skipTest("no cross compiler, or no qemu-user-static")
        caller = adopter.write(self.folder, "stub.c", adopter.WITHOUT_HANDLER)
        for target, machine in there if FULL else there[:1]:
            with self.subTest(target):
                folder = os.path.join(self.folder, target)
                said = adopter.run(
                    self, "cmake", "-S", SOURCE, "-B", folder, "-G", "Ninja",
                    "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=" + machine,
                    f"-DCMAKE_C_COMPILER={target}-gcc", "-DCRASHHOOK_ONLY_HANDLER=ON",
                    "-DCRASHHOOK_TESTS=OFF", "-DCRASHHOOK_WERROR=ON")
                self.assertIn(f"crashhook: no handler for this processor ({machine})", said)
                adopter.run(self, "cmake", "--build", folder)
                made = os.path.join(folder, "stub")
                adopter.run(self, target + "-gcc", "-static", "-I", SOURCE + "/include", caller,
                            folder + "/lib/libcrashhook.a", "-o", made)
                done = subprocess.run([f"qemu-{machine}-static", made], check=False)
                self.assertEqual(done.returncode, 7)

    def test_headers_take_every_standard_and_all_warnings(self):
        caller = adopter.write(self.folder, "caller.c", C_CALLER)
        cases = [(c, "c", std) for c in ("gcc", "clang") for std in ("c11", "c17", "c2x")]
        cases += [(c, "c++", std) for c in ("g++", "clang++")
                  for std in ("c++14", "c++17", "c++20", "c++2b")]
        tried = 0
        for compiler, language, standard in cases:
            if shutil.which(compiler) is None:
                continue
            with self.subTest(compiler=compiler, standard=standard):
                adopter.run(self, compiler, "-x", language, "-std=" + standard, *WARNINGS,
                            "-fsyntax-only", "-I", os.path.join(SOURCE, "include"), caller)
                tried += 1
        self.assertGreaterEqual(tried, 7)

    def test_the_header_for_cpp_takes_all_warnings_from_cpp_17_on(self):
        caller = adopter.write(self.folder, "caller.cc", CXX_CALLER)
        for compiler in ("g++", "clang++"):
            for standard in ("c++17", "c++20", "c++2b"):
                if shutil.which(compiler) is None:
                    continue
                with self.subTest(compiler=compiler, standard=standard):
                    adopter.run(self, compiler, "-std=" + standard, *WARNINGS, "-fsyntax-only",
                                "-I", os.path.join(SOURCE, "include"), caller)


if __name__ == "__main__":
    harness.main()
