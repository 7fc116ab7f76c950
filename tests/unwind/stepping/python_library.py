# SPDX-License-Identifier: Apache-2.0
#
# A Python built here from Debian's source with SFrame, for interpreter.c. It takes a
# minute or two, so it is kept outside the build tree, for all builds of all trees:
# in CRASHHOOK_TEST_CACHE, or else in ~/.cache/crashhook-tests.

import fcntl
import glob
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../support"))
import debian_sources  # pylint: disable=wrong-import-position

PACKAGE = "python3.11"
LIBRARY = f"lib{PACKAGE}.so"
FLAGS = "CFLAGS=-O2 -g0 -w -Wa,--gsframe"
FOLDER = debian_sources.place(os.path.join(
    os.environ.get("CRASHHOOK_TEST_CACHE") or os.path.expanduser("~/.cache/crashhook-tests"),
    PACKAGE))


def is_built():
    return os.path.exists(os.path.join(FOLDER, "build", LIBRARY))


def build():
    """The arguments that compile and link a program with it. Where the source cannot be
    fetched, OSError or CalledProcessError."""
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        debian_sources.fetch(FOLDER, [PACKAGE])
        source = glob.glob(f"{FOLDER}/{PACKAGE}-*/")[0]
        built = os.path.join(FOLDER, "build")
        os.makedirs(built, exist_ok=True)
        if not is_built():
            debian_sources.run(
                [os.path.join(source, "configure"), "-q", "--enable-shared",
                 "--without-ensurepip", "--disable-test-modules", "OPT=", FLAGS],
                cwd=built)
            debian_sources.run(["make", "-s", "-j2", LIBRARY], cwd=built)
    return [f"-I{source}Include", f"-I{built}", f'-DPYTHON_LIBRARY="{source}Lib"',
            os.path.join(built, LIBRARY), f"-Wl,-rpath,{built}"]
