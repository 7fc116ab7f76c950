# SPDX-License-Identifier: Apache-2.0
#
# Arguments in the frames of a program that crashes: from DWARF, and from CTF with what
# the code proves; each says what it rests on. How often they are right is measured in
# tests/symbolizer/check_arguments.py.

import os
import platform
import shutil
import subprocess
import unittest

import harness
from harness import Scene

CASES = os.path.join(harness.SOURCE, "tests", "cases", "types")


def compile_program(scene, *flags, name="called", compiler="gcc"):
    path = os.path.join(scene.folder, name)
    subprocess.run([compiler, "-w", *flags, os.path.join(CASES, f"{name}.c"), "-o", path],
                   check=True)
    return path


def arguments(scene, path, **variables):
    """Each function's arguments, and the report."""
    ended = scene.run([path], **variables)
    reports = scene.reports()
    assert len(reports) == 1, ended.stderr
    frames = harness.frames_of(harness.crashed_thread(reports[0]))
    return {f["function"]: f.get("arguments") for f in frames if "function" in f}, reports[0]


def decompressed(cache, path):
    """Where the caches have the debug information of path, decompressed."""
    notes = subprocess.run(["readelf", "-n", path], check=True, capture_output=True,
                           text=True).stdout
    build_id = notes.split("Build ID:")[1].split()[0]
    return os.path.join(cache, "crashhook", "symbols", build_id + "-plain")


def values(found):
    return [a.get("value", a.get("entry_value")) for a in found]


def plain(found):
    """Arguments without what differs between two runs: addresses."""
    return {name: [{k: v for k, v in a.items() if not isinstance(v, (str, dict)) or
                    k in ("name", "type", "confidence", "source", "reason")}
                   for a in listed or []] for name, listed in found.items()}


