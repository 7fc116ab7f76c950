# SPDX-License-Identifier: Apache-2.0
#
# `crashhook types dump` of BTF and by spellings, and `types diff`. tests/symbolizer
# compares CTF and DWARF with other tools.

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from cli_scene import CRASHHOOK

SOURCE = """
enum mood { SAD = -1, GLAD = 1, CALM = 2 };
struct pair { int first; int bits : 3; unsigned m[3][4]; };
union either { long l; double d; };
typedef struct pair *pair_p;
struct big { struct pair p; enum mood m; int (*f)(struct pair *, ...); const char *name;
             union either u; _Bool b; unsigned long long q; };
struct big global;
pair_p pointer;
int function(struct big *b, int n) { return b->p.first + n; }
int main(void) { return function(&global, 1); }
"""
KERNEL = "/sys/kernel/btf/vmlinux"


def types(*arguments):
    return subprocess.run([CRASHHOOK, "types", *arguments], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Types(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="crashhook-test.")
        cls.btf = cls.compile("btf.o", SOURCE, "-gbtf", "-c")
        cls.ctf = cls.compile("ctf.o", SOURCE, "-gctf", "-c")
        cls.dwarf = cls.compile("dwarf", SOURCE, "-g")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def compile(cls, name, source, *options):
        path = os.path.join(cls.folder.name, name)
        subprocess.run(["gcc", *options, "-x", "c", "-", "-o", path], input=source, text=True,
                       check=True)
        return path

    def test_btf_has_the_types_that_ctf_has(self):
        for name in ("struct big", "struct pair", "union either", "enum mood", "pair_p",
                     "function", "global"):
            shown = [types("dump", path, name) for path in (self.btf, self.ctf)]
            self.assertEqual([done.returncode for done in shown], [0, 0], name)
            self.assertEqual(shown[0].stdout, shown[1].stdout)
        document = json.loads(types("dump", "--json", self.btf).stdout)
        self.assertEqual(document["source"], "btf")
        self.assertEqual([f["name"] for f in document["functions"]], ["main", "function"])

    def test_types_are_found_by_each_spelling(self):
        for spelling, size in (("int", 4), ("unsigned", 4), ("struct pair *", 8),
                               ("struct pair*", 8), ("char *", 8), ("const char *", 8),
                               ("unsigned long long", 8), ("struct big **", 8),
                               ("unsigned [3][4]", 48), ("int[3]", 12), ("struct big [2]", 208)):
            for path in (self.btf, self.ctf, self.dwarf):
                done = types("dump", path, spelling)
                self.assertEqual(done.returncode, 0, (path, spelling, done.stderr))
                self.assertIn(f", {size} bytes", done.stdout.splitlines()[0])
        done = types("dump", self.btf, "int (*)(struct pair *, ...)")
        self.assertIn("8 bytes, pointer", done.stdout)
        for spelling in ("colour", "int [", "int [x]", "colour *", "int ]"):
            self.assertEqual(types("dump", self.btf, spelling).returncode, 1, spelling)

    def test_equal_files_have_no_differences(self):
        for path in (self.btf, self.ctf, self.dwarf):
            done = types("diff", path, path)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_changed_layout_is_shown_and_exits_with_1(self):
        changed = self.compile("changed.o", SOURCE.replace("int first", "long first"), "-gbtf",
                               "-c")
        done = types("diff", self.btf, changed)
        self.assertEqual(done.returncode, 1)
        self.assertIn('changed "struct pair"\n- struct pair, 56 bytes\n', done.stdout)
        self.assertIn("+ struct pair, 64 bytes\n", done.stdout)
        document = json.loads(types("diff", "--json", self.btf, changed).stdout)
        self.assertFalse(document["compatible"])
        self.assertEqual({d["name"] for d in document["differences"]},
                         {"struct pair", "struct big"})

    def test_what_is_only_added_breaks_nothing_and_what_is_removed_does(self):
        more = self.compile("more.o", SOURCE + "struct more { int a; } more;", "-gbtf", "-c")
        self.assertEqual(types("diff", self.btf, more).returncode, 0)
        self.assertIn('added "struct more"', types("diff", self.btf, more).stdout)
        self.assertEqual(types("diff", more, self.btf).returncode, 1)

    def test_files_that_cannot_be_compared_are_told_from_differences(self):
        done = types("diff", self.btf, "/etc/passwd")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_damaged_btf_is_refused(self):
        section = os.path.join(self.folder.name, "section")
        subprocess.run(["objcopy", "-O", "binary", "--only-section=.BTF",
                        "--set-section-flags", ".BTF=alloc", self.btf, section], check=True)
        with open(section, "rb") as file:
            whole = file.read()
        self.assertEqual(types("dump", section, "struct pair").returncode, 0)
        for size in range(0, len(whole), 11):
            with open(section, "wb") as file:
                file.write(whole[:size])
            self.assertEqual(types("dump", section).returncode, 1, size)

    @unittest.skipUnless(os.path.exists(KERNEL) and shutil.which("bpftool"),
                         "the kernel has no BTF, or bpftool is not installed")
    def test_structures_of_the_kernel_are_bpftools(self):
        raw = json.loads(subprocess.run(["bpftool", "-j", "btf", "dump", "file", KERNEL],
                                        check=True, stdout=subprocess.PIPE).stdout)
        theirs = {}
        for entry in raw["types"]:
            if entry["kind"] in ("STRUCT", "UNION") and entry["name"] != "(anon)":
                key = f"{entry['kind'].lower()} {entry['name']}"
                theirs.setdefault(key, []).append(
                    (entry["size"], [(m["bits_offset"], m["name"].replace("(anon)", ""))
                                     for m in entry["members"]]))
        ours = {}
        for entry in json.loads(types("dump", "--json", KERNEL).stdout)["types"]:
            if entry["kind"] in ("struct", "union") and not entry["name"].endswith(" "):
                ours.setdefault(entry["name"], []).append(
                    (entry["size"], [(m["offset_bits"], m["name"] or "")
                                     for m in entry["members"]]))
        self.assertGreater(len(theirs), 5000)
        self.assertEqual(set(ours), set(theirs))
        different = [name for name, layouts in theirs.items()
                     if [size for size, _ in ours[name]] != [size for size, _ in layouts] or
                     any(mine != other for (_, mine), (_, other) in zip(ours[name], layouts))]
        self.assertEqual(different, [])
        print(f"{len(theirs)} structures compared")


if __name__ == "__main__":
    unittest.main(verbosity=2)
