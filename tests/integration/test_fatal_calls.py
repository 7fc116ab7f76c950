# SPDX-License-Identifier: Apache-2.0
#
# What libraries say when they end a program, where they keep no copy of it: the message of
# a report has the text, the file and the line that the program passed to them.

import os
import platform
import re
import shutil
import subprocess
import unittest

import harness
from harness import Scene

# The packages of pkg-config, or flags; a program's first line; its main; the message.
CASES = {
    "qt": (["Qt5Core"], "#include <QDebug>",
           'int n = argc + 2; qFatal("queue %d is %s", n, "gone");', "queue %d is gone"),  # the code computes n
    "qt_assert": (["Qt5Core"], "#include <QtGlobal>", 'qt_assert("n == 4", "queue.cc", 17);',
                  "Assertion failed: n == 4 (queue.cc: 17)"),
    "glog": (["libglog"], "#include <glog/logging.h>",
             'FLAGS_logtostderr = 1; CHECK_EQ(argc, 4) << "queue is gone";',
             "message.cc:3: Check failed: argc == 4 (1 vs. 4) queue is gone"),
    "glib": (["glib-2.0"], "#include <glib.h>", "g_assert_cmpint(argc, ==, 4);",
             "Assertion failed: argc == 4 (message.cc: 3)"),
    "glib_error": (["glib-2.0"], "#include <glib.h>", 'g_error("queue %s is gone", "jobs");',
                   "queue jobs is gone"),
    "openssl": (["libcrypto"], "#include <openssl/crypto.h>", "OPENSSL_assert(argc == 4);",
                "Assertion failed: argc == 4 (message.cc: 3)"),
    "unknown_place": (["-O1"], "#include <cstdlib>\nextern \"C\" [[gnu::noipa]] void OPENSSL_die("
                               "const char *, const char *, int) { abort(); }",
                      'OPENSSL_die("argc == 4", nullptr, 3);', "Assertion failed: argc == 4"),
    "glib_structured": (["glib-2.0"], '#define G_LOG_USE_STRUCTURED\n#include <glib.h>',
                        'g_error("the queue is gone");', "the queue is gone"),
    "python": (["python3-embed"], "#include <Python.h>", 'Py_FatalError("the queue is gone");',
               "the queue is gone"),
    "libstdcxx": (["-D_GLIBCXX_ASSERTIONS"], "#include <vector>",
                  "std::vector<int> jobs(1); return jobs[argc + 3];",
                  "Assertion failed: __n < this->size()"),
    # Each argument is copied from one register to another.
    "libstdcxx_not_optimized": (["-D_GLIBCXX_ASSERTIONS", "-O0"], "#include <vector>",
                                "std::vector<int> jobs(1); return jobs[argc + 3];",
                                "Assertion failed: __n < this->size()"),
    "abseil": (["absl_raw_logging_internal"], "#include <absl/base/internal/raw_logging.h>",
               'ABSL_RAW_CHECK(argc == 4, "queue is gone");',
               "message.cc:3: Check argc == 4 failed: queue is gone"),
}


# A log and a file of data, whose last lines are still in buffers.
LOGS = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    FILE *data = fopen("data", "w"), *log = fopen("log", "a");
    fprintf(data, "a customer\n");
    fprintf(log, "starting\nno table 'jobs', password=hunter2hunter2\n");
    abort();
}
"""


def flags_of(package):
    done = subprocess.run(["pkg-config", "--cflags", "--libs", package], check=False,
                          capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else None


@unittest.skipUnless(platform.machine() == "x86_64", "code is followed on x86-64")
@unittest.skipIf(shutil.which("pkg-config") is None, "pkg-config is not installed")
class FatalCalls(unittest.TestCase):
    def test_what_was_logged_and_not_written_is_reported(self):
        for way in ("--via=preload", "--via=trace"):
            with self.subTest(way=way), Scene() as scene:
                scene.preload = None
                with open(os.path.join(scene.folder, "logs.c"), "w", encoding="ascii") as file:
                    file.write(LOGS)
                program = os.path.join(scene.folder, "logs")
                subprocess.run(["gcc", "-o", program, "logs.c"], cwd=scene.folder, check=True)
                scene.run([harness.CRASHHOOK, "run", way, "--", program])
                report, = scene.reports()
                log, = report["crash"]["unwritten"]
                self.assertRegex(log["text"], "^starting\nno table 'jobs', password=")
                text = scene.command("show").stdout
                self.assertIn("Logged, not yet written:", text)
                self.assertIn("no table 'jobs'", text)
                self.assertNotIn("hunter2", text)
                self.assertNotIn("a customer", text)
                self.assertIn("no table &#39;jobs&#39;", scene.page(scene.report_paths()[0]))

    def check(self, name):
        packages, head, body, message = CASES[name]
        flags = packages if packages[0].startswith("-") else flags_of(packages[0])
        if flags is None:
            self.skipTest(f"{packages[0]} is not installed")
        with Scene() as scene:
            with open(os.path.join(scene.folder, "message.cc"), "w", encoding="ascii") as file:
                file.write(f"{head}\nint main(int argc, char **) {{\n{body}\nreturn 0; }}\n")
            program = os.path.join(scene.folder, "message")
            subprocess.run(["g++", "-std=c++17", "-w", "-g", "-O1", "-fPIC", "message.cc", "-o",
                            program, *flags], cwd=scene.folder, check=True)
            scene.run([program], CRASHHOOK_ARGUMENTS="yes")
            report, = scene.reports()
            # A check of a library's header is in that file.
            self.assertRegex(report["crash"].get("message", ""),
                             f"^{re.escape(message)}( \\(/usr/include/.*: [0-9]+\\))?$")
            check = message.startswith("Assertion failed: ")
            self.assertEqual(report["crash"]["kind"] == "assertion", check)
            self.assertIn(re.sub(r" \([a-z]+\.cc: [0-9]+\)$", "", message),
                          scene.command("show").stdout)



def add_tests():
    for name in CASES:
        setattr(FatalCalls, f"test_{name}", lambda self, name=name: self.check(name))


add_tests()

if __name__ == "__main__":
    harness.main()