@unittest.skipUnless(platform.machine() == "x86_64", "arguments are those of x86-64")
class Arguments(unittest.TestCase):
    def check_leaf(self, found):
        shown = values(found)
        self.assertEqual(shown[0], 4)
        self.assertEqual(shown[4], {"x": [1, 2, 3, 4, 5]})
        self.assertEqual(shown[5:], [5, 6, 7, 8])

    def test_arguments_are_exact_from_dwarf(self):
        for level in "-O0", "-O1", "-O2":
            with Scene() as scene:
                found, _ = arguments(scene, compile_program(scene, "-g", level))
                self.check_leaf(found["leaf"])
                names = [a["name"] for a in found["leaf"]]
                self.assertEqual(names[:5], ["n", "text", "p", "d", "b"])
                self.assertEqual(values(found["outer"])[0], 1)
                for each in found["leaf"] + found["middle"] + found["outer"]:
                    self.assertIn(each["confidence"], ("exact", "proved", "unavailable"))
                    self.assertEqual("reason" in each, each["confidence"] == "unavailable")

    def test_arguments_of_units_that_refer_to_each_other(self):
        with Scene() as scene:
            # Units that have each kind of types, and all of C's input and output.
            others = []
            for name in "signal", "sys/stat":
                others.append(os.path.join(scene.folder, os.path.basename(name) + ".c"))
                with open(others[-1], "w", encoding="ascii") as file:
                    file.write(f"#include <{name}.h>\n#include <stdio.h>\n")
            path = compile_program(scene, "-g", "-O1", "-fno-eliminate-unused-debug-types",
                                   *others, name="shared")
            subprocess.run(["dwz", path], check=True)
            found, _ = arguments(scene, path)
            self.assertEqual([a["type"] for a in found["leaf"]],
                             ["struct stat *", "stack_t *"])
            status, stack = values(found["outer"])
            self.assertEqual(status["st_mtim"], {"tv_sec": 8, "tv_nsec": 9})
            self.assertEqual(stack["ss_size"], 4)

    def test_arguments_of_a_function_within_another_one(self):
        with Scene() as scene:
            path = compile_program(scene, "-g", "-O0", name="nested")
            found, _ = arguments(scene, path)
            self.assertEqual(values(found["inner"]), [5])
            self.assertEqual(values(found["outer"]), [4])

    def check_inlined(self, found, constant):
        """Frames of inlined calls, and of the function they are in."""
        by_name = {name: {a["name"]: a for a in found[name]} for name in
                   ("put_total", "add_line", "total_of")}
        self.assertEqual([a["name"] for a in found["put_total"]],
                         ["where", "total", "checked"])
        self.assertEqual(by_name["put_total"]["total"]["value"], 214)
        self.assertEqual(by_name["put_total"]["checked"]["value"], -3)
        self.assertEqual(by_name["put_total"]["checked"]["source"], constant)
        self.assertEqual(by_name["add_line"]["price"]["value"], 107)
        self.assertEqual(by_name["add_line"]["cart"]["value"],
                         by_name["total_of"]["cart"]["value"])
        self.assertEqual(by_name["total_of"]["amount"]["value"], 7)

    def test_calls_that_were_inlined_have_their_own_arguments(self):
        for flags in ["-O2"], ["-O1"], ["-O2", "-gdwarf-4"], ["-O2", "-flto"]:
            with Scene() as scene:
                path = compile_program(scene, "-g", *flags, name="inlined")
                found, _ = arguments(scene, path)
                self.check_inlined(found, "dwarf-location")
                self.assertEqual(found["put_total"][0]["value"], "0x8")

    def test_an_argument_that_is_always_the_same_is_known_without_a_place(self):
        if shutil.which("clang") is None:
            self.skipTest("no clang")
        with Scene() as scene:
            path = compile_program(scene, "-g", "-O2", name="inlined", compiler="clang")
            found, _ = arguments(scene, path)
            self.check_inlined(found, "dwarf-constant")

    def test_an_argument_that_an_inlined_call_does_not_have_says_so(self):
        with Scene() as scene:
            path = compile_program(scene, "-g", "-O2", name="inlined")
            found, _ = arguments(scene, path)
            unused = found["add_line"][2]
            self.assertEqual((unused["name"], unused["type"]), ("unused", "int"))
            self.assertEqual((unused["confidence"], unused["reason"]),
                             ("unavailable", "optimized-out"))

    def test_main_is_shown_what_it_was_started_with(self):
        with Scene() as scene:
            found, report = arguments(scene, compile_program(scene, "-g", "-O2"))
            count, words = found["main"]
            self.assertEqual(count["name"], "argc")
            self.assertEqual(count["entry_value"], 1)
            self.assertEqual(words["confidence"], "exact")
            stack = int(report["threads"][0]["registers"]["rsp"], 16)
            self.assertGreater(int(words["entry_value"], 16), stack)
            started = [name for name in found if name.startswith("__libc_start")]
            self.assertEqual([found[name] for name in started], [None] * len(started))

    def check_crowd(self, report):
        descents = [[frame for frame in harness.frames_of(thread)
                     if frame.get("function") == "descend"] for thread in report["threads"]]
        with_arguments = [sum("arguments" in frame for frame in frames) for frames in descents]
        # Of the crashed thread all have them, and those past the budget are told of.
        self.assertEqual((len(descents), with_arguments[0]), (151, 30))
        self.assertTrue(0 < sum(with_arguments) < 151 * 30, with_arguments)
        told = [problem["status"] for problem in report["problems"]
                if problem["stage"] == "values"]
        self.assertEqual(len(told), 1, report["problems"])
        self.assertIn("variables are left out of", told[0])
        return descents[0]

    def test_frames_past_the_budget_have_none_and_the_report_says_so(self):
        with Scene() as scene:
            path = compile_program(scene, "-g", "-O2", "-fno-optimize-sibling-calls", "-pthread",
                                   name="crowd")
            _, report = arguments(scene, path)
            self.check_crowd(report)

    def test_what_was_passed_is_followed_through_thirty_callers(self):
        with Scene() as scene:
            path = compile_program(scene, "-g", "-O2", "-fno-optimize-sibling-calls", "-pthread",
                                   name="crowd")
            _, report = arguments(scene, path)
            passed = [frame["arguments"][0].get("entry_value") for frame in
                      self.check_crowd(report)]
            self.assertEqual(passed, list(range(1, 31)))

    def test_compressed_debug_information_is_decompressed_once(self):
        with Scene() as scene, Scene() as again, Scene() as damaged:
            cache = os.path.join(scene.folder, "cache")
            path = compile_program(scene, "-g", "-O2", "-gz=zlib")
            first, _ = arguments(scene, path, XDG_CACHE_HOME=cache)
            self.check_leaf(first["leaf"])
            kept = decompressed(cache, path)
            subprocess.run(["strip", "--strip-debug", path], check=True)
            second, _ = arguments(again, path, XDG_CACHE_HOME=cache)
            self.check_leaf(second["leaf"])
            self.assertEqual(first["outer"][0], second["outer"][0])
            os.truncate(kept, os.path.getsize(kept) // 2)
            third, report = arguments(damaged, path, XDG_CACHE_HOME=cache)
            self.assertEqual(third["leaf"], None)
            self.assertEqual(report["problems"], [])
            self.assertFalse(os.path.exists(kept))

    def test_debug_information_that_zstd_compressed_has_the_arguments(self):
        with Scene() as scene, Scene() as without_cache:
            path = compile_program(scene, "-g", "-O2")
            subprocess.run(["objcopy", "--compress-debug-sections=zstd", path], check=True)
            first, _ = arguments(scene, path, XDG_CACHE_HOME=scene.folder)
            self.check_leaf(first["leaf"])
            second, report = arguments(without_cache, path, XDG_CACHE_HOME="/proc")
            self.assertEqual(plain(first), plain(second))
            self.assertEqual(report["problems"], [])

    def test_a_symbol_cache_leads_to_the_same_arguments(self):
        for name, level in ("called", "-O0"), ("called", "-O2"), ("removed", "-O2"):
            with Scene() as scene, Scene() as again:
                path = compile_program(scene, "-g", level, name=name)
                first, _ = arguments(scene, path, XDG_CACHE_HOME=scene.folder)
                subprocess.run([harness.CRASHHOOK, "symbols", "index", path], check=True,
                               env={**os.environ, "XDG_CACHE_HOME": again.folder})
                second, report = arguments(again, path, XDG_CACHE_HOME=again.folder)
                self.assertEqual(report["problems"], [])
                self.assertEqual(plain(first), plain(second))

    def test_what_another_function_was_passed_is_not_shown_behind_a_tail_call(self):
        with Scene() as scene:
            found, report = arguments(scene, compile_program(scene, "-g", "-O2"))
            self.assertNotIn("tail", found)
            frames = harness.frames_of(harness.crashed_thread(report))
            self.assertEqual([f["function"] for f in frames if f.get("tail_call")], ["middle"])
            for each in found["middle"][:2]:
                self.assertNotIn("entry_value", each)
            # This one it passed on to a function that has it still.
            self.assertEqual(found["middle"][2]["entry_value"], found["leaf"][1]["value"])

    def test_a_parameter_that_the_compiler_removed_is_what_the_caller_says(self):
        with Scene() as scene:
            path = compile_program(scene, "-g", "-O2", name="removed")
            found, report = arguments(scene, path)
            self.assertEqual({a["name"]: a.get("value") for a in found["kept"]},
                             {"number": 1, "removed": 41})
            frames = harness.frames_of(harness.crashed_thread(report))
            self.assertEqual([(v["name"], v["value"]) for v in frames[0]["locals"]],
                             [("twice", 83)])

    def test_ctf_shows_what_the_code_proves_and_no_more(self):
        for strip in False, True:
            with Scene() as scene:
                path = compile_program(scene, "-gctf", "-O2", "-rdynamic",
                                       "-Wl,--ctf-variables")
                if strip:
                    subprocess.run(["strip", "-s", path], check=True)
                found, _ = arguments(scene, path)
                self.check_leaf(found["leaf"])
                by_stack = [a for a in found["leaf"] if a["source"] == "abi-stack"]
                self.assertEqual({a["confidence"] for a in by_stack}, {"likely"})
                self.assertEqual(found["leaf"][3]["confidence"], "unavailable")
                for each in found["leaf"] + found["middle"] + found["outer"]:
                    self.assertIn(each["confidence"], ("proved", "likely", "unavailable"))
                    self.assertNotIn("value", each)
                copied = [a for a in found["outer"] if a["source"] == "saved-copy"]
                self.assertTrue(copied, found["outer"])

    def test_btf_shows_the_same_and_names_what_it_shows(self):
        with Scene() as scene:
            path = compile_program(scene, "-gbtf", "-O2", "-rdynamic")
            subprocess.run(["strip", "-s", path], check=True)
            found, _ = arguments(scene, path)
            self.check_leaf(found["leaf"])
            self.assertEqual([a["name"] for a in found["leaf"]][:5],
                             ["n", "text", "p", "d", "b"])

    def test_arguments_can_be_turned_off(self):
        with Scene() as scene:
            path = compile_program(scene, "-g", "-O2")
            found, _ = arguments(scene, path, CRASHHOOK_ARGUMENTS="no")
            self.assertEqual(set(found.values()), {None})

    def test_arguments_with_the_names_of_secrets_are_masked(self):
        with Scene() as scene:
            found, report = arguments(scene, compile_program(scene, "-g", "-O0"))
            self.assertEqual(found["middle"][2]["value"]["value"], "***")
            self.assertNotIn("hunter2", str(found["middle"]))

    def test_a_core_and_a_live_process_have_them_as_well(self):
        with Scene() as scene:
            path = compile_program(scene, "-g", "-O2")
            if not harness.cores_land_in_folder():
                self.skipTest("cores do not land in a folder here")
            scene.preload = None
            ended = scene.run([path], core=True)
            core = scene.core(ended.pid)
            shown = scene.command("core", core, "--exe", path).stdout
            self.assertIn("n = 4, text = ", shown)

    def test_show_prints_them_below_their_frame(self):
        with Scene() as scene:
            arguments(scene, compile_program(scene, "-g", "-O2"))
            shown = scene.command("show", scene.report_paths()[0]).stdout
            self.assertIn("a5 = 5, a6 = 6, a7 = 7, a8 = 8\n", shown)


if __name__ == "__main__":
    harness.main()
