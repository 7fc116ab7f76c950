# SPDX-License-Identifier: Apache-2.0
#
# Each example program crashes with the handler preloaded: it dies as it would have died,
# leaves the core it was allowed, and its report names the line where it crashed.

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import unittest

import harness
from harness import Scene, crashed_thread, example, frames_of, names_of, physical_frames

# There a division by zero has a result, and the compiler's trap is a breakpoint.
AARCH64 = platform.machine() == "aarch64"
TRAP = (signal.SIGTRAP, "trap") if AARCH64 else (signal.SIGILL, "illegal-instruction")


def crash(name, core=False):
    """Runs an example; how it ended, its one report, and its core file if any."""
    with Scene() as scene:
        ended = scene.run([example(name)], core=core)
        reports = scene.reports()
        dumped = scene.core(ended.pid) is not None
    assert len(reports) == 1, f"{len(reports)} reports; stderr: {ended.stderr}"
    return ended, reports[0], dumped


class Examples(unittest.TestCase):
    def crashes_at_its_line(self, name, number, source, function):
        ended, report, _ = crash(name)
        self.assertEqual(ended.signal, number)
        self.assertLess(ended.seconds, 10)
        self.assertEqual(report["crash"]["signal"], number)
        self.assertEqual(report["crash"]["name"], signal.Signals(number).name)
        line = harness.crash_line("examples/" + source)
        thread = crashed_thread(report)
        self.assertEqual(thread["tid"], report["crash"]["thread"])
        found = [f for f in frames_of(thread)
                 if os.path.basename(f.get("file", "")) == source and f.get("line") == line]
        self.assertTrue(found, f"no frame at {source}:{line}: {names_of(thread)}")
        self.assertEqual(re.sub(r"[<(].*", "", found[0]["function"]).split()[-1], function)
        self.assertEqual(thread["backtrace"]["ended"], "end-of-stack")
        return report

    def test_a_null_write_is_seen_through_two_libraries(self):
        report = self.crashes_at_its_line(
            "null_write", signal.SIGSEGV, "shop_pricing.c", "write_line")
        thread = crashed_thread(report)
        self.assertEqual(report["crash"]["kind"], "null-dereference")
        self.assertEqual(names_of(thread)[:4],
                         ["write_line", "pricing_add_line", "cart_add_item",
                          "pricing_add_line"])
        self.assertTrue(frames_of(thread)[0]["inline"])
        # main, serve_customer, print_receipt, nine pairs: 21; below main is the loader.
        ours = [f for f in physical_frames(thread)
                if f.get("file", "").startswith(os.path.join(harness.SOURCE, "examples"))]
        self.assertEqual(len(ours), 21)
        images = {os.path.basename(image["path"]) for image in report["images"]}
        self.assertLessEqual({"libshop_cart.so", "libshop_pricing.so"}, images)

    def test_an_abort_in_one_thread_of_twenty_blames_that_thread(self):
        report = self.crashes_at_its_line(
            "heap_abort", signal.SIGABRT, "heap_abort.c", "index_request")
        self.assertEqual(len(report["threads"]), 21)
        self.assertEqual(report["crash"]["kind"], "heap-corruption")
        self.assertIn(report["crash"]["message"], report["crash"]["summary"])
        for thread in report["threads"]:
            ended = thread["backtrace"]["ended"]
            self.assertEqual(ended, "end-of-stack", f"thread {thread['tid']}")

    def test_an_uncaught_exception_shows_who_threw_it(self):
        report = self.crashes_at_its_line(
            "uncaught", signal.SIGABRT, "uncaught.cpp", "settings::require")
        self.assertEqual(report["crash"]["kind"], "uncaught-exception")
        self.assertRegex(report["crash"]["summary"], r"^Uncaught exception \S+: .")
        self.assertIn("server::server", " ".join(names_of(crashed_thread(report))))

    def test_a_stack_overflow_in_a_worker_is_reported_from_its_own_stack(self):
        report = self.crashes_at_its_line(
            "overflow", signal.SIGSEGV, "overflow.c", "render_comment")
        thread = crashed_thread(report)
        self.assertEqual(report["crash"]["kind"], "stack-overflow")
        # The default limit keeps the innermost and 16 of the outermost frames.
        self.assertEqual(
            [f["kind"] for f in thread["backtrace"]["frames"]].count("omit"), 1)
        self.assertIn("render_page", names_of(thread))

    @unittest.skipIf(AARCH64, "the result is zero on this processor")
    def test_a_division_by_zero_is_named(self):
        report = self.crashes_at_its_line("divide", signal.SIGFPE, "divide.c", "average_ms")
        self.assertEqual(report["crash"]["kind"], "divide-by-zero")

    def test_an_illegal_instruction_is_named(self):
        report = self.crashes_at_its_line("illegal", TRAP[0], "illegal.c", "describe")
        self.assertEqual(report["crash"]["kind"], TRAP[1])

    def test_a_signal_raised_in_a_worker_blames_that_worker(self):
        report = self.crashes_at_its_line(
            "worker_raise", signal.SIGSEGV, "worker_raise.c", "give_up")
        self.assertNotEqual(report["crash"]["thread"], report["process"]["pid"])
        self.assertEqual(report["crash"]["kind"], "sent-by-process")


