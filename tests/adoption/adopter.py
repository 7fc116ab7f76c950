# SPDX-License-Identifier: Apache-2.0
#
# What the tests of adopting share: a program that crashes in a function that can be told
# from others, how a build's commands are run, and what is asserted of its report.

import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))

PROGRAM = """
static int total;
__attribute__((noinline)) int price_of(volatile int *item)
{
    *item = 120; // crashes here
    return total += *item;
}

int main(int argc, char **argv)
{
    (void)argv;
    return argc > 9 ? 1 : price_of((volatile int *)0);
}
"""
# Exits with 7 where the library is one that says that there is no handler.
WITHOUT_HANDLER = """
#include <errno.h>
#include <crashhook/crashhook.h>
#include <crashhook/flight.h>
int main(void)
{
    return crashhook_install(0) == ENOTSUP && crashhook_set_tag("a", "b") == ECANCELED ? 7 : 1;
}
"""
CRASH_SECONDS = 60


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def run(test, *command, folder=None, variables=None, fails=False):
    """What a command of a build says; it has to succeed, or to fail."""
    kept = {k: v for k, v in os.environ.items()
            if k not in ("CFLAGS", "CXXFLAGS", "LDFLAGS", "CC", "CXX")
            and not k.startswith("CRASHHOOK_")}
    done = subprocess.run(command, cwd=folder, env={**kept, **(variables or {})}, text=True,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    test.assertEqual(done.returncode != 0, fails, f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


def crash(test, scene, program, **variables):
    """Runs PROGRAM, which has to die by its SIGSEGV soon."""
    scene.preload = None
    began = time.monotonic()
    done = subprocess.run([program], env=scene.environment(variables), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=CRASH_SECONDS)
    test.assertEqual(-done.returncode, signal.SIGSEGV, done.stdout)
    test.assertLess(time.monotonic() - began, CRASH_SECONDS)
    return done.stdout


def check_report(test, scene, said=""):
    """The one report in the spool, as it is shown, names the function of PROGRAM."""
    test.assertEqual(len([name for name in os.listdir(scene.spool) if name.endswith(".json")]), 1,
                     said)
    test.assertRegex(scene.command("show").stdout, r"\n   0  price_of at .*program\.c:5")
