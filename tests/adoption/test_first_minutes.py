# SPDX-License-Identifier: Apache-2.0
#
# What somebody meets who has just installed crashhook: the command's first answers, the lines
# of `crashhook init`, and examples that are copied alone.

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import textwrap
import unittest

import adopter
import harness
from harness import AGENT, BUILD, CRASHHOOK, SOURCE, Scene

INDEXED = """
cmake_minimum_required(VERSION 3.18)
project(shop C)
%s
add_executable(shop program.c)
crashhook_index(shop CACHE ${CMAKE_BINARY_DIR}/symbols)
"""
PYTHON = """
import sys
def price_of(name):
    return {"apple": "1.2"}[name]
def cents(name):
    return int(price_of(name))
cents("apple" if sys.argv[1] == "1" else "pear")
"""
FOUND = {"PKG_CONFIG_PATH": os.path.join(BUILD, "lib", "pkgconfig"), "CMAKE_PREFIX_PATH": BUILD}


def said(*words):
    done = subprocess.run([CRASHHOOK, *words], check=False, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


class FirstMinutes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-minutes.")
        self.addCleanup(shutil.rmtree, self.folder)

    def init(self, **files):
        for name, text in files.items():
            adopter.write(self.folder, name, text)
        status, lines, wrong = said("init", self.folder)
        self.assertEqual((status, wrong), (0, ""))
        return lines

    def test_help_and_version_have_their_short_options(self):
        self.assertEqual(said("-h"), said("--help"))
        self.assertEqual(said("list", "-h"), said("list", "--help"))
        self.assertEqual(said("symbols", "-h"), said("symbols", "--help"))
        self.assertEqual(said("-V"), said("--version"))
        self.assertEqual(said("-V")[0], 0)

    def test_a_misspelled_command_is_answered_by_the_one_that_was_meant(self):
        for word, meant in (("lits", "list"), ("docter", "doctor"), ("symbol", "symbols"),
                            ("shw", "show")):
            self.assertEqual(said(word), (2, "", f"crashhook: there is no command '{word}': "
                                                 f"did you mean '{meant}'?\n"))
        self.assertEqual(said("frobnicate"), (2, "", "crashhook: there is no command "
                                                     "'frobnicate': see crashhook --help\n"))

    def test_a_folder_that_is_not_there_is_not_taken_for_one_without_a_build(self):
        status, lines, wrong = said("init", os.path.join(self.folder, "shpo"))
        self.assertEqual((status, lines), (1, ""))
        self.assertIn("/shpo': No such file or directory", wrong)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_root_leaves_the_demo_to_the_user_who_owns_the_tree(self):
        tree = os.path.join(self.folder, "tree")
        os.mkdir(tree)

        def check(user, why):
            said = adopter.run(self, os.path.join(SOURCE, "packaging", "as-owner"), "id", "-u",
                               folder=tree)
            self.assertEqual(said, f"{user}\n", why)

        check(0, "it is root's")
        os.chown(tree, 4711, 4711)
        check(0, "its owner cannot get there")
        os.chmod(self.folder, 0o755)
        check(4711, "it is another user's")
        os.mkdir(tree + "/build")
        check(0, "what root has built is root's to build again")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_root_installs_what_the_user_who_owns_the_tree_has_built(self):
        tree = os.path.join(self.folder, "tree")
        shutil.copytree(os.path.join(SOURCE, "packaging"), os.path.join(tree, "packaging"))
        shutil.copy(os.path.join(SOURCE, "Makefile"), tree)
        tool = adopter.write(self.folder, "tools/cmake", '#!/bin/sh\n[ "$1" = --version ] || echo '
                             '"as $(id -u): $1"\necho "cmake version 3.25.1"\n')
        os.chmod(tool, 0o755)
        adopter.write(tree, "packaging/build-needs.txt", "command:cmake>=3.25 cmake cmake cmake\n")
        subprocess.run(["chown", "-R", "4711:4711", tree], check=True)
        os.chmod(self.folder, 0o755)
        said = adopter.run(self, "make", "install", folder=tree, variables={
            "PATH": os.path.dirname(tool) + ":" + os.environ["PATH"]})
        self.assertEqual(re.findall("as (.*)", said), ["4711: --preset", "4711: --build"] * 2 +
                         ["0: --install"], said)

    def test_init_says_what_to_do_where_no_build_is_known(self):
        self.assertIn("    crashhook run -- PROGRAM\n", self.init())

    def test_the_lines_for_cmake_build_a_program_that_is_reported(self):
        lines = self.init(**{"CMakeLists.txt": "", "program.c": adopter.PROGRAM})
        added = "".join(line[4:] + "\n" for line in lines.splitlines() if line.startswith("    "))
        adopter.write(self.folder, "CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\n"
                      "project(shop C)\nset(CMAKE_BUILD_TYPE Debug)\nadd_executable(shop program.c)\n"
                      + added.replace("PROGRAM", "shop"))
        adopter.run(self, "cmake", "-S", self.folder, "-B", self.folder + "/b", variables=FOUND)
        adopter.run(self, "cmake", "--build", self.folder + "/b")
        with Scene() as scene:
            adopter.check_report(self, scene, adopter.crash(self, scene, self.folder + "/b/shop"))

    def index(self, flags, found="find_package(crashhook REQUIRED)"):
        """Builds a program with an index, and returns what the build said."""
        adopter.write(self.folder, "program.c", adopter.PROGRAM)
        adopter.write(self.folder, "CMakeLists.txt", INDEXED % found)
        told = adopter.run(self, "cmake", "-S", self.folder, "-B", self.folder + "/b",
                           "-DCMAKE_C_FLAGS=" + flags, variables=FOUND)
        return told + adopter.run(self, "cmake", "--build", self.folder + "/b")

    def test_a_program_that_its_build_indexed_has_lines_when_it_is_stripped(self):
        self.assertIn("b/shop: indexed\n", self.index("-g"))
        adopter.run(self, "strip", "-g", self.folder + "/b/shop")
        with Scene() as scene:
            os.makedirs(scene.folder + "/cache/crashhook")
            os.rename(self.folder + "/b/symbols", scene.folder + "/cache/crashhook/symbols")
            ended = scene.run([self.folder + "/b/shop"], XDG_CACHE_HOME=scene.folder + "/cache")
            self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
            adopter.check_report(self, scene)

    def test_a_build_goes_on_whose_program_cannot_be_indexed(self):
        self.assertIn("no debug information", self.index("-g0"))
        self.assertTrue(os.path.exists(self.folder + "/b/shop"))

    def test_a_build_without_the_command_goes_on(self):
        nowhere = "".join(f"set(CMAKE_FIND_USE_{place}_PATH OFF)\n" for place in (
            "CMAKE_ENVIRONMENT", "CMAKE_SYSTEM", "SYSTEM_ENVIRONMENT"))
        self.assertIn("crashhook_index(shop): no crashhook command; set CRASHHOOK_COMMAND to it",
                      self.index("-g", f"{nowhere}include({SOURCE}/packaging/"
                                 "crashhook-index.cmake)"))

    def test_the_lines_for_make_build_a_program_that_is_reported(self):
        lines = self.init(Makefile="", **{"program.c": adopter.PROGRAM})
        added = "".join(line[4:] + "\n" for line in lines.splitlines() if line.startswith("    "))
        adopter.write(self.folder, "Makefile", "CFLAGS = -g\n" + added + "program: program.c\n")
        adopter.run(self, "make", "program", folder=self.folder, variables=FOUND)
        with Scene() as scene:
            adopter.check_report(self, scene, adopter.crash(self, scene, self.folder + "/program"))

    def test_init_names_the_bindings_that_are_there(self):
        lines = self.init(**{"Cargo.toml": "", "package.json": "", "pyproject.toml": ""})
        folders = re.findall(r"/\S+/(?:rust|node|python)\b", lines)
        self.assertEqual([os.path.basename(folder) for folder in folders], ["rust", "node", "python"])
        for folder in folders:
            self.assertTrue(os.path.isdir(folder), lines)

    def test_the_lines_for_go_build_a_program_that_is_reported(self):
        if shutil.which("go") is None or " " in BUILD:
            self.skipTest("go is not installed, or cgo takes no path with a space")
        lines = self.init(**{"go.mod": "module shop.invalid/shop\n\ngo 1.19\n"})
        taken, call, *commands = [line[4:] for line in lines.splitlines() if line.startswith("    ")]
        adopter.write(self.folder, "main.go", f"package main\n\n{taken}\n\nfunc priceOf(prices []int) "
                      "int { return prices[9] }\n\nfunc main() {\n\t" + call +
                      "\n\tif err == nil {\n\t\tprintln(priceOf(nil))\n\t}\n}\n")
        for command in [*commands, "go build -o shop ."]:
            adopter.run(self, *command.split(), folder=self.folder, variables={
                **FOUND, "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOCACHE": self.folder + "/cache"})
        with Scene() as scene:
            scene.preload = None
            ended = scene.run([self.folder + "/shop"])
            self.assertEqual(ended.signal, signal.SIGABRT, ended.stderr)
            self.assertIn("main.priceOf", scene.command("show").stdout)

    def test_the_first_lines_for_python_group_exceptions_by_type_and_function(self):
        with open(os.path.join(SOURCE, "bindings", "python", "README.md"), encoding="utf-8") as file:
            lines = re.search(r"((?:    .*\n)+)", file.read())[1]
        program = adopter.write(self.folder, "shop.py", textwrap.dedent(lines) + PYTHON)
        with Scene() as scene:
            scene.preload = None
            for number in "012":
                ended = scene.run(["/usr/bin/python3", program, number],
                                  PYTHONPATH=os.path.join(SOURCE, "bindings", "python"),
                                  LIBCRASHHOOK=harness.HANDLER, CRASHHOOK_AGENT=AGENT)
                self.assertEqual(ended.status, 1, ended.stderr)
            listed = json.loads(scene.command("list", "--json").stdout)
            self.assertEqual([entry["exit_status"] for entry in listed], [1, 1, 1])
            self.assertEqual(listed[0]["group"], listed[2]["group"])
            self.assertNotEqual(listed[0]["group"], listed[1]["group"])
            self.assertEqual(scene.command("list").stdout.count("  exit 1 "), 3)
            self.assertRegex(scene.command("show").stdout, r": exit status 1\nKeyError: 'pear'\n")

    def test_an_example_that_is_copied_alone_builds(self):
        ways = {"cmake": (["cmake", "-S", ".", "-B", "b"], ["cmake", "--build", "b"]),
                "meson": (["meson", "setup", "b"], ["meson", "compile", "-C", "b"])}
        for name, commands in ways.items():
            if shutil.which(name) is None:
                continue
            with self.subTest(name), Scene() as scene:
                folder = os.path.join(self.folder, name)
                subprocess.run(["cp", "-r", os.path.join(SOURCE, "examples", "adopting", name),
                                folder], check=True)
                for command in commands:
                    adopter.run(self, *command, folder=folder, variables=FOUND)
                scene.preload = None
                ended = scene.run(["sh", "-c", f"echo pear | {folder}/b/service; exit $?"],
                                  CRASHHOOK_AGENT=AGENT)
                self.assertEqual(ended.status, 139, ended.stderr)
                self.assertIn("total_in_cents at", scene.command("show").stdout)

    def test_each_copy_of_the_service_is_the_same(self):
        place = os.path.join(SOURCE, "examples", "adopting")
        with open(os.path.join(place, "service.c"), encoding="utf-8") as file:
            text = file.read()
        for name in ("bazel", "cmake", "cmake-fetch", "cmake-subdirectory", "meson"):
            path = os.path.join(place, name, "service.c")
            self.assertFalse(os.path.islink(path), path)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), text, path)


if __name__ == "__main__":
    harness.main()
