# SPDX-License-Identifier: Apache-2.0
#
# Whose code a frame is, by what the image's file says of its package and by the builds
# that the user lists.

import os
import signal
import subprocess
import unittest

import harness
from harness import Scene

# A crash in main, through a library of the program's package, one of another package,
# and one of none.
LIBRARY = "int {name}(int (*next)(void)) {{ volatile int one = 1; return next() + one; }}\n"
PROGRAM = """#include <stddef.h>
int ours(int (*next)(void));
int theirs(int (*next)(void));
int nobodys(int (*next)(void));
static int fail(void) { volatile int *none = NULL; return *none; }
static int third(void) { return nobodys(fail) + 1; }
static int second(void) { return theirs(third) + 1; }
int main(void) { return ours(second); }
"""


def note(name):
    return ["-Xlinker", '--package-metadata={"type":"deb","os":"debian","name":"' + name +
            '","version":"1.4-2","architecture":"amd64"}']


class Own(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scene = cls.enterClassContext(Scene())
        folder = cls.scene.folder
        options = ["gcc", "-g", "-O0", "-w", "-Wl,--build-id"]
        for name, package in (("ours", "shop"), ("theirs", "zlib"), ("nobodys", None)):
            source = os.path.join(folder, name + ".c")
            with open(source, "w", encoding="utf-8") as file:
                file.write(LIBRARY.format(name=name))
            subprocess.run([*options, "-shared", "-fPIC", "-o", f"{folder}/lib{name}.so",
                            source] + (note(package) if package else []), check=True)
        source = os.path.join(folder, "shop.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        cls.program = os.path.join(folder, "shop")
        subprocess.run([*options, *note("shop"), "-o", cls.program, source, "-L" + folder,
                        "-lours", "-ltheirs", "-lnobodys", "-Wl,-rpath," + folder],
                       check=True)

    def crash(self, **variables):
        """The report, and of each named function the rule of its frame, or `own`."""
        before = set(self.scene.report_paths())
        ended = self.scene.run([self.program], **variables)
        self.assertEqual(ended.signal, signal.SIGSEGV, ended.stderr)
        self.assertLess(ended.seconds, 20)
        path, = set(self.scene.report_paths()) - before
        report = harness.expanded(harness.read_when_done(path))
        frames = harness.frames_of(harness.crashed_thread(report))
        return report, {frame["function"]: frame["rule"] if frame["system"] else "own"
                        for frame in frames if "function" in frame}

    def test_the_package_of_an_image_says_whether_it_is_the_programs_own(self):
        report, rules = self.crash()
        self.assertEqual({name: rules[name] for name in ("fail", "nobodys", "theirs", "ours")},
                         {"fail": "own", "nobodys": "own", "theirs": "package zlib",
                          "ours": "own"})
        packages = {image["name"]: image.get("package") for image in report["images"]}
        self.assertEqual(packages["libours.so"],
                         {"type": "deb", "os": "debian", "name": "shop",
                          "version": "1.4-2", "architecture": "amd64"})
        self.assertIsNone(packages["libnobodys.so"])
        # Others are known to dpkg, where there is one. Debian 12 puts a note in libsystemd,
        # which has no frame here.
        self.assertEqual({name for name, package in packages.items()
                          if package and package.get("source") != "dpkg"},
                         {"shop", "libours.so", "libtheirs.so"})

    def test_builds_that_a_file_lists_are_not_own(self):
        report, _ = self.crash()
        builds = {image["name"]: image.get("build_id") for image in report["images"]}
        path = os.path.join(self.scene.folder, "builds")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"Package: libnobodys-dbgsym\nBuild-Ids: {builds['libnobodys.so']}"
                       f" {builds['shop']}\n")
        _, rules = self.crash(CRASHHOOK_OWN=f"!builds:{path} package:zlib")
        self.assertEqual(rules["nobodys"], "builds " + path)
        self.assertEqual((rules["fail"], rules["theirs"]), ("own", "own"))


if __name__ == "__main__":
    harness.main()
