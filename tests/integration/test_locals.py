# SPDX-License-Identifier: Apache-2.0
#
# Local variables, texts and the variable at fault in reports of crashes, in those of
# `attach`, and in those of core files. How often values are right is measured in
# tests/symbolizer/check_locals.py.

import json
import os
import platform
import shutil
import subprocess
import unittest

import harness
from harness import Scene

CASES = os.path.join(harness.SOURCE, "tests", "cases", "types")


def compile_case(scene, source, *flags):
    path = os.path.join(scene.folder, source.split(".")[0])
    compiler = ["g++", "-std=c++17"] if source.endswith(".cc") else ["gcc"]
    subprocess.run([*compiler, "-w", "-g", *flags, os.path.join(CASES, source), "-o", path],
                   check=True)
    return path


def frame_of(frames, function):
    found, = [f for f in frames if f.get("function", "").startswith(function)]
    return found


def by_name(variables):
    found = {}
    for variable in variables:
        found.setdefault(variable["name"], []).append(variable)
    return found


def report_of(scene, command, **variables):
    ended = scene.run(command, **variables)
    reports = scene.reports()
    assert len(reports) == 1, ended.stderr
    return reports[0]


@unittest.skipUnless(platform.machine() == "x86_64", "code of x86-64 is followed")
class Locals(unittest.TestCase):
    def check_serve(self, frames):
        serve = frame_of(frames, "serve")
        local = by_name(serve["locals"])
        self.assertEqual([v["value"] for v in local["shadowed"]], [77, 20])
        self.assertEqual([v["scope"] for v in local["shadowed"]], [3, 2])
        self.assertEqual(local["round"][0]["scope"], 1)
        self.assertNotIn("scope", local["result"][0])
        self.assertEqual(local["round"][0]["value"], 2)
        self.assertEqual(local["line"][0]["text"],
                         "alice, whose name is longer than that in round")
        self.assertEqual(local["line"][0]["confidence"], "exact")
        argument = by_name(serve["arguments"])
        self.assertEqual(argument["of"][0]["type"], "const struct order &")
        self.assertEqual(argument["of"][0]["value"]["id"], 42)
        self.assertEqual(argument["of"][0]["value"]["customer"],
                         "alice, whose name is longer than that")
        self.assertEqual(argument["kind"][0]["text"], "urgent")
        self.assertEqual(argument["password"][0]["text"], "***")
        main = by_name(frame_of(frames, "main")["locals"])
        self.assertEqual(main["heap"][0]["text"], "kept on the heap")
        self.assertEqual(main["secret"][0]["text"], "***")

    def test_local_variables_of_every_block_are_shown_with_their_text(self):
        with Scene() as scene:
            report = report_of(scene, [compile_case(scene, "texts.cc", "-O0")])
            self.check_serve(harness.frames_of(harness.crashed_thread(report)))
            shown = scene.command("show", scene.report_paths()[0]).stdout
            self.assertIn('line = "alice, whose name is longer than that in round"', shown)
            self.assertRegex(shown, r"in block 3: shadowed = 77,\n +in block 2: ")
            self.assertNotIn("hunter2", json.dumps(report))

    def test_a_live_process_shows_the_same(self):
        with Scene() as scene:
            path = compile_case(scene, "texts.cc", "-O0")
            with subprocess.Popen([path, "wait"], stdout=subprocess.PIPE,
                                  text=True) as process:
                self.assertEqual(process.stdout.readline(), "here\n")
                done = scene.command("attach", str(process.pid), "--json")
                process.kill()
            thread, = json.loads(done.stdout)["threads"]
            self.check_serve(thread["backtrace"]["frames"])

    def test_a_core_shows_the_same(self):
        if shutil.which("gdb") is None:
            self.skipTest("no gdb")
        with Scene() as scene:
            path = compile_case(scene, "texts.cc", "-O0")
            core = os.path.join(scene.folder, "core")
            subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off",
                            "-ex", "run", "-ex", f"generate-core-file {core}", path],
                           check=True, capture_output=True)
            done = scene.command("core", core, "--json")
            self.check_serve(json.loads(done.stdout)["threads"][0]["backtrace"]["frames"])

    def test_registers_that_functions_preserve_are_those_of_gdb(self):
        if shutil.which("gdb") is None:
            self.skipTest("no gdb")
        names = ("rbx", "rbp", "rsp", "r12", "r13", "r14", "r15")
        with Scene() as scene:
            path = compile_case(scene, "registers.c", "-O2")
            core = os.path.join(scene.folder, "core")
            asked = [f"printf \"%d {name} 0x%lx\\n\", {i}, ${name}"
                     for i in range(3) for name in names]
            shown = []
            for i in range(3):
                shown += ["-ex", f"frame {i}"]
                for question in asked[i * len(names):(i + 1) * len(names)]:
                    shown += ["-ex", question]
            done = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off",
                                   "-ex", "run", "-ex", f"generate-core-file {core}", *shown,
                                   path], check=True, capture_output=True, text=True)
            expected = {tuple(line.split()[:2]): line.split()[2]
                        for line in done.stdout.splitlines()
                        if len(line.split()) == 3 and line.split()[1] in names}
            self.assertEqual(len(expected), 3 * len(names))
            report = json.loads(scene.command("core", core, "--json").stdout)
            found = report["threads"][0]["frame_registers"]
            self.assertLessEqual(len(found), 8)
            for one in found[:3]:
                for name in names:
                    self.assertEqual(one["registers"][name],
                                     expected[str(one["frame"]), name], name)

    def test_variables_without_a_value_are_named_with_the_reason(self):
        with Scene() as scene:
            path = compile_case(scene, "registers.c", "-O2")
            report = report_of(scene, [path])
            main = frame_of(harness.frames_of(harness.crashed_thread(report)), "main")
            gone = by_name(main["locals"])["gone"][0]
            self.assertNotIn("value", gone)
            self.assertEqual(gone["reason"], "no-location")
            shown = scene.command("show", scene.report_paths()[0]).stdout
            self.assertIn("no value: gone, after: the compiler keeps it nowhere here", shown)
            innermost = frame_of(harness.frames_of(harness.crashed_thread(report)), "inner")
            counted = by_name(innermost["locals"])["counted"][0]
            self.assertEqual(counted["value"], 8)  # a thread local of the function
            self.assertIn("depth = 3 (2 when called)", shown)

    def test_numbers_in_vector_registers_are_shown(self):
        for via in "preload", "trace":
            with Scene() as scene:
                path = compile_case(scene, "texts.cc", "-O2")
                ended = scene.command("run", "--via", via, "--", path, TEXTS_SCALED="1")
                reports = scene.reports()
                self.assertEqual(len(reports), 1, ended.stderr)
                frames = harness.frames_of(harness.crashed_thread(reports[0]))
                argument = by_name(frame_of(frames, "scaled")["arguments"])
                self.assertEqual(argument["factor"][0]["value"], 1.5)
                self.assertEqual(argument["share"][0]["value"], 0.25)
                self.assertEqual(by_name(frame_of(frames, "scaled")["locals"])["sum"][0]["value"],
                                 6.0)

    def test_arrays_have_the_values_of_their_own_thread(self):
        with Scene() as scene:
            path = compile_case(scene, "arrays.c", "-O0", "-pthread")
            report = report_of(scene, [path])
            kinds = []
            for thread in report["threads"]:
                frames = harness.frames_of(thread)
                if not any(f.get("function") == "wait_with" for f in frames):
                    continue
                waits = frame_of(frames, "wait_with")
                kind = by_name(waits["arguments"])["kind"][0]["value"]
                local = by_name(waits["locals"])
                self.assertEqual(local["numbers"][0]["value"],
                                 [100 * kind + i for i in range(20)])
                self.assertEqual(local["grid"][0]["value"],
                                 [[10 * kind + i + k for i in range(3)] for k in (0, 3)])
                self.assertEqual(local["large"][0]["value"][1], 1000 * kind + 1)
                self.assertEqual(local["word"][0]["value"], f"kind {kind}")
                kinds.append(kind)
            self.assertEqual(sorted(kinds), 4 * [0] + 4 * [1] + 4 * [2])

    def test_nothing_of_it_is_there_where_arguments_are_not_wanted(self):
        with Scene() as scene:
            path = compile_case(scene, "at_fault.c", "-O0")
            report = report_of(scene, [path, "local"], CRASHHOOK_ARGUMENTS="no")
            for frame in harness.frames_of(harness.crashed_thread(report)):
                self.assertNotIn("locals", frame)
            self.assertNotIn("variable", report["crash"])


