# SPDX-License-Identifier: Apache-2.0
#
# What containers of Qt, GLib, Abseil, Folly, sds and Protocol Buffers hold, in reports of
# programs that use the libraries of this machine; and that such a container whose memory
# was overwritten ends neither the report nor its time.

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
    "inside": ([1, 2, 3], 3), "outside": ([1, 2, 3, 4, 5], 5),
    "fine": ("OK", None), "failed": ("NOT_FOUND", "no such order"), "code_only": ("ABORTED", None),
}
PROTOBUF = {
    "names": ([f"n{i}" for i in range(4)], 4), "nobody": ([], 0),
    "squares": ({i: i * i for i in range(4)}, 4), "ages": ({f"a{i}": i for i in range(4)}, 4),
    "numbers": ([0, 1, 2, 3], 4),
}
ORDER = """syntax = "proto3";
package shop;
message Address { string city = 1; }
message Order {
  string customer = 1; repeated int32 cents = 2; repeated string notes = 3;
  Address address = 4; string unused = 5; int32 nothing = 6; bool never = 7;
}
"""
STRINGS = {
    "empty": "", "small": "small", "full": "twenty-three characters",
    "medium": "more than twenty-three characters", "large": 256 * "x" + "...",
    "wide": "wide", "wider": "wider than in itself \u20ac \U0001F600",
    "relative": {"m_holder": {"m_start": {"offset": 16}, "m_size": 2}},
    "tiny": "tiny", "usual": "a usual one", "widest": "widest",
}


def flags_of(*packages):
    """What to compile with; None: a package is not installed."""
    if shutil.which("pkg-config") is None or shutil.which("g++") is None:
        return None
    done = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], check=False,
                          capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else None


def plain(value):
    """Elements or pairs, and how many there are; what a status and what a pointer lead to."""
    if not isinstance(value, dict):
        return value
    if "choice" in value:
        return value["choice"], plain(value.get("value"))
    if "container" not in value:
        return value.get("value", value)
    if "entries" in value:
        return {plain(key): plain(each) for key, each in value["entries"]}, value["size"]
    return [plain(each) for each in value["items"]], value["size"]


class LibraryContainers(unittest.TestCase):
    def check(self, source, flags, expected, *others):
        if flags is None:
            self.skipTest("the library's development files are not installed")
        compiler = ["g++", "-std=c++17"] if source.endswith(".cc") else ["gcc"]
        with Scene() as scene:
            program = os.path.join(scene.folder, "holds")
            subprocess.run([*compiler, "-w", "-g", "-fPIC",
                            os.path.join(CASES, source), *others, "-o", program, *flags], check=True)
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
                           flags_of("absl_flat_hash_map", "absl_flat_hash_set", "absl_cord",
                                    "absl_inlined_vector", "absl_status"),
                           ABSEIL)
        elements, size = plain(shown["seen"])
        self.assertEqual((len(set(elements)), size), (8, 40))
        self.assertTrue(set(elements) < set(range(40)))

    def test_fields_of_protocol_buffers(self):
        if shutil.which("protoc") is None:
            self.skipTest("no protoc")
        with Scene() as scene:
            with open(os.path.join(scene.folder, "order.proto"), "w", encoding="utf-8") as file:
                file.write(ORDER)
            subprocess.run(["protoc", "--cpp_out=.", "order.proto"], check=True, cwd=scene.folder)
            shown = self.check("containers_protobuf.cc", flags_of("protobuf"), PROTOBUF,
                               os.path.join(scene.folder, "order.pb.cc"), "-I", scene.folder)
        message = shown["message"]
        self.assertRegex(message.pop("address_"), "^0x")
        self.assertEqual({name: plain(value) for name, value in message.items()},
                         {"customer_": "a customer", "cents_": ([250, 499], 2),
                          "notes_": (["fragile"], 1)})

    def test_objects_of_glib(self):
        shown = self.check("containers_glib.c", flags_of("glib-2.0"), {"text": "some text"})
        seen = {f"k{i}" for i in range(3)}
        for name, size, entry in (("ages", 11, lambda i: (f"k{i}", i)),
                                  ("squares", 12, lambda i: (i, i * i))):
            entries, found = plain(shown[name])
            self.assertEqual((found, len(entries)), (size, 8))
            self.assertLess(set(entries.items()), {entry(i) for i in range(12) if i != 3 or
                                                   name == "squares"})
        names, size = plain(shown["names"])
        self.assertEqual((set(names), size), (seen, 3))
        self.assertRegex(" ".join(names.values()), "^0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+$")
        elements, size = plain(shown["seen"])
        self.assertEqual((set(elements), size), (seen, 3))
        self.assertEqual(plain(shown["empty"]), ([], 0), "GLib makes it a set at first")
        self.assertEqual(plain(shown["queue"])[1], 3)

    def test_strings_of_folly_and_sds(self):
        shown = self.check("containers_strings.cc", [], STRINGS)
        self.assertEqual(shown["two_words"], "two\\x00words")
        self.assertEqual(plain(shown["wrong"])[:3], "xxx", "it has no head")


if __name__ == "__main__":
    harness.main()
