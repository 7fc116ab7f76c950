# SPDX-License-Identifier: Apache-2.0
#
# What containers of Qt, Abseil and Protocol Buffers hold, in reports of programs that use
# the libraries of this machine; and that such a container whose memory was overwritten ends
# neither the report nor its time.

import os
import shutil
import subprocess
import time
import unittest

import harness
from harness import Scene

CASES = os.path.join(harness.SOURCE, "tests", "cases", "types")
SECONDS = 20
QT = {
    "words": ({i * 3: f"w{i}" for i in range(8)}, 20),
    "counts": ({name: int(name[1:]) for name in sorted(f"c{i}" for i in range(20))[:8]}, 20),
    "nothing_mapped": ({}, 0), "nothing_hashed": ({}, 0),
    "squares": ({i: i * i for i in range(4)}, 4),
    "prices": ({f"p{i}": i + 0.5 for i in range(4)}, 4),
    "numbers": (list(range(8)), 20), "names": ([f"n{i}" for i in range(4)], 4),
    "pairs": ([{"a": i, "b": -i} for i in range(4)], 4),
    "evens": ([2 * i for i in range(8)], 20),
    "title": "a title", "bytes": "some bytes",
}
ABSEIL = {
    "squares": ({i: i * i for i in range(5)}, 5), "nothing_mapped": ({}, 0),
    "ages": ({f"k{i}": i for i in range(5)}, 5),
    "short_text": "short", "long_text": 60 * "x", "viewed": "viewed",
}
PROTOBUF = {
    "names": ([f"n{i}" for i in range(4)], 4), "nobody": ([], 0),
    "squares": ({i: i * i for i in range(4)}, 4), "ages": ({f"a{i}": i for i in range(4)}, 4),
}


def flags_of(*packages):
    """What to compile with; None: a package is not installed."""
    if shutil.which("pkg-config") is None or shutil.which("g++") is None:
        return None
    done = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], check=False,
                          capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else None


def plain(value):
    """Elements or pairs, and how many there are; a text is itself."""
    if not isinstance(value, dict) or "container" not in value:
        return value
    if "entries" in value:
        return dict(value["entries"]), value["size"]
    return value["items"], value["size"]


class LibraryContainers(unittest.TestCase):
    def check(self, source, flags, expected):
        if flags is None:
            self.skipTest("the library's development files are not installed")
        with Scene() as scene:
            program = os.path.join(scene.folder, "holds")
            subprocess.run(["g++", "-std=c++17", "-w", "-g", "-fPIC",
                            os.path.join(CASES, source), "-o", program, *flags], check=True)
            scene.run([program], CRASHHOOK_ARGUMENTS="yes")
            report, = scene.reports()
            frame, = (frame for frame in harness.frames_of(harness.crashed_thread(report))
                      if frame.get("function") == "main")
            shown = {local["name"]: local.get("value") for local in frame["locals"]}
            self.assertEqual({name: plain(shown[name]) for name in expected}, expected)
            begun = time.monotonic()
            scene.run([program, "damage"], CRASHHOOK_ARGUMENTS="yes")
            damaged = [report for report in scene.reports()
                       if len(report["process"]["arguments"]) == 2]
            self.assertLess(time.monotonic() - begun, SECONDS)
            self.assertEqual(damaged[0]["crash"]["kind"], "null-dereference")
            return shown

    def test_containers_of_qt_5(self):
        self.check("containers_qt.cc", flags_of("Qt5Core"), QT)

    def test_containers_of_qt_6(self):
        self.check("containers_qt.cc", flags_of("Qt6Core"), QT)

    def test_containers_of_abseil(self):
        shown = self.check("containers_absl.cc",
                           flags_of("absl_flat_hash_map", "absl_flat_hash_set", "absl_cord"),
                           ABSEIL)
        elements, size = plain(shown["seen"])
        self.assertEqual((len(set(elements)), size), (8, 40))
        self.assertTrue(set(elements) < set(range(40)))

    def test_fields_of_protocol_buffers(self):
        self.check("containers_protobuf.cc", flags_of("protobuf"), PROTOBUF)


if __name__ == "__main__":
    unittest.main()