@unittest.skipUnless(platform.machine() == "x86_64", "code of x86-64 is followed")
class AtFault(unittest.TestCase):
    def check(self, how, expected, *flags, sentence=None):
        with Scene() as scene:
            report = report_of(scene, [compile_case(scene, "at_fault.c", *flags), how])
            crash = report["crash"]
            variable = crash.get("variable", {})
            self.assertEqual(variable.get("expression"), expected, (how, flags, crash))
            if expected is None:
                return
            self.assertEqual(variable["confidence"], "proved")
            frames = harness.frames_of(harness.crashed_thread(report))
            self.assertEqual(frames[variable["frame"]]["function"], "of_" + how)
            self.assertIn(sentence or f"`{expected}`", crash["summary"])

    def check_levels(self, how, expected, sentence=None):
        for level in "-O0", "-O1", "-O2":
            self.check(how, expected, level, sentence=sentence)

    def test_a_local_pointer_that_is_null_is_named(self):
        self.check_levels("local", "following", "`following`, a local of of_local, is null")

    @unittest.skipUnless(shutil.which("objcopy"), "no objcopy")
    def test_a_stripped_program_with_a_compressed_debug_file_has_its_variables_named(self):
        with Scene() as scene:
            path = compile_case(scene, "at_fault.c", "-O1")
            debug = path + ".debug"
            subprocess.run(["objcopy", "--only-keep-debug", "--compress-debug-sections", path,
                            debug], check=True)
            subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink=" + debug, path],
                           check=True)
            crash = report_of(scene, [path, "local"])["crash"]
        self.assertEqual(crash.get("variable", {}).get("expression"), "following", crash)

    def test_a_member_that_is_null_is_named_by_the_way_to_it(self):
        self.check_levels("member", "item->next->next", "`item->next->next` is null")

    def test_a_member_of_a_structure_in_a_structure_is_named(self):
        self.check_levels("nested", "item->stock.sizes", "`item->stock.sizes` is null")

    def test_a_divisor_is_named(self):
        self.check_levels("divisor", "parts", "`parts`, an argument of of_divisor, is 0")

    def test_a_callback_that_is_null_is_named(self):
        self.check("callback", "call", "-O0",
                   sentence="`call`, an argument of of_callback, is null")

    def test_a_global_pointer_is_named(self):
        self.check_levels("global", "first", "`first` is null")

    def test_an_argument_is_named_where_the_index_is_in_the_address(self):
        self.check_levels("argument", "numbers", "`numbers`, an argument of of_argument, is null")

    def test_an_index_outside_of_its_array_is_named_with_what_the_array_has(self):
        self.check_levels("index", "index",
                          "`index`, an argument of of_index, is 4,294,967,295, "
                          "the array `table` has 31")

    def test_a_pointer_that_the_c_library_was_passed_is_named(self):
        self.check_levels("library", "text", "`text`, an argument of of_library, is null")

    def test_a_value_that_no_variable_holds_is_given_to_the_function_that_returned_it(self):
        self.check_levels("result", "somewhere", "what somewhere returned is 0x41414141")


if __name__ == "__main__":
    harness.main()
