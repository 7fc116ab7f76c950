# SPDX-License-Identifier: Apache-2.0
#
# Overwritten stacks of threads that have a shadow stack. Few processors have any, so
# programs/shadow_tracer.c keeps one while it steps through a program, and it is added to
# the program's core as Linux writes it.

import json
import os
import platform
import struct
import subprocess
import sys
import unittest

import harness
from core_surgery import Core
from harness import Scene, crashed_thread, frames_of, names_of

NT_X86_SHSTK = 0x204
PROGRAMS = os.path.join(harness.SOURCE, "tests", "integration", "programs")
BUILDS = (["-O0"], ["-O2"], ["-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables"])
CASES = [(how, ending) for how in range(5) for ending in range(4)]
SIGNAL_TOKEN = 1 << 63


class ShadowScene(Scene):
    """A scene with the tracer and the builds of the program that it steps through."""

    def __init__(self):
        super().__init__()
        self.preload = None
        self.tracer = self.build("shadow_tracer.c", "tracer", ["-O1"])
        self.builds = [self.build("smashed.c", f"smashed{number}", flags)
                       for number, flags in enumerate(BUILDS)]

    def build(self, source, name, flags):
        path = os.path.join(self.folder, name)
        subprocess.run(["gcc", "-g", "-w", "-fno-stack-protector", "-fno-optimize-sibling-calls",
                        "-U_FORTIFY_SOURCE", *flags, "-o", path, os.path.join(PROGRAMS, source)],
                       check=True)
        return path

    def crash(self, program, how, ending):
        """The core, and the shadow stack's words by their address, the innermost first."""
        ended = self.run([self.tracer, program, str(how), str(ending)], core=True)
        assert ended.status == 0, ended.stderr
        words = {int(at, 16): int(word, 16)
                 for at, word in (line.split() for line in ended.stdout.splitlines())}
        cores = [name for name in os.listdir(self.folder) if name.startswith("core")]
        assert len(cores) == 1, cores
        kept = os.path.join(self.folder, "kept")
        os.rename(os.path.join(self.folder, cores[0]), kept)
        return kept, words

    def report(self, core):
        done = self.command("core", core, "--json", "--limit", "none")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def with_shadow(core, words):
    """The core with the shadow stack that the tracer has kept."""
    changed = Core(core).add_note(NT_X86_SHSTK, struct.pack("<Q", min(words)))
    changed.add_segment(min(words), b"".join(struct.pack("<Q", word) for word in words.values()))
    return changed.write(core + ".shadow")


def called(report):
    """The frames that calls have left, without the innermost and what signals interrupted."""
    return [int(frame["address"], 16) for frame in frames_of(crashed_thread(report))[1:]
            if frame["kind"] == "ra" and not frame.get("inline")]


@unittest.skipUnless(platform.machine() == "x86_64", "the tracer steps through x86-64")
class OverwrittenStacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not harness.cores_land_in_folder():
            raise unittest.SkipTest("core files go elsewhere")
        cls.scene = ShadowScene()

    @classmethod
    def tearDownClass(cls):
        cls.scene.__exit__()

    def test_the_callers_are_those_of_the_shadow_stack(self):
        right = 0
        for number, (how, ending) in enumerate(CASES):
            with self.subTest(how=how, ending=ending):
                core, words = self.scene.crash(self.scene.builds[number % len(BUILDS)], how, ending)
                report = self.scene.report(with_shadow(core, words))
                thread = crashed_thread(report)
                expected = [word for word in words.values() if word & SIGNAL_TOKEN == 0]
                self.assertEqual(called(report), expected)
                self.assertIn("main", names_of(thread))
                self.assertEqual(thread["backtrace"]["ended"], "end-of-stack")
                without = called(self.scene.report(core))
                self.assertNotEqual(without, expected, "nothing was overwritten")
                right += 1
        print(f"{right} of {len(CASES)} overwritten stacks have the right callers", file=sys.stderr)

    def test_the_sentence_names_the_function_and_both_addresses(self):
        core, words = self.scene.crash(self.scene.builds[1], 0, 0)
        report = self.scene.report(with_shadow(core, words))
        expected = next(iter(words.values()))
        self.assertEqual(report["crash"]["kind"], "control-protection")
        self.assertEqual(crashed_thread(report)["overwritten"]["expected"], hex(expected))
        text = self.scene.command("core", core + ".shadow").stdout
        self.assertRegex(text, f"the return address of parse was {expected:#x}, "
                               "found 0x4141414141414141")

    def test_a_pointer_to_other_memory_changes_nothing(self):
        core, words = self.scene.crash(self.scene.builds[1], 0, 1)
        stranger = {at: 0x1234567 for at in words}
        without = self.scene.report(core)
        for false in (with_shadow(core, stranger),
                      Core(core).add_note(NT_X86_SHSTK, struct.pack("<Q", 8)).write(core + ".8")):
            report = self.scene.report(false)
            self.assertEqual(called(report), called(without))
            self.assertNotIn("overwritten", crashed_thread(report))

    def test_a_processor_with_shadow_stacks_gives_the_callers_live(self):
        shadowed = self.scene.builds[1]
        if self.scene.run([shadowed, "0", "0", "shadow"]).status == 77:
            self.skipTest("this processor or kernel has no shadow stacks")
        for via in ("preload", "trace"):
            for how, ending in CASES:
                with self.subTest(via=via, how=how, ending=ending), Scene() as scene:
                    scene.preload = None
                    scene.run([harness.CRASHHOOK, "run", "--via", via, "--", shadowed,
                               str(how), str(ending), "shadow"])
                    (report,) = scene.reports()
                    thread = crashed_thread(report)
                    self.assertIn("overwritten", thread)
                    own = ("parse", "outer", "main")
                    self.assertEqual([n for n in names_of(thread) if n in own], list(own))

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to mount")
    def test_doctor_reports_that_a_process_has_a_shadow_stack(self):
        with Scene() as scene:
            process = scene.start(["sleep", "600"])
            try:
                smaps = os.path.join(scene.folder, "smaps")
                with open(smaps, "w", encoding="ascii") as file:
                    file.write("7f0000000000-7f0000001000 rw-p 0 00:00 0\nVmFlags: rd wr ss \n")
                for mount, expected in (("true", False), (f"mount --bind {smaps} "
                                                          f"/proc/{process.pid}/smaps", True)):
                    said = subprocess.run(
                        ["unshare", "--mount", "sh", "-c",
                         f"{mount} && exec {harness.CRASHHOOK} doctor --pid {process.pid}"],
                        capture_output=True, text=True, check=False).stdout
                    self.assertEqual("it has a shadow stack" in said, expected, said)
            finally:
                process.kill()
                process.communicate()


if __name__ == "__main__":
    harness.main()
