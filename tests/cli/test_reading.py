# SPDX-License-Identifier: Apache-2.0
#
# list, show and export, on reports of tests/cases/report. CRASHHOOK_ACCEPT=1 rewrites
# the expected texts there.

import fcntl
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import unittest

import cli_scene
from cli_scene import Scene, case, report_id


class Show(unittest.TestCase):
    maxDiff = None

    def check_text(self, name, expected, *arguments):
        with Scene() as scene:
            done = scene.run("show", case(name), *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        if os.environ.get("CRASHHOOK_ACCEPT") == "1":
            with open(case(expected), "w", encoding="utf-8") as file:
                file.write(done.stdout)
        with open(case(expected), encoding="utf-8") as file:
            self.assertEqual(done.stdout, file.read())

    def test_friendly_is_what_a_hurried_reader_needs(self):
        self.check_text("named.json", "named.friendly.txt", "--preset", "friendly")

    def test_medium_adds_stacks_and_images(self):
        self.check_text("named.json", "named.medium.txt", "--preset", "medium")

    def test_full_holds_everything(self):
        self.check_text("named.json", "named.full.txt", "--preset=full")

    def test_a_raw_report_reads_well_too(self):
        self.check_text("raw.json", "raw.friendly.txt", "--preset", "friendly")

    def test_nothing_in_a_report_can_steer_a_terminal(self):
        with Scene() as scene:
            for preset in ("friendly", "medium", "full"):
                text = scene.run("show", case("hostile.json"), "--preset", preset).stdout
                steering = re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", text)
                self.assertEqual(steering, [], preset)
                self.assertIn("\\x1b[31mred", text)

    def test_equal_stacks_are_folded_and_others_are_not(self):
        with Scene() as scene:
            text = scene.run("show", case("named.json")).stdout
            self.assertIn('3 threads with this stack: 4243 "worker-0", 4244', text)
            self.assertIn('Thread 4250 "flusher"', text)

    def test_a_report_of_one_thread_alone_can_be_asked_for(self):
        with Scene() as scene:
            text = scene.run("show", case("named.json"), "--threads", "crashed").stdout
            self.assertIn("slot_touch", text)
            self.assertNotIn("worker-0", text)

    def test_frames_left_out_are_counted_and_numbers_go_on(self):
        with Scene() as scene:
            text = scene.run("show", case("named.json")).stdout
            self.assertIn("... 936 frames omitted", text)
            self.assertIn("\n 940  main at ", text)

    def test_recursion_is_one_line_and_how_often(self):
        with open(case("named.json"), encoding="utf-8") as file:
            report = json.load(file)
        frames = report["threads"][0]["backtrace"]["frames"]
        frames[3:4] = [frames[3]] * 40
        with Scene() as scene:
            text = scene.run("show", "-", stdin=json.dumps(report)).stdout
            self.assertEqual(text.count("handle_request"), 1)
            self.assertIn("... and 39 times more", text)
            self.assertIn("\n 979  main at ", text)
            full = scene.run("show", "-", "--preset", "full",
                             stdin=json.dumps(report)).stdout
            self.assertEqual(full.count("handle_request"), 40)

    def test_the_line_of_source_is_shown_where_it_is_there(self):
        with Scene() as scene:
            with open(os.path.join(scene.folder, "x.c"), "w", encoding="utf-8") as file:
                file.write("one\ntwo\nthree\x1b[2J\nfour\n")
            os.utime(file.name, (0, 0))  # before the build
            with open(case("named.json"), encoding="utf-8") as file:
                report = json.load(file)
            frame = report["threads"][0]["backtrace"]["frames"][0]
            frame.update(file="~/x.c", line=3)
            text = scene.run("show", "-", "--preset", "friendly", HOME=scene.folder,
                             stdin=json.dumps(report)).stdout
            self.assertIn(">     3 | three\\x1b[2J\n", text)
            frame.update(file="/etc/passwd", line=1)
            text = scene.run("show", "-", "--preset", "friendly",
                             stdin=json.dumps(report)).stdout
            self.assertNotIn("root:", text)

    def test_colour_is_for_terminals(self):
        with Scene() as scene:
            self.assertIn("\x1b[", scene.on_terminal("show", case("named.json")))
            for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
                text = scene.on_terminal("show", case("named.json"), **variables)
                self.assertNotIn("\x1b[", text)
                self.assertIn("slot_touch", text)

    def test_an_id_is_found_by_its_beginning(self):
        with Scene() as scene:
            scene.add(1)
            scene.add(2)
            self.assertEqual(scene.run("show", report_id(1)).returncode, 0)
            self.assertEqual(scene.run("show", report_id(2)[:13]).returncode, 0)
            several = scene.run("show", "01930000")
            self.assertEqual(several.returncode, 1)
            self.assertIn("the beginning of several reports", several.stderr)
            none = scene.run("show", "0194")
            self.assertEqual(none.returncode, 1)
            self.assertIn("there is no such report", none.stderr)

    def test_a_report_that_is_none_is_one_line(self):
        with Scene() as scene:
            for text, why in (("", "it is not JSON"), ("[]", "it is not an object"),
                              ('{"schema":"other"}', "its schema is neither"),
                              ('{"a":1,"a":2}', "duplicate")):
                done = scene.run("show", "-", stdin=text)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertIn(why, done.stderr)

    def test_wrong_usage_is_2(self):
        with Scene() as scene:
            for arguments in (["show", "--latest", "a"], ["show", "a", "b"], ["show", "x", "--preset", "y"],
                              ["show", "x", "--threads", "some"], ["show", "--what", "x"],
                              ["export", "x"], ["export", "--format", "pdf", "x"]):
                done = scene.run(*arguments)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), arguments)

    def test_a_symbolized_report_is_written_into_what_is_no_file(self):
        with Scene() as scene:
            fifo = os.path.join(scene.folder, "fifo")
            os.mkfifo(fifo)
            reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE)
            done = scene.run("symbolize", case("named.json"), "-o", fifo)
            text = reader.communicate(timeout=60)[0]
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(text)["schema"], "crashhook.report/1")
            self.assertTrue(stat.S_ISFIFO(os.stat(fifo).st_mode))
            os.symlink("target", os.path.join(scene.folder, "link"))
            with open(os.path.join(scene.folder, "target"), "w", encoding="utf-8"):
                pass
            done = scene.run("symbolize", case("named.json"), "-o", "link")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.path.islink(os.path.join(scene.folder, "link")))
            with open(os.path.join(scene.folder, "target"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["schema"], "crashhook.report/1")

    def test_a_report_that_is_still_being_named_is_shown_with_its_names(self):
        with Scene() as scene, Scene() as other:
            identity = scene.add(1, "raw.json")
            named = other.file(other.add(1))
            with open(scene.file(identity), "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                shown = scene.start("show", identity)
                os.rename(named, scene.file(identity))
            out, err = shown.communicate(timeout=60)
            self.assertEqual((shown.returncode, err), (0, ""))
            self.assertIn("table_insert", out)

    def test_a_report_that_nobody_names_any_more_is_shown_as_it_is_in_json(self):
        with Scene() as scene:
            identity = scene.add(1, "raw.json")
            done = scene.run("show", "--json", identity)
            self.assertEqual(json.loads(done.stdout)["revision"], 0)

    def test_names_are_found_where_children_are_ignored(self):
        with Scene() as scene:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            self.addCleanup(signal.signal, signal.SIGCHLD, signal.SIG_DFL)
            process = subprocess.Popen(
                [cli_scene.CRASHHOOK, "symbolize", case("raw.json")], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, env=scene.environment({}))
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, err)
            self.assertEqual(json.loads(out)["revision"], 1)

    def test_an_option_that_stands_for_a_variable_takes_what_that_does(self):
        with Scene() as scene:
            for arguments in (["attach", str(os.getpid()), "--unwind", "magic"],
                              ["core", "x", "--limit", "0"],
                              ["upload", "--url", "ftp://x"],
                              ["list", "--json", "--bogus"]):
                done = scene.run(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertIn(arguments[-1], done.stderr)

    def test_export_as_text_is_the_full_report(self):
        with Scene() as scene:
            text = scene.run("export", "--format", "text", case("named.json")).stdout
            full = scene.run("show", "--preset", "full", case("named.json")).stdout
            self.assertEqual(text, full)

    def test_a_full_disk_is_noticed(self):
        with Scene() as scene, open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([cli_scene.CRASHHOOK, "show", case("named.json")],
                                  stdout=full, stderr=subprocess.PIPE, text=True,
                                  env=scene.environment({}), check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("No space left on device", done.stderr)


class List(unittest.TestCase):
    def test_the_json_form_has_the_documented_keys(self):
        with Scene() as scene:
            identity = scene.add(1)
            with open(scene.file(identity, ".state"), "w", encoding="utf-8") as file:
                json.dump({"targets": [{"url": "http://c", "state": "pending",
                                        "attempts": 2, "next_time": 0}]}, file)
            done = scene.run("list", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            row, = json.loads(done.stdout)
            self.assertEqual(row["id"], identity)
            self.assertEqual(row["time"], "2024-10-12T22:13:50.758Z")
            self.assertEqual(row["executable"], "/opt/app/server")
            self.assertEqual((row["signal"], row["revision"]), (11, 1))
            self.assertEqual(row["targets"][0]["url"], "http://c")
            self.assertEqual(row["targets"][0]["state"], "pending")

    def test_reports_are_listed_oldest_first(self):
        with Scene() as scene:
            second, first = scene.add(9), scene.add(3)
            lines = scene.run("list").stdout.splitlines()
            self.assertEqual([line.split()[0] for line in lines], [first, second])

    def test_a_variable_that_is_not_understood_is_said_and_does_no_harm(self):
        with Scene() as scene:
            identity = scene.add(1)
            done = scene.run("list", CRASHHOOK_TIMEOUT="soon")
            self.assertEqual((done.returncode, done.stdout.split()[0]), (0, identity))
            self.assertRegex(done.stderr, r"\Acrashhook: CRASHHOOK_TIMEOUT='soon' is not "
                                          r"understood: it takes .*; the default is used\n\Z")

    def test_a_terminal_gets_a_table_that_fits_it(self):
        with Scene() as scene:
            first = scene.add(1)
            scene.add(2, "hostile.json")
            for width in (60, 80, 200):
                text = scene.on_terminal("list", columns=width, NO_COLOR="1")
                lines = text.replace("\r", "").splitlines()
                self.assertRegex(lines[0], "REPORT +AGE +SIGNAL +PROGRAM +SENT +CRASHED")
                self.assertTrue(lines[1].startswith(first[:13] + "  2 y"), lines[1])
                self.assertIn("server", lines[1])
                self.assertLessEqual(max(len(line) for line in lines), width)

    def test_a_program_that_dies_again_in_the_same_way_is_one_row_with_a_count(self):
        with Scene() as scene:
            for number in (1, 2, 3):
                scene.add(number)
            text = scene.on_terminal("list", columns=80, NO_COLOR="1")
            self.assertEqual(text.count("SIGSEGV"), 1, text)
            self.assertRegex(text, "3 times, since 2 y: ")
            self.assertEqual(len(scene.run("list").stdout.splitlines()), 3)

    def test_lists_are_narrowed_and_the_newest_is_found(self):
        with Scene() as scene:
            first, second = scene.add(1), scene.add(2, "raw.json")

            def listed(*options):
                done = scene.run("list", "--json", *options)
                self.assertEqual(done.returncode, 0, done.stderr)
                return [row["id"] for row in json.loads(done.stdout)]
            self.assertEqual(listed(), [first, second])
            self.assertEqual(listed("--latest"), [second])
            self.assertEqual(listed("--function", "slot_touch"), [first])
            self.assertEqual(listed("--latest", "--function", "slot_touch"), [first])
            self.assertEqual(listed("--program", "server"), listed("--program", "/opt/app/server"))
            self.assertEqual(listed("--program", "erver"), [])
            self.assertEqual(listed("--signal", "segv"), listed("--signal", "SIGSEGV"))
            self.assertEqual(listed("--signal", "BUS"), [])
            self.assertEqual(listed("--unsent"), [first, second])

    def test_show_without_an_argument_shows_the_newest(self):
        with Scene() as scene:
            self.assertIn("there is no report in spool", scene.run("show").stderr)
            scene.add(1, "raw.json")
            newest = scene.add(2)
            for arguments in (["show"], ["show", "--latest"]):
                done = scene.run(*arguments, "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["id"], newest)

    def test_an_empty_spool_is_an_empty_list(self):
        with Scene() as scene:
            self.assertEqual(json.loads(scene.run("list", "--json").stdout), [])

    def test_what_cannot_be_read_is_one_line_and_the_rest_is_listed(self):
        with Scene() as scene:
            good = scene.add(1)
            with open(scene.file(report_id(2)), "w", encoding="utf-8") as file:
                file.write("{")
            os.symlink("/etc/passwd", scene.file(report_id(3)))
            done = scene.run("list", "--json")
            self.assertEqual(done.returncode, 1)
            self.assertEqual([row["id"] for row in json.loads(done.stdout)], [good])
            self.assertEqual(done.stderr.count("\n"), 2, done.stderr)

    def test_a_hostile_report_cannot_steer_a_terminal(self):
        with Scene() as scene:
            scene.add(1, "hostile.json")
            text = scene.run("list").stdout
            self.assertEqual(re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text), [])

    def test_a_spool_that_is_not_there_is_one_line(self):
        with Scene() as scene:
            done = scene.run("list", "--spool", "/nonexistent/x")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, "crashhook: there is no report yet: spool "
                                          "'/nonexistent/x' does not exist\n")

    def test_before_the_first_crash_there_are_no_reports_and_that_is_no_failure(self):
        with Scene() as scene:
            shown = {}
            for words in (["list"], ["list", "--json"], ["show"]):
                shown[words[-1]] = subprocess.run(
                    [cli_scene.CRASHHOOK, *words], check=False, text=True, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env={**os.environ, "CRASHHOOK_SPOOL": os.path.join(scene.folder, "none")})
            self.assertEqual([done.returncode for done in shown.values()], [0, 0, 1])
            self.assertEqual([done.stdout for done in shown.values()], ["", "[]\n", ""])
            for done in shown.values():
                self.assertRegex(done.stderr, "^crashhook: there is no report yet: spool '.*none' "
                                              "does not exist\n$")


class Paging(unittest.TestCase):
    """What goes through a pager, and how wide it is."""

    def test_a_terminal_gets_the_pager_of_the_environment_at_its_own_width(self):
        with Scene() as scene:
            for columns in (60, 80, 160):
                text = scene.on_terminal("show", case("named.json"), "--preset", "full",
                                         columns=columns,
                                         PAGER="sed 's/^/P /' # \"quoted\"")
                lines = text.splitlines()
                self.assertTrue(all(line.startswith("P ") for line in lines), lines[:3])
                plain = scene.on_terminal("show", case("named.json"), "--preset", "full",
                                          columns=columns)
                self.assertEqual([line[2:] for line in lines], plain.splitlines())
                self.assertIn("\x1b[", plain)

    def test_without_a_terminal_or_with_an_empty_pager_there_is_none(self):
        with Scene() as scene:
            text = scene.run("show", case("named.json"), PAGER="sed 's/^/P /'").stdout
            self.assertNotIn("P ", text[:2])
            for pager in ("", "cat"):
                text = scene.on_terminal("show", case("named.json"), PAGER=pager)
                self.assertTrue(text)
            text = scene.on_terminal("show", case("named.json"), TERM="dumb", PAGER="false")
            self.assertIn("slot_touch", text)

    def test_who_leaves_the_pager_early_is_not_told_of_a_failure(self):
        with Scene() as scene:
            text = scene.on_terminal("show", case("named.json"), "--preset", "full",
                                     PAGER="head -n 1")
            self.assertEqual(len(text.splitlines()), 1, text)

    def test_less_ends_by_itself_where_the_output_fits(self):
        less = shutil.which("less")
        if less is None:
            self.skipTest("less is not installed")
        with Scene() as scene:
            scene.add(1)
            text = scene.on_terminal("list", columns=80, PAGER=less)
            self.assertIn("SIGSEGV", text)

    def test_lines_of_a_list_fit_any_terminal_from_60_columns_on(self):
        with Scene() as scene:
            scene.add(1)
            for columns in (60, 72, 80, 200):
                text = scene.on_terminal("list", columns=columns)
                plain = re.sub("\x1b\\[[0-9;]*m", "", text)
                widest = max(plain.splitlines(), key=len)
                self.assertLessEqual(len(widest), columns, widest)


if __name__ == "__main__":
    unittest.main(verbosity=2)
