# SPDX-License-Identifier: Apache-2.0
#
# The SFrame sections that GNU as writes for real libraries (zlib, jansson and at the full
# count sqlite, built here from Debian's sources): `crashhook sframe dump` says what `readelf --sframe` says,
# and `sframe lookup` finds the same rows.
#
# With arguments it compares listings that were made before: FILE LISTING...
# Exit code 77: as writes no SFrame, or the sources could not be fetched.

import glob
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("CRASHHOOK_BUILD", os.path.join(ROOT, "build", "release"))
CRASHHOOK = os.path.join(BUILD, "bin", "crashhook")
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import debian_sources  # pylint: disable=wrong-import-position
from debian_sources import run  # pylint: disable=wrong-import-position

WORK = debian_sources.place(os.path.join(BUILD, "tests", "sframe_readelf"))

FLAGS = ["-O2", "-g0", "-fPIC", "-w", "-Wa,--gsframe", "-shared"]
FULL = os.environ.get("CRASHHOOK_FULL") == "1"
PACKAGES = ["zlib", "jansson", *(["sqlite3"] if FULL else [])]


def build_zlib(out):
    source = glob.glob(f"{WORK}/zlib-*/")[0]
    files = [f for f in glob.glob(f"{source}*.c")]
    run(["gcc", *FLAGS, f"-I{source}", "-DHAVE_UNISTD_H", "-o", out, *sorted(files)])


def build_jansson(out):
    source = glob.glob(f"{WORK}/jansson-*/")[0]
    run(["cmake", "-S", source, "-B", f"{source}build", "-DJANSSON_BUILD_SHARED_LIBS=ON",
         "-DJANSSON_BUILD_DOCS=OFF", "-DJANSSON_WITHOUT_TESTS=ON",
         "-DJANSSON_EXAMPLES=OFF", "-DCMAKE_C_FLAGS=-O2 -w -Wa,--gsframe"])
    run(["cmake", "--build", f"{source}build"])
    shutil.copy(f"{source}build/lib/libjansson.so", out)


def build_sqlite(out):
    source = glob.glob(f"{WORK}/sqlite3-*/")[0]
    if not os.path.exists(f"{source}sqlite3.c"):
        run(["sh", "./configure", "-q", "--disable-tcl"], cwd=source)
        run(["make", "-s", "sqlite3.c"], cwd=source)
    run(["gcc", *FLAGS, "-o", out, f"{source}sqlite3.c"])


def build_own(out):
    files = glob.glob(f"{ROOT}/formats/*.c") + glob.glob(f"{ROOT}/base/*.c")
    run(["gcc", *FLAGS, f"-I{ROOT}", "-o", out, *sorted(files)])


def read_listing(text):
    """readelf's functions: [start, size, flags, [[start, cfa, fp, ra], ...]]"""
    functions = []
    for line in text.splitlines():
        head = re.match(r"\s+func idx \[\d+\]: pc = (0x[0-9a-f]+), size = (\d+) bytes"
                        r"(.*)", line)
        row = re.match(r"\s+([0-9a-f]{16})  (.*)$", line)
        if head:
            functions.append([int(head[1], 16), int(head[2]), head[3], []])
        elif row and row[2].strip() == "RA undefined":
            functions[-1][3].append([int(row[1], 16), "undefined"])
        elif row:
            functions[-1][3].append([int(row[1], 16), *row[2].split()])
    return functions


def our_listing(dump, new):
    """Our functions in readelf's spelling, which is u for a fixed return address in
    version 1 and f in new ones. Loads are not told apart in rows that name registers:
    where readelf writes (REG+N) the brackets are dropped on both sides."""
    fixed = f"[cfa{dump['fixed_ra_offset']:+d}]" if dump["fixed_ra_offset"] else ""
    bases = {"amd64": ("r7", "r6"), "s390x": ("r15", "r11")}
    sp, fp = bases.get(dump["arch"], ("r31", "r29"))

    def spell(rule):
        if rule is None:
            return "u"
        rule = re.sub(r"^\[cfa([+-]\d+)\]$", r"c\1", rule).strip("[]")
        rule = re.sub(rf"^{sp}([+-])", r"sp\1", rule)
        return re.sub(rf"^{fp}([+-])", r"fp\1", rule)

    functions = []
    for function in dump["functions"]:
        start = int(function["start"], 16)
        rows = []
        for row in function["rows"]:
            at = row["start"] + (0 if function["pc_type"] == "mask" else start)
            if row["cfa"] == "undefined":
                rows.append([at, "undefined"])
                continue
            ra = spell(row["ra"])
            if row["ra"] == fixed:
                ra = "f" if new else "u"
            rows.append([at, spell(row["cfa"]), spell(row["fp"]),
                         ra + ("[s]" if row["mangled"] else "")])
        functions.append([start, function["size"], function["pauth_key"] == "b", rows])
    return functions


