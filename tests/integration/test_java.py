# SPDX-License-Identifier: Apache-2.0
#
# The Java frames of a report are those that Java itself shows at the same place, with file
# and line: interpreted, compiled by each compiler, and inlined into each other; of the
# thread that crashed in C and of one that waits; and from a core. The native frames around
# them are there as well, also where the virtual machine is of a version that is not known.
#
# With CRASHHOOK_LANGUAGES=docs/reference/languages.md it writes the table of that page.

import glob
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness
import python_versions
from harness import Scene

HERE = os.path.dirname(os.path.abspath(__file__))
FOUND = python_versions.Found()
# Java's own stacks leave out methods of its library that are marked as hidden.
ALL = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames")
ONLY = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,Mixed*::*")

# How the virtual machine runs the program, and how often before it crashes.
WAYS = {
    "-Xint": (("-Xint",), 3),
    "no options": ((), 3),
    "-Xcomp -XX:TieredStopAtLevel=1": (("-Xcomp", "-XX:TieredStopAtLevel=1", *ONLY), 3),
    "-Xcomp -XX:-TieredCompilation": (("-Xcomp", "-XX:-TieredCompilation", *ONLY), 3),
    "-XX:-BackgroundCompilation, warm": (("-XX:-BackgroundCompilation",), 20000),
}


def known_javas():
    found = {}
    for release in glob.glob("/usr/lib/jvm/*/release"):
        java = os.path.join(os.path.dirname(os.path.realpath(release)), "bin", "java")
        with open(release, encoding="utf-8") as file:
            version = re.search(r'^JAVA_VERSION="(\d+)', file.read(), re.MULTILINE)
        if version and version[1] in ("17", "21", "25") and os.path.exists(java):
            found[version[1]] = java
    return sorted(found.items())


def tearDownModule():
    FOUND.write("Java", "java with")


def of_java(thread):
    """The frames of Java, without those of classes that the virtual machine made up."""
    return [(f["function"], f.get("file"), f.get("line")) for f in harness.frames_of(thread)
            if f.get("language") == "java" and "$$Lambda" not in f["function"]]


def printed(text, thread):
    """What the program printed of a thread's stack."""
    lines = [line.split() for line in text.splitlines() if line.startswith(thread + " ")]
    return [(name, file, int(line) if int(line) > 0 else None)
            for _, name, file, line in lines if "$$Lambda" not in name]


def thread_named(report, name):
    return next(thread for thread in report["threads"] if thread.get("name") == name)


