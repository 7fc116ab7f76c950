# SPDX-License-Identifier: Apache-2.0
#
# crashhook as a part of another project's CMake build: the agent comes with the library, the
# project's flags do no harm, and what is installed reports without anything else.

import ast
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import adopter
import harness
from harness import FULL, SOURCE, Scene

# What a strict project sets for itself, before it adds what it uses.
STRICT = """
cmake_minimum_required(VERSION 3.18)
project(shop LANGUAGES C)
include(GNUInstallDirs)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_UNITY_BUILD ON)
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_DEBUG_POSTFIX d)
set(CMAKE_BUILD_TYPE Debug)
set(BUILD_SHARED_LIBS ON)
add_compile_options(-Werror -Wall -Wextra -Wconversion -Wpedantic -funsigned-char)
foreach(name sources files flags name version program folder target options libraries)
    set(${name} the_projects_own)
endforeach()
foreach(name agent base bench check docs flight format handler lint site tests unwind)
    add_custom_target(${name})
endforeach()
%s
add_executable(shop program.c)
target_link_libraries(shop PRIVATE crashhook::crashhook_static)
add_executable(shop-shared program.c)
target_link_libraries(shop-shared PRIVATE crashhook::crashhook)
set_target_properties(shop-shared PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS shop shop-shared)
"""
FETCH = """
include(FetchContent)
FetchContent_Declare(crashhook URL file:///crashhook.tar.gz)
FetchContent_MakeAvailable(crashhook)
"""
MESON = """
project('shop', 'c', default_options: ['c_std=c11', 'werror=true', 'warning_level=3', 'unity=on',
                                       'b_lto=true', 'default_library=static', 'buildtype=debug'])
static = subproject('crashhook').get_variable('crashhook_static_dep')
executable('shop', 'program.c', dependencies: static, install: true)
executable('shop-shared', 'program.c', dependencies: subproject('crashhook').get_variable(
           'crashhook_dep'), install: true, install_rpath: '$ORIGIN/../lib')
"""
UNKNOWN = """
[binaries]
c = 'gcc'
[host_machine]
system = 'linux'
cpu_family = 'riscv64'
cpu = 'riscv64'
endian = 'little'
"""
INSTALLED = ("libexec/crashhook/crashhook-agent", "lib*/libcrashhook.so", "lib*/libcrashhook.a",
             "include/crashhook/crashhook.h", "lib*/pkgconfig/crashhook-static.pc",
             "lib*/cmake/crashhook/crashhook-config.cmake")