class Death(unittest.TestCase):
    NUMBERS = {"null_write": signal.SIGSEGV, "heap_abort": signal.SIGABRT,
               "uncaught": signal.SIGABRT, "overflow": signal.SIGSEGV,
               **({} if AARCH64 else {"divide": signal.SIGFPE}), "illegal": TRAP[0],
               "worker_raise": signal.SIGSEGV}

    def test_a_core_file_is_left_where_one_is_allowed(self):
        if not harness.cores_land_in_folder():
            self.skipTest("kernel.core_pattern sends cores elsewhere and needs root")
        for name, number in self.NUMBERS.items():
            with self.subTest(name):
                ended, _, dumped = crash(name, core=True)
                self.assertEqual(ended.signal, number)
                self.assertTrue(dumped)

    def test_no_core_file_is_left_where_none_is_allowed(self):
        _, _, dumped = crash("null_write")
        self.assertFalse(dumped)

    def test_what_the_program_says_is_untouched(self):
        with Scene() as scene:
            watched = scene.run([example("uncaught")])
            scene.preload = None
            alone = scene.run([example("uncaught")])
        self.assertEqual(watched.stdout, alone.stdout)
        self.assertEqual(watched.stderr, alone.stderr)

    def test_a_program_that_does_not_crash_leaves_nothing(self):
        with Scene() as scene:
            ended = scene.run([example("divide"), "53"])
            self.assertEqual((ended.status, ended.stdout), (0, "100 ms a request\n"))
            self.assertEqual(scene.reports(), [])


class Run(unittest.TestCase):
    def test_run_ends_as_the_program_did(self):
        expected = {("true",): 0, ("sh", "-c", "exit 7"): 7, ("/etc/passwd",): 126,
                    ("no-such-program",): 127, (example("null_write"),): -11,
                    (example("uncaught"),): -6}
        with Scene() as scene:
            for command, status in expected.items():
                with self.subTest(command):
                    done = scene.command("run", "--spool", scene.spool, "--", *command)
                    self.assertEqual(done.returncode, status, done.stderr)

    def test_run_waits_until_reports_have_names(self):
        with Scene() as scene:
            scene.command("run", "--spool", scene.spool, "--", example("null_write"))
            for path in scene.report_paths():
                with open(path, encoding="utf-8") as file:
                    self.assertGreaterEqual(json.load(file)["revision"], 1)
            self.assertEqual(len(scene.report_paths()), 1)

    def test_list_and_show_know_the_report(self):
        with Scene() as scene:
            scene.run([example("null_write")])
            report = scene.reports()[0]
            listed = scene.command("list", "--json")
            self.assertEqual([entry["id"] for entry in json.loads(listed.stdout)],
                             [report["id"]])
            line = harness.crash_line("examples/shop_pricing.c")
            for preset in ("friendly", "medium", "full"):
                shown = scene.command("show", "--preset", preset, report["id"])
                self.assertIn(f"shop_pricing.c:{line}", shown.stdout, shown.stderr)
            unknown = scene.command("show", "0190b8a0-0000-7000-8000-000000000000")
            self.assertEqual(unknown.returncode, 1)
            self.assertEqual(len(unknown.stderr.splitlines()), 1)


class Installed(unittest.TestCase):
    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_an_installed_copy_works_from_its_prefix(self):
        with Scene() as scene:
            prefix = os.path.join(scene.folder, "prefix")
            subprocess.run(["cmake", "--install", harness.BUILD, "--prefix", prefix],
                           check=True, stdout=subprocess.DEVNULL)
            done = subprocess.run(
                [os.path.join(prefix, "bin", "crashhook"), "run", "--spool", scene.spool,
                 "--", example("null_write")],
                env=scene.environment({"LD_PRELOAD": ""}), check=False,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, -11, done.stderr)
            self.assertEqual(len(scene.reports()), 1)
            self.assertIn("write_line", names_of(crashed_thread(scene.reports()[0])))


if __name__ == "__main__":
    harness.main()