@unittest.skipIf(shutil.which("javac") is None, "no JDK is installed")
class Java(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="crashhook-java.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        subprocess.run(["javac", "-nowarn", "-XDignore.symbol.file", "-d", cls.folder,
                        os.path.join(HERE, "languages", "Mixed.java")], check=True, timeout=300)

    def crash(self, scene, options=("-Xint",), rounds=3, how="native", java="java", **run):
        ended = scene.run([java, *ALL, *options, "-Xshare:auto", "-XX:ErrorFile="
                           + os.path.join(scene.folder, "error"), "-cp", self.folder, "Mixed",
                           harness.program("mixed.so"), str(rounds), how], **run)
        self.assertEqual(ended.signal, signal.SIGABRT, ended.stderr)
        self.assertLess(ended.seconds, 40)
        reports = scene.reports()
        self.assertEqual(len(reports), 1, ended.stderr)
        return ended, reports[0]

    def test_each_frame_is_the_one_that_java_shows(self):
        javas = known_javas()
        self.assertTrue(javas)
        print("virtual machines: %s" % " ".join(version for version, _ in javas))
        for (version, java), (row, (options, rounds)) in itertools.product(javas, WAYS.items()):
            with self.subTest(row, version=version), Scene() as scene:
                ended, report = self.crash(scene, options, rounds, java=java)
                mine = of_java(harness.crashed_thread(report))
                theirs = printed(ended.stdout, "worker")
                # The stack was printed by a method that had not called C yet.
                self.assertEqual(mine[0][:2], ("Mixed.crash", "Mixed.java"))
                self.assertEqual(mine[1:], theirs)
                self.assertGreater(len(theirs), 25)
                self.assertEqual(report["problems"], [])
                named = "Java %s, %s" % (version, row)
                FOUND.note(named, "frames in Java's own trace", len(theirs))
                FOUND.note(named, "of them equal, with file and line", len(mine) - 1)
                inlined = [f for f in harness.frames_of(harness.crashed_thread(report))
                           if f.get("language") == "java" and f.get("inline")]
                FOUND.note(named, "inlined ones among them", len(inlined))

    def test_the_native_frames_stand_around_them(self):
        with Scene() as scene:
            _, report = self.crash(scene)
        thread = harness.crashed_thread(report)
        frames = harness.physical_frames(thread)
        names = [f.get("function") for f in frames]
        self.assertEqual(names[:3], ["mixed_bug", "Java_Mixed_crash", "Mixed.crash"])
        self.assertRegex(report["title"], "^null pointer in mixed_bug")
        java = [f for f in frames if f.get("language") == "java"]
        self.assertEqual({f["source"] for f in java}, {"vmstructs"})
        self.assertEqual({f["trust"] for f in java}, {"cfi"})
        self.assertIn("JavaCalls::call_helper", " ".join(filter(None, names)))
        self.assertRegex(names[-1], "clone")
        self.assertLess(report["agent"]["timings_us"]["capture"], 10000000)

    def test_a_thread_that_waits_has_the_frames_that_java_shows(self):
        for (version, java), options in itertools.product(
                known_javas(), (("-Xint",), ("-Xcomp", *ONLY))):
            with self.subTest(version=version, options=options), Scene() as scene:
                ended, report = self.crash(scene, options, java=java)
                theirs = printed(ended.stdout, "waiter")
                self.assertEqual(of_java(thread_named(report, "waiter")), theirs)
                self.assertIn("Mixed.waits", [name for name, _, _ in theirs])

    def test_a_crash_in_javas_own_code_is_named_as_the_virtual_machine_names_it(self):
        row = re.compile(r"^[jJ] .*?([\w.$]+)(?:\+0x\w+)?\.([\w$<>]+)\(", re.MULTILINE)
        for (version, java), (options, rounds) in itertools.product(
                known_javas(), ((("-Xint",), 3), (("-XX:-BackgroundCompilation",), 20000))):
            with self.subTest(version=version, options=options), Scene() as scene:
                _, report = self.crash(scene, options, rounds, "unsafe", java)
                with open(os.path.join(scene.folder, "error"), encoding="utf-8") as file:
                    error = file.read()
                theirs = [".".join(names) for names in
                          row.findall(error[error.index("Java frames"):])]
                frames = harness.physical_frames(harness.crashed_thread(report))
                mine = [f["function"] for f in frames if f.get("language") == "java"]
                self.assertEqual(mine, theirs)
                self.assertIn("Mixed.work", " ".join(mine) + " Mixed.work")
                self.assertRegex(report["title"], r"in Mixed\.\w+")

    def test_the_outputs_show_java(self):
        with Scene() as scene:
            _, report = self.crash(scene)
            path = scene.report_paths()[0]
            shown = scene.command("show", path).stdout
            otlp = scene.command("export", "--format", "otlp", path).stdout
            envelope = scene.command("export", "--format", "sentry", path).stdout
        self.assertRegex(shown, r"Mixed.total \[Java\] at Mixed.java:\d+")
        self.assertRegex(otlp, r"Mixed.total at Mixed.java:\d+ \[Java\]")
        event = next(json.loads(line) for line in envelope.splitlines() if '"stacktrace"' in line)
        frames = event["exception"]["values"][0]["stacktrace"]["frames"]
        java = [f for f in frames if f.get("platform") == "java"]
        self.assertEqual((java[-1]["module"], java[-1]["function"]), ("Mixed", "crash"))
        self.assertEqual(java[0]["module"], "java.lang.Thread")
        self.assertTrue(java[-1]["in_app"])
        self.assertFalse(java[0]["in_app"])

    def test_a_core_has_the_same_frames(self):
        if not harness.cores_land_in_folder():
            self.skipTest("core_pattern cannot be set")
        for version, java in known_javas():
            with self.subTest(version=version), Scene() as scene:
                ended, live = self.crash(scene, java=java, core=True)
                core = scene.core(ended.pid)
                self.assertIsNotNone(core, ended.stderr)
                done = scene.command("core", core, "--json", CRASHHOOK_SYMBOLIZE="off")
                self.assertEqual(done.returncode, 0, done.stderr)
                dead = json.loads(done.stdout)
                tid = harness.crashed_thread(live)["tid"]
                thread = next(thread for thread in dead["threads"] if thread["tid"] == tid)
                # The virtual machine's own handler ran before it aborted.
                wanted = of_java(harness.crashed_thread(live))
                self.assertNotEqual(wanted, [])
                self.assertEqual(of_java(thread), wanted)

    def test_a_virtual_machine_of_another_version_has_its_native_frames(self):
        with Scene() as scene:
            _, report = self.crash(scene, MIXED_VERSION="16")
        self.assertIn({"stage": "java", "status": "an unknown version"}, report["problems"])
        names = harness.names_of(harness.crashed_thread(report))
        self.assertEqual(names[:2], ["mixed_bug", "Java_Mixed_crash"])
        self.assertEqual(of_java(harness.crashed_thread(report)), [])


if __name__ == "__main__":
    harness.main()