class Embedding(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-embedding.")
        self.addCleanup(shutil.rmtree, self.folder)
        self.build = os.path.join(self.folder, "build")

    def configure(self, added, *options, generator="Ninja"):
        adopter.write(self.folder, "CMakeLists.txt", STRICT % added)
        adopter.write(self.folder, "program.c", adopter.PROGRAM)
        return adopter.run(self, "cmake", "-S", self.folder, "-B", self.build, "-G", generator,
                           *options)

    def make(self, *targets):
        adopter.run(self, "cmake", "--build", self.build, "-j", "2",
                    *(["--target", *targets] if targets else []))

    def crash_and_check(self, *places):
        for place in places:
            with self.subTest(place), Scene() as scene:
                said = adopter.crash(self, scene, os.path.join(*place))
                adopter.check_report(self, scene, said)

    def agent_below(self, folder):
        found = subprocess.run(["find", folder, "-name", "crashhook-agent", "-type", "f"],
                               check=True, text=True, stdout=subprocess.PIPE).stdout.split()
        self.assertEqual(len(found), 1)
        return found[0]

    def check_installed(self):
        prefix = os.path.join(self.folder, "prefix")
        adopter.run(self, "cmake", "--install", self.build, "--prefix", prefix)
        return self.check_prefix(prefix)

    def check_prefix(self, prefix):
        for pattern in INSTALLED:
            self.assertNotEqual(subprocess.run(["sh", "-c", f"ls {prefix}/{pattern}"], check=False,
                                               stdout=subprocess.PIPE).stdout, b"", pattern)
        shutil.rmtree(self.build)
        self.crash_and_check((prefix, "bin", "shop"), (prefix, "bin", "shop-shared"))
        moved = os.path.join(self.folder, "moved")
        os.rename(prefix, moved)
        self.crash_and_check((moved, "bin", "shop"), (moved, "bin", "shop-shared"))
        return moved

    def check_text(self, prefix):
        """Where no agent starts there is a record, which an agent prints."""
        agent = os.path.join(self.folder, "agent-elsewhere")
        os.rename(self.agent_below(prefix), agent)
        with Scene() as scene:
            said = adopter.crash(self, scene, os.path.join(prefix, "bin", "shop"))
            self.assertRegex(said, "SIGSEGV is not reported yet.*set CRASHHOOK_AGENT")
            record = os.path.join(scene.spool, os.listdir(scene.spool)[0])
            text = adopter.run(self, agent, "--to-text", record)
            self.assertRegex(text, r"shop: Write to 0x0, through a null pointer\n")
            self.assertRegex(text, r"\n +0  price_of\+0x[0-9a-f]+ in .*/shop\+0x")
            self.assertRegex(text, r"\n +1  main\+0x")
            with open(record, "r+b") as file:
                file.truncate(20)
            self.assertRegex(adopter.run(self, agent, "--to-text", record, fails=True),
                             "cannot read the record")
            nothing = adopter.run(self, agent, "--to-text", "/nonexistent", fails=True)
            self.assertEqual(nothing, "crashhook-agent: cannot open '/nonexistent': "
                                      "No such file or directory\n")

    def test_a_strict_project_builds_installs_and_is_reported_by_what_it_installed(self):
        said = self.configure(f"add_subdirectory({SOURCE} crashhook)")
        self.assertNotIn("Warning", said)
        with open(os.path.join(self.build, "CMakeCache.txt"), encoding="utf-8") as file:
            self.assertNotIn("_ARCHIVE:FILEPATH", file.read(), "the agent needs libc alone")
        self.make()
        self.crash_and_check((self.build, "shop"), (self.build, "shop-shared"))
        self.check_text(self.check_installed())

    @unittest.skipUnless(FULL, "builds the agent twice more")
    def test_a_part_that_is_excluded_from_all_comes_with_its_agent(self):
        self.configure(f"add_subdirectory({SOURCE} crashhook EXCLUDE_FROM_ALL)",
                       "-DCRASHHOOK_WITH_MUSL=OFF", generator="Ninja Multi-Config")
        self.make("shop")
        self.crash_and_check((self.build, "Debug", "shop"))

    @unittest.skipUnless(FULL, "builds the agent twice more")
    def test_a_part_that_is_fetched_is_installed_with_the_project(self):
        self.configure(FETCH, "-DFETCHCONTENT_SOURCE_DIR_CRASHHOOK=" + SOURCE)
        self.make()
        self.check_installed()

    @unittest.skipUnless(FULL, "builds the agent once more")
    def test_what_bazels_rule_has_cmake_do_installs_what_the_rule_gives_out(self):
        with open(os.path.join(SOURCE, "BUILD.bazel"), encoding="utf-8") as file:
            calls = [node for node in ast.walk(ast.parse(file.read()))
                     if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "cmake"]
        self.assertEqual(len(calls), 1)
        rule = {word.arg: ast.literal_eval(word.value) for word in calls[0].keywords}
        prefix = os.path.join(self.folder, "prefix")
        adopter.run(self, "cmake", "-S", SOURCE, "-B", self.build, "-G", "Ninja",
                    "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_PREFIX=" + prefix,
                    *(f"-D{name}={value}" for name, value in rule["cache_entries"].items()))
        self.make()
        adopter.run(self, "cmake", "--install", self.build)
        source = adopter.write(self.folder, "program.c", adopter.PROGRAM)
        program = os.path.join(prefix, "bin", "program")
        os.makedirs(os.path.dirname(program))
        self.assertEqual(rule["out_data_dirs"], ["libexec"])
        adopter.run(self, "gcc", "-g", "-I", os.path.join(prefix, "include"), source,
                    *(os.path.join(prefix, "lib", name) for name in rule["out_static_libs"]),
                    *rule["linkopts"], "-o", program)
        shutil.rmtree(self.build)
        self.crash_and_check((program,))

    def meson(self, program, *options):
        if shutil.which("meson") is None:
            self.skipTest("meson is not installed")
        adopter.write(self.folder, "meson.build", MESON)
        adopter.write(self.folder, "program.c", program)
        os.mkdir(os.path.join(self.folder, "subprojects"))
        os.symlink(SOURCE, os.path.join(self.folder, "subprojects", "crashhook"))
        return adopter.run(self, "meson", "setup", self.build, self.folder, "--libdir=lib",
                           *options) + adopter.run(self, "meson", "compile", "-C", self.build)

    def test_a_strict_project_of_meson_is_reported_by_the_agent_that_comes_with_it(self):
        prefix = os.path.join(self.folder, "prefix")
        self.meson(adopter.PROGRAM, "--prefix=" + prefix)
        self.crash_and_check((self.build, "shop"), (self.build, "shop-shared"))
        # A change of the agent's source has it built again.
        agent = "subprojects/crashhook/crashhook-agent"
        said = adopter.run(self, "ninja", "-C", self.build, "-t", "query", agent)
        self.assertRegex(said, r"agent/main\.c\n")
        stage = os.path.join(self.folder, "a stage")
        adopter.run(self, "meson", "install", "-C", self.build, variables={"DESTDIR": stage})
        self.assertTrue(os.access(stage + prefix + "/libexec/crashhook/crashhook-agent", os.X_OK))
        adopter.run(self, "meson", "install", "-C", self.build)
        self.check_prefix(prefix)

    def test_an_unknown_processor_gets_a_library_of_meson_that_says_so(self):
        cross = adopter.write(self.folder, "cross.ini", UNKNOWN)
        said = self.meson(adopter.WITHOUT_HANDLER.replace("#include <crashhook/flight.h>\n", ""),
                          "--cross-file=" + cross)
        self.assertEqual(len(re.findall("crashhook: no handler for this processor", said)), 1)
        self.check_without_handler()

    def check_without_handler(self):
        for name in ("shop", "shop-shared"):
            done = subprocess.run([os.path.join(self.build, name)], check=False)
            self.assertEqual(done.returncode, 7)

    def test_an_unknown_processor_gets_a_library_that_says_so(self):
        said = self.configure(f"add_subdirectory({SOURCE} crashhook)", "-DCRASHHOOK_HAS_HANDLER=OFF")
        self.assertEqual(len(re.findall("crashhook: no handler for this processor", said)), 1)
        adopter.write(self.folder, "program.c", adopter.WITHOUT_HANDLER)
        self.make()
        self.check_without_handler()


if __name__ == "__main__":
    harness.main()
