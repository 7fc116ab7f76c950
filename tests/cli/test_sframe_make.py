# SPDX-License-Identifier: Apache-2.0
#
# `crashhook sframe make` writes the rules that .eh_frame has, and `sframe verify` finds
# where the two differ.

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["CRASHHOOK_BUILD"]
CRASHHOOK = os.path.join(BUILD, "bin", "crashhook")
CASES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cases",
                     "formats", "sframe")
SOURCE = r"""
#include <stdarg.h>
void use(void *object);
void use(void *object) { __asm__ volatile("" : : "r"(object) : "memory"); }
int add(int count, ...)
{
    va_list all;
    int sum = 0;
    va_start(all, count);
    while (count-- > 0)
        sum += va_arg(all, int);
    va_end(all);
    return sum;
}
void aligned(int count)
{
    char bytes[count];
    double pair[4] __attribute__((aligned(64))) = { 1 };
    use(bytes);
    use(pair);
}
int main(int count, char **words)
{
    aligned(count);
    return add(2, count, words[0] == 0);
}
"""


def run(*command):
    return subprocess.run([CRASHHOOK, "sframe", *command], capture_output=True, text=True,
                          check=False)


def joined(rows):
    """Rows with equal neighbours as one: GNU as repeats some."""
    out = []
    for row in rows:
        if out and all(out[-1][key] == row[key] for key in ("cfa", "ra", "fp", "mangled")):
            out[-1]["end"] = row["end"]
        else:
            out.append(dict(row))
    return out


class SframeMake(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="crashhook-sframe.")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, *flags):
        with open(self.path("program.c"), "w", encoding="utf-8") as file:
            file.write(SOURCE)
        path = self.path("program")
        subprocess.run(["gcc", "-O1", "-w", *flags, "-o", path, self.path("program.c")],
                       check=True)
        return path

    def make(self, path, version):
        """A copy of the file that has the section."""
        section = self.path("section")
        made = run("make", "--version", version, "-o", section, path)
        self.assertEqual(made.returncode, 0, made.stderr)
        address = re.search(r"for address (0x[0-9a-f]+);", made.stdout)[1]
        copy = self.path(f"copy{version}")
        subprocess.run(["objcopy", "--remove-section=.sframe", path, copy], check=True)
        subprocess.run(["objcopy", "--add-section", f".sframe={section}",
                        "--set-section-flags", ".sframe=alloc,readonly,data",
                        "--change-section-address", f".sframe={address}", copy],
                       check=True, stderr=subprocess.DEVNULL)
        return copy

    def functions(self, path):
        dumped = run("dump", "--json", path)
        self.assertEqual(dumped.returncode, 0, dumped.stderr)
        return {f["start"]: f for f in json.loads(dumped.stdout)["functions"]}

    def test_a_made_section_agrees_with_the_cfi_of_real_files_at_every_address(self):
        compared = 0
        for path in self.compile(), sys.executable, CRASHHOOK:
            for version in "2", "3":
                verified = run("verify", "--json", self.make(os.path.realpath(path), version))
                self.assertEqual(verified.returncode, 0, verified.stdout[:1000])
                found = json.loads(verified.stdout)
                self.assertEqual(found["disagreements"], 0)
                self.assertGreater(found["covered"], found["functions"] * 0.9 - 2)
                compared += found["bytes"]
        print(f"{compared} bytes of code compared")

    def test_a_function_that_is_larger_than_its_file_ends_both_commands(self):
        path = self.make(self.compile(), "2")
        with open(path, "rb") as file:
            data = bytearray(file.read())
        place = re.search(r" \.eh_frame +PROGBITS +(\w+) (\w+) (\w+)", subprocess.run(
            ["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout)
        vaddr, at, size = (int(number, 16) for number in place.groups())
        end, starts = at + size, {}
        bias = vaddr - at
        while at < end and (length := int.from_bytes(data[at:at + 4], "little")):
            if data[at + 4:at + 8] != bytes(4):
                field = at + 8
                start = int.from_bytes(data[field:field + 4], "little", signed=True)
                starts[bias + field + start] = field
            at += 4 + length
        last = starts[max(starts)]
        data[last + 4:last + 8] = (0x7fffffff).to_bytes(4, "little")
        with open(path, "wb") as file:
            file.write(data)
        for command in (["verify"], ["make", "-o", self.path("section")]):
            done = subprocess.run([CRASHHOOK, "sframe", *command, path], timeout=60,
                                  capture_output=True, text=True, check=False)
            self.assertIn(done.returncode, (0, 1), done.stderr)
        verified = run("verify", path)
        self.assertEqual(verified.returncode, 1)
        self.assertIn("more code than the file can have", verified.stderr)

    def test_rows_are_those_of_gnu_as(self):
        if "--gsframe" not in subprocess.run(["as", "--help"], capture_output=True,
                                             text=True, check=True).stdout:
            self.skipTest("as writes no SFrame here")
        path = self.compile("-Wa,--gsframe")
        theirs = self.functions(path)
        ours = self.functions(self.make(path, "3"))
        rows = 0
        for start, function in theirs.items():
            # The linker's own sections, and what only newer versions can say.
            if "name" not in function or function["pc_type"] == "mask" or \
               ours[start]["flex"] != function["flex"]:
                continue
            self.assertEqual(ours[start]["rows"], joined(function["rows"]), function)
            rows += len(ours[start]["rows"])
        self.assertGreater(rows, 8)

    def test_a_row_that_differs_is_shown_and_exits_1(self):
        path = self.make(self.compile(), "2")
        functions = self.functions(path)
        main = next(f for f in functions.values() if f.get("name") == "main")
        section = self.path("section")
        with open(section, "r+b") as file:
            content = bytearray(file.read())
            # The last row of the section: the CFA of its only word is one larger.
            content[-1] = (content[-1] + 8) % 128
            file.seek(0)
            file.write(content)
        subprocess.run(["objcopy", f"--update-section=.sframe={section}", path], check=True,
                       stderr=subprocess.DEVNULL)
        verified = run("verify", path)
        self.assertEqual(verified.returncode, 1, main)
        self.assertRegex(verified.stdout, r"0x[0-9a-f]+: (cfa|fp) is \S+, in \.eh_frame \S+;")
        self.assertRegex(verified.stdout, r" [1-9]\d* disagreements\n$")

    def test_files_without_rules_are_refused_in_one_line(self):
        text = self.path("text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("no ELF file\n")
        for path in text, self.path("missing"):
            for command in ("make", "-o", self.path("out"), path), ("verify", path):
                refused = run(*command)
                self.assertEqual(refused.returncode, 1)
                self.assertEqual(refused.stderr.count("\n"), 1, refused.stderr)
        self.assertIn("is no ELF file", run("verify", text).stderr)
        other = os.path.join(CASES, "s390x-v3", "libpub.so")
        self.assertIn("none of a linked file for x86-64", run("verify", other).stderr)
        plain = self.compile()
        self.assertIn("has no .sframe", run("verify", plain).stderr)
        self.assertEqual(run("make", plain).returncode, 2)
        self.assertEqual(run("make", "--version", "1", "-o", text, plain).returncode, 2)

    def test_a_dash_is_standard_output_for_the_section_alone(self):
        plain, section = self.compile(), self.path("section")
        made = run("make", "-o", section, plain)
        piped = subprocess.run([CRASHHOOK, "sframe", "make", "-o", "-", plain],
                               capture_output=True, check=True)
        with open(section, "rb") as file:
            self.assertEqual(piped.stdout, file.read())
        self.assertEqual(piped.stderr.decode(), made.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
