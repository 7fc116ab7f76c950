# SPDX-License-Identifier: Apache-2.0
#
# The source lines beside a crash are those that were compiled. A file that changed since
# is shown with a warning, and no line of it as the one that crashed.

import json
import os
import shutil
import subprocess
import unittest

import harness
from harness import Scene
from test_delivery import bodies

SOURCE = """int deref(int *p)
{
    return *p; // the crash
}

int main(int count, char **arguments)
{
    return deref(count > 5 ? &count : 0);
}
"""
CHANGED = "This file has changed since the program was built"
UNCHECKED = "Whether this is the file that was built is not known"


class SourceLines(unittest.TestCase):
    def crash(self, scene, *compiler):
        """The source of a program that was built and crashed."""
        path = os.path.join(scene.folder, "deref.c")
        program = os.path.join(scene.folder, "deref")
        with open(path, "w", encoding="ascii") as file:
            file.write(SOURCE)
        subprocess.run([*compiler, "-g", "-O0", "-o", program, path], check=True)
        scene.run([program])
        self.assertEqual(len(scene.reports()), 1)
        return path

    def shown(self, scene):
        done = scene.command("show", "--latest", "--preset", "friendly")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def change(self, path):
        """Puts lines before the others, as of the time when it was last written."""
        before = os.stat(path)
        with open(path, "w", encoding="ascii") as file:
            file.write("// a\n// b\n// c\n" + SOURCE)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def sent_to_sentry(self, scene, *report):
        """The frames of the crashed thread as Sentry gets them, the innermost first."""
        identity = report or (scene.reports()[0]["id"],)
        done = scene.command("export", "--format", "sentry", *identity)
        self.assertEqual(done.returncode, 0, done.stderr)
        event, _ = bodies.read_event(done.stdout.encode())
        return event["exception"]["values"][-1]["stacktrace"]["frames"][::-1]

    def test_sentry_gets_the_lines_of_the_programs_own_frames(self):
        with Scene() as scene:
            self.crash(scene, "gcc")
            frames = self.sent_to_sentry(scene)
            lines = SOURCE.splitlines()
            for frame, line in zip(frames, (3, 8)):
                self.assertTrue(frame["in_app"])
                self.assertEqual((frame["lineno"], frame["context_line"]),
                                 (line, lines[line - 1]))
                self.assertEqual(frame["pre_context"], lines[max(0, line - 6):line - 1])
                self.assertEqual(frame["post_context"], lines[line:line + 5])
            for frame in frames[2:]:
                self.assertFalse(frame["in_app"])
                self.assertNotIn("context_line", frame)

    def test_sentry_gets_no_lines_that_may_be_others_or_are_of_another_user(self):
        with Scene() as scene:
            path = self.crash(scene, "gcc")
            report, = scene.reports()
            report["process"]["uid"] += 1
            other = os.path.join(scene.folder, "other.json")
            with open(other, "w", encoding="utf-8") as file:
                json.dump(report, file)
            for case in ("another user", "newer", "another build"):
                if case == "newer":
                    built = os.stat(os.path.join(scene.folder, "deref")).st_mtime_ns
                    os.utime(path, ns=(0, built + 1))
                elif case == "another build":
                    os.remove(os.path.join(scene.folder, "deref"))
                with self.subTest(case):
                    frames = self.sent_to_sentry(
                        scene, *((other,) if case == "another user" else ()))
                    self.assertEqual(frames[0]["function"], "deref")
                    self.assertEqual([f for f in frames if "context_line" in f], [])

    def test_the_line_of_an_unchanged_file_is_marked(self):
        for compiler in (["gcc"], ["clang", "-gdwarf-5"]):
            if shutil.which(compiler[0]) is None:
                continue
            with self.subTest(compiler), Scene() as scene:
                self.crash(scene, *compiler)
                shown = self.shown(scene)
                self.assertRegex(shown, r"> +3 \|     return \*p; // the crash")
                self.assertNotIn(CHANGED, shown)
                self.assertNotIn(UNCHECKED, shown)

    def test_a_file_of_another_sum_is_no_longer_the_one_that_was_built(self):
        if shutil.which("clang") is None:
            self.skipTest("no compiler writes sums here")
        with Scene() as scene:
            path = self.crash(scene, "clang", "-gdwarf-5")
            frames = harness.frames_of(harness.crashed_thread(scene.reports()[0]))
            self.assertRegex(frames[0]["file_md5"], "^[0-9a-f]{32}$")
            self.change(path)
            shown = self.shown(scene)
        self.assertIn(CHANGED, shown)
        self.assertNotRegex(shown, r"> +\d+ \|")

    def test_without_sums_a_file_that_is_newer_than_the_build_is_another(self):
        with Scene() as scene:
            path = self.crash(scene, "gcc")
            os.utime(path, ns=(0, os.stat(os.path.join(scene.folder, "deref")).st_mtime_ns + 1))
            shown = self.shown(scene)
        self.assertIn(CHANGED, shown)
        self.assertNotRegex(shown, r"> +\d+ \|")

    def test_a_file_beside_another_build_cannot_be_checked(self):
        with Scene() as scene:
            self.crash(scene, "gcc")
            os.remove(os.path.join(scene.folder, "deref"))
            shown = self.shown(scene)
        self.assertIn(UNCHECKED, shown)


if __name__ == "__main__":
    harness.main()