def same_row(theirs, ours, fixed):
    if theirs[0] != ours[0] or len(theirs) != len(ours):
        return False
    for their, our in zip(theirs[1:], ours[1:]):
        # U is a rule that a pad leaves out; s390x's registers have no offset.
        their = {"U": "f" if fixed and our == "f" else "u"}.get(their, their.strip("()"))
        if their != our and their + "+0" != our:
            return False
    return True


def compare(path, listing):
    """Differences between our dump of the file and readelf's listing of it."""
    dump = json.loads(run([CRASHHOOK, "sframe", "dump", "--json", path]))
    new = "SFRAME_VERSION_1" not in listing
    theirs = read_listing(listing)
    ours = our_listing(dump, new)
    if len(theirs) != len(ours):
        return [f"{path}: {len(ours)} functions, readelf has {len(theirs)}"], 0, 0
    problems = []
    for their, our in zip(theirs, ours):
        if their[:2] != our[:2] or ("B key" in their[2]) != our[2]:
            problems.append(f"{path}: function {our[:3]}, readelf has {their[:3]}")
        if len(their[3]) != len(our[3]):
            problems.append(f"{path}: {len(our[3])} rows at {our[0]:#x}, readelf has "
                            f"{len(their[3])}")
        for their_row, our_row in zip(their[3], our[3]):
            if not same_row(their_row, our_row, dump["fixed_ra_offset"]):
                problems.append(f"{path}: row {our_row}, readelf has {their_row}")
    return problems, len(ours), sum(len(f[3]) for f in ours)


def check_lookups(path):
    """Looks every row's first and last address up; the rows must be the dump's."""
    dump = json.loads(run([CRASHHOOK, "sframe", "dump", "--json", path]))
    wanted = {}
    for function in dump["functions"]:
        if function["pc_type"] == "mask":
            continue
        start = int(function["start"], 16)
        for row in function["rows"]:
            if row["start"] < row["end"]:
                wanted[start + row["start"]] = row
                wanted[start + row["end"] - 1] = row
    addresses = sorted(wanted)
    problems = []
    for i in range(0, len(addresses), 2000):
        chunk = addresses[i:i + 2000]
        lines = run([CRASHHOOK, "sframe", "lookup", "--json", path,
                     *map(hex, chunk)]).splitlines()
        for address, line in zip(chunk, lines):
            if json.loads(line)["row"] != wanted[address]:
                problems.append(f"{path}: lookup of {address:#x}: {line}")
    return problems, len(addresses)


def check_library(name, build):
    path = f"{WORK}/{name}.so"
    build(path)
    listing = run(["readelf", "--sframe=.sframe", path])
    problems, functions, rows = compare(path, listing)
    more, lookups = check_lookups(path)
    problems += more
    if rows == 0:
        problems.append(f"{path}: no rows were compared")
    print(f"{name}: {functions} functions, {rows} rows, {lookups} lookups, "
          f"{len(problems)} differences")
    for problem in problems[:10]:
        print("  " + problem)
    return len(problems)


def check_given(arguments):
    failures = 0
    for path, listing in zip(arguments[::2], arguments[1::2]):
        with open(listing, encoding="utf-8") as file:
            problems, functions, rows = compare(path, file.read())
        print(f"{path}: {functions} functions, {rows} rows, {len(problems)} differences")
        for problem in problems[:5]:
            print("  " + problem)
        failures += len(problems)
    return failures


def main():
    if len(sys.argv) > 1:
        return 1 if check_given(sys.argv[1:]) else 0
    if "--gsframe" not in run(["as", "--help"]):
        print("SKIPPED: as of this machine writes no SFrame (binutils before 2.40)")
        return 77
    os.makedirs(WORK, exist_ok=True)
    failures = check_library("crashhook", build_own)
    try:
        debian_sources.fetch(WORK, PACKAGES)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"SKIPPED {PACKAGES}: cannot fetch their sources: {error}")
        return 1 if failures else 77
    failures += check_library("zlib", build_zlib)
    failures += check_library("jansson", build_jansson)
    if FULL:
        failures += check_library("sqlite", build_sqlite)
    return 1 if failures else 0


sys.exit(main())
