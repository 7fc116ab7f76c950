# SPDX-License-Identifier: Apache-2.0
#
# The frames of code whose unwind rules are in .debug_frame alone, as it is or compressed,
# beside tables of other code: C compiled without asynchronous unwind tables, Go, and Rust
# beside them. gdb reads all of it, so no frame of its may be missing. Where there are no
# rules at all, nothing says that the stack ends.

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import gdb_compare
import harness
from harness import Scene, crashed_thread, names_of, physical_frames
from place import rust_compiler
from test_core import CoreScene

SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "frames")
C = ["-O2", "-g", "-fno-asynchronous-unwind-tables", "-fomit-frame-pointer"]
BUILDS = {
    "gcc": ["gcc", *C, "chain.c"],
    "gcc -gz": ["gcc", *C, "-gz=zlib", "chain.c"],
    "gcc zstd": ["gcc", *C, "chain.c"],
    "gcc .zdebug_frame": ["gcc", *C, "-Wl,--compress-debug-sections=zlib-gnu", "chain.c"],
    "gcc static": ["gcc", *C, "-static", "chain.c"],
    "clang": ["clang", *C, "chain.c"],
    "rust": [rust_compiler(), "-g", "-O", "-C", "panic=abort", "-C", "force-unwind-tables=no",
             "chain.rs"],
    "go": ["go", "build", "chain.go"],
    "go, plain": ["go", "build", "-ldflags=-compressdwarf=false", "chain.go"],
}


def build(name, folder):
    """The program's path; None: this machine has no such compiler."""
    command = BUILDS[name]
    if shutil.which(command[0]) is None:
        return None
    program = os.path.join(folder, "chain")
    environment = dict(os.environ, GO111MODULE="off", GOCACHE=harness.GO_CACHE)
    subprocess.run([*command[:-1], "-o", program, os.path.join(SOURCES, command[-1])],
                   env=environment, check=True, capture_output=True)
    if name == "gcc zstd":
        subprocess.run(["objcopy", "--compress-debug-sections=zstd", program], check=True)
    return program


class Frames(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-frames.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def compare(self, name, report, theirs):
        """What is lost of a thread's frames. gdb's may end in words that are no code, where
        it did not know how to leave a signal of Go's."""
        ranges = [(int(image["base"], 16), int(image["end_of_text"], 16))
                  for image in report["images"]]
        lost = []
        for thread in report["threads"]:
            ours = [int(frame["address"], 16) for frame in physical_frames(thread)]
            expected = [pc for pc in theirs[thread["tid"]]
                        if any(low <= pc < high for low, high in ranges)]
            # gdb 16 goes on with what is no code, too.
            interrupted = [at for at, frame in enumerate(physical_frames(thread))
                           if at != 0 and frame["kind"] == "pc"]
            if name.startswith("go") and interrupted:
                expected = expected[:interrupted[0]]
            if ours[:len(expected)] != expected:
                lost.append(f"{name}: {[hex(pc) for pc in ours]} for "
                            f"{[hex(pc) for pc in expected]}")
            self.frames += len(expected)
        return lost

    def test_a_core_has_every_frame_that_gdb_finds(self):
        self.frames = 0
        lost = []
        for name in BUILDS:
            program = build(name, self.folder)
            if program is None:
                continue
            with CoreScene() as scene:
                scene.variables["GOTRACEBACK"] = "crash"
                core = scene.crash([program])
                report = scene.report(core, "--limit", "none")
                lost += self.compare(name, report, gdb_compare.gdb_frames(program, core))
            ended = crashed_thread(report)["backtrace"]["ended"]
            # Go's first stack begins in code that has no caller, and no rule that says so.
            if not name.startswith("go"):
                self.assertEqual(ended, "end-of-stack", name)
        print(f"{self.frames} frames, {len(lost)} threads differ", file=sys.stderr)
        self.assertEqual(lost, [])
        self.assertGreater(self.frames, 100)

    def test_a_live_report_has_the_whole_chain(self):
        for name in ("gcc -gz", "gcc zstd", "rust"):
            with self.subTest(name), Scene() as scene:
                program = build(name, self.folder)
                if program is None:
                    continue
                scene.run([program])
                thread = crashed_thread(scene.reports()[0])
                names = names_of(thread)
                self.assertGreaterEqual(sum("deeper" in frame for frame in names), 9, names)
                self.assertEqual(thread["backtrace"]["ended"], "end-of-stack")

    def test_where_no_rule_is_known_the_stack_is_not_said_to_end(self):
        command = ["gcc", "-O2", "-fno-asynchronous-unwind-tables", "-fomit-frame-pointer"]
        program = os.path.join(self.folder, "chain")
        subprocess.run([*command, "-o", program, os.path.join(SOURCES, "chain.c")], check=True)
        with Scene() as scene:
            scene.run([program])
            thread = crashed_thread(scene.reports()[0])
        names = names_of(thread)
        if "_start" not in names:
            self.assertNotEqual(thread["backtrace"]["ended"], "end-of-stack", names)


if __name__ == "__main__":
    harness.main()
