# SPDX-License-Identifier: Apache-2.0
#
# check_languages CRASHHOOK: programs in Rust, with both of its manglings, and in D crash
# under the handler, and their reports name what people wrote. The programs are kept in
# tests/cases/languages, so that no compiler of either is needed here.

import functools
import glob
import json
import os
import platform
import subprocess
import sys
import tempfile

import harness

PROGRAMS = os.path.join(harness.CASES, "languages")

# Of each frame of the program's own, innermost first: its name, its line in garden.*,
# and whether it was inlined.
WANTED = {
    "rust-legacy": [
        ("core::ptr::read_volatile", None, True),
        ("garden::pond::Pond<T>::drain", 25, False),
        ("<garden::pond::Pond<i32> as garden::pond::Water>::flow", 18, False),
        ("garden::main::{{closure}}", 40, True),
        ("garden::visit", 33, False),
        ("main", 40, False)],
    "rust-v0": [
        ("core::ptr::read_volatile::<i32>", None, True),
        ("<garden::pond::Pond<i32>>::drain::<i32>", 25, False),
        ("<garden::pond::Pond<i32> as garden::pond::Water>::flow", 18, False),
        ("garden::main::{closure#0}", 40, True),
        ("garden::visit::<garden::main::{closure#0}>", 33, False),
        ("main", 40, False)],
    "d": [
        ("garden.Pond!(int).Pond.drain!(short).drain(const(short*))", 12, False),
        ("garden.visit(ref garden.Pond!(int).Pond, ulong)", 18, False),
        ("main", 24, False)],
}


def report_of(crashhook, program):
    with tempfile.TemporaryDirectory() as spool:
        subprocess.run([crashhook, "run", "--spool", spool, "--", program], check=False,
                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = glob.glob(os.path.join(spool, "*.json"))
        assert len(found) == 1, f"{len(found)} reports"
        return json.loads(harness.run(crashhook, "show", "--json", found[0]))


def line_in_garden(frame):
    garden = frame.get("file", "").startswith("/garden/garden.")
    return frame["line"] if garden else None


def check(crashhook, name):
    report = report_of(crashhook, os.path.join(PROGRAMS, name))
    images = [i for i in report["images"] if os.path.basename(i["path"]) == name]
    thread = next(t for t in report["threads"] if t["crashed"])
    frames = thread["backtrace"]["frames"][:len(WANTED[name])]
    got = [(f.get("function"), line_in_garden(f), f["inline"]) for f in frames]
    assert got == WANTED[name], "\n".join(map(str, got))
    assert len(images) == 1, f"the program is {len(images)} images"
    assert thread["backtrace"]["ended"] == "end-of-stack", thread["backtrace"]["ended"]


def main(crashhook):
    if platform.machine() != "x86_64":
        print("skipped: the programs are for x86-64")
        sys.exit(77)
    harness.tell((name, functools.partial(check, crashhook, name)) for name in WANTED)


if __name__ == "__main__":
    main(sys.argv[1])
