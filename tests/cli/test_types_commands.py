# SPDX-License-Identifier: Apache-2.0
#
# `crashhook types dump` of BTF and by spellings, and `types diff`. tests/symbolizer
# compares CTF and DWARF with other tools.

import itertools
import json
import os
import random
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib

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
ENUMS = """
enum low { BELOW = -1, ABOVE = 5 } low;
enum wide { BYTE = 0x80, LAST = 0xff, SHORT = 0x8000, TOP = 0xf0000000u } wide;
enum huge { MOST = 0xffffffff00000000ull, LEAST = 1 } huge;
enum far { UNDER = -5000000000ll, OVER = 7 } far;
int main(int count, char **words) { return words[count] != 0; }
"""
ENUM_VALUES = {"BELOW": -1, "ABOVE": 5, "BYTE": 0x80, "LAST": 0xff, "SHORT": 0x8000,
               "TOP": 0xf0000000, "MOST": "0xffffffff00000000", "LEAST": 1,
               "UNDER": -5000000000, "OVER": 7}
KERNEL = "/sys/kernel/btf/vmlinux"


def types(*arguments):
    return subprocess.run([CRASHHOOK, "types", *arguments], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Strings:
    """A table of strings; base is the size of those that it continues."""
    def __init__(self, base=0):
        self.base, self.bytes = base, b"" if base else b"\0"

    def __call__(self, text):
        at = self.base + len(self.bytes)
        self.bytes += text.encode() + b"\0"
        return at


class Version4:
    """A dictionary of CTF version 4, as include/ctf.h of binutils describes it."""
    INTEGER, POINTER, ARRAY, STRUCT, UNION, ENUM, FORWARD, TYPEDEF = range(1, 9)
    FUNCTION, PROTOTYPE, VARIABLE = 12, 13, 14
    ENUM64, CONFLICTING, BIG, SLICE, FLOAT = 19, 28, 29, 30, 31

    def __init__(self, order="<", base=0):
        self.order, self.types, self.strings = order, b"", Strings(base)

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def add(self, kind, name="", size=0, parts=(), count=0, flag=False):
        self.types += self.pack("3I", self.strings(name) if name else 0,
                                flag << 31 | kind << 24 | count, size)
        self.types += b"".join(self.pack("I", part) for part in parts)

    def section(self, compressed=False, parent_types=0, symbols=True, unit=""):
        unit = self.strings(unit) if unit else 0
        extra = 64 if symbols else 32
        header = self.pack("HBB5I", 0xEB9F, 1, 0, 24, extra, len(self.types),
                           extra + len(self.types), len(self.strings.bytes))
        header += self.pack("QQ3I", 0xD167AE03A2C5 << 16 | 5, compressed, unit,
                            self.strings.base, parent_types)
        header += self.pack("8I", *[extra] + [0, extra] * 3 + [0]) if symbols else b""
        header += bytes(24 + extra - len(header))
        rest = self.types + self.strings.bytes
        return header + (zlib.compress(rest) if compressed else rest)


def archive_of(entries, dicts, names):
    """An archive: for each member the places of its name and of its dictionary."""
    start = 40 + 8 * len(entries)
    head = struct.pack("<5Q", 0x8B47F2A4D7623EEB, 2, len(entries) // 2, start + len(dicts), start)
    return head + struct.pack(f"<{len(entries)}Q", *entries) + dicts + names


def version_4(order):
    """One type of each form."""
    d = Version4(order)
    d.add(d.INTEGER, "int", 4, [1 << 24 | 32])                                  # 1
    d.add(d.FLOAT, "double", 8, [2 << 24 | 64])                                 # 2
    d.add(d.STRUCT, "pair", 24, [d.strings("first"), 1, 0, d.strings("bits"), 1, 3 << 24 | 32,
                                 d.strings("d"), 2, 64], 3, flag=True)          # 3
    d.add(d.POINTER, "", 3)                                                     # 4
    d.add(d.PROTOTYPE, "", 1, [d.strings("p"), 4, 0, 0], 2)                     # 5
    d.add(d.FUNCTION, "run", 5, count=1)                                        # 6
    d.add(d.BIG, "", 1)                                                         # 7: a prefix
    d.add(d.STRUCT, "huge", 16, [d.strings("a"), 1, 0, d.strings("b"), 1, 64, 0, 0, 0xFFFFFFC0,
                                 d.strings("c"), 1, 64], 4)
    d.add(d.ENUM64, "wide", 8, [d.strings("TOP"), 5, 1], 1)                     # 8
    d.add(d.SLICE, "", 1, [1])                                                  # 9
    d.types += d.pack("2H", 0, 3)
    d.add(d.STRUCT, "sliced", 4, [d.strings("s"), 9, 0], 1)                     # 10
    d.add(d.VARIABLE, "word", 1, [1])                                           # 11
    d.add(d.ARRAY, "", 0, [1, 1, 5])                                            # 12
    d.add(d.TYPEDEF, "five", 12)                                                # 13
    return d


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

    def test_headers_and_labels_are_shown(self):
        path = os.path.join(self.folder.name, "labelled.ctf")
        strings = b"\0int\0unit.c\0SUNW_1.1\0"
        with open(path, "wb") as file:
            file.write(struct.pack(">HBB12I", 0xDFF2, 4, 2, 0, 0, 5, 0, *[8] * 6, 24,
                                   len(strings)))
            file.write(struct.pack(">6I", 12, 1, 1, 0x06000000, 4, 0x01000020) + strings)
        shown = types("dump", "--headers", path)
        self.assertEqual(shown.stdout,
                         ".ctf: CTF version 3, big-endian, 1 types in 16 bytes, strings of"
                         " 21 bytes, of unit.c\n  label SUNW_1.1: types up to 1\n")
        document = json.loads(types("dump", "--headers", "--json", path).stdout)
        self.assertEqual(document["headers"][0]["labels"],
                         [{"name": "SUNW_1.1", "last_type": 1}])
        self.assertEqual(document["types"][0]["name"], "int")
        document = json.loads(types("dump", "--headers", "--json", self.btf).stdout)
        self.assertEqual([(h["name"], h["version"]) for h in document["headers"]],
                         [(".BTF", 1)])
        self.assertEqual(json.loads(types("dump", "--headers", "--json", self.dwarf)
                                    .stdout)["headers"], [])

    def show(self, section, *arguments):
        path = os.path.join(self.folder.name, "made.ctf")
        with open(path, "wb") as file:
            file.write(section)
        done = types("dump", *arguments[:-1], path, *arguments[-1:])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_version_4_is_read_in_both_byte_orders(self):
        for order, compressed, symbols in itertools.product("<>", (False, True), (False, True)):
            section = version_4(order).section(compressed, symbols=symbols, unit="unit.c")
            self.assertEqual(self.show(section, "struct pair"),
                             "struct pair, 24 bytes\n       0    int  first\n"
                             "       4.0  int  bits : 3\n       8    double  d\n")
            self.assertEqual(self.show(section, "struct huge"),
                             "struct huge, 4294967312 bytes\n       0    int  a\n"
                             "       8    int  b\n  536870920    int  c\n")
            self.assertEqual(self.show(section, "enum wide"),
                             "enum wide, 8 bytes\n  TOP = 4294967301\n")
            self.assertEqual(self.show(section, "struct sliced"),
                             "struct sliced, 4 bytes\n       0.0  int  s : 3\n")
            self.assertEqual(self.show(section, "run"), "int run(struct pair *, ...)\n")
            self.assertEqual(self.show(section, "word"), "int word\n")
            self.assertEqual(self.show(section, "five"), "typedef five = int [5], 20 bytes\n")
            self.assertRegex(self.show(section, "--headers", "word"),
                             r"^\.ctf: CTF version 4, (little|big)-endian"
                             f"{', compressed' if compressed else ''}, .*, of unit\\.c\n")

    def test_units_of_version_4_continue_their_parent(self):
        parent = version_4("<")
        units = []
        for name, size in (("a.c", 24), ("b.c", 32)):
            child = Version4("<", len(parent.strings.bytes))
            child.add(child.CONFLICTING, name)
            child.add(child.STRUCT, "own", size, [child.strings("f"), 13, 0], 1)  # 14
            child.add(child.POINTER, "", 14)                                      # 15
            child.add(child.VARIABLE, "own_" + name[0], 15, [1])
            units.append(child.section(parent_types=13, unit=name))
        dicts, names = b"", b""
        entries = []
        for name, section in zip((b".ctf", b"a.c", b"b.c"), [parent.section()] + units):
            entries += [len(names), len(dicts)]
            names += name + b"\0"
            dicts += struct.pack("<Q", len(section)) + section
            dicts += bytes(-len(dicts) % 8)
        archive = archive_of(entries, dicts, names)
        self.assertEqual(self.show(archive, "own_a"), "struct own * own_a\n")
        self.assertEqual(self.show(archive, "struct own"),
                         "struct own, 24 bytes, of a.c\n       0    five  f\n"
                         "struct own, 32 bytes, of b.c\n       0    five  f\n")

    def test_members_that_name_one_large_dictionary_are_refused(self):
        size = 60 << 20
        section = struct.pack("<HBB5IQQ3I", 0xEB9F, 1, 0, 24, 32, 0, size, 1,
                              0xD167AE03A2C5 << 16 | 5, 1, 0, 0, 0)
        section += bytes(24 + 32 - len(section)) + zlib.compress(bytes(size - 32 + 1), 9)
        path = os.path.join(self.folder.name, "large.ctf")
        with open(path, "wb") as file:
            file.write(archive_of([0, 0] * 6, struct.pack("<Q", len(section)) + section, b"a\0"))
        done = types("dump", path)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^crashhook: [^\n]*limit[^\n]*\n$")

    def test_damaged_version_4_is_refused_or_read(self):
        section = version_4("<").section()
        path = os.path.join(self.folder.name, "damaged.ctf")
        chance = random.Random(4)
        for number in range(60):
            damaged = bytearray(section[:chance.randrange(len(section))] if number % 2 else section)
            if damaged:
                damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
            with open(path, "wb") as file:
                file.write(damaged)
            self.assertIn(types("dump", path).returncode, (0, 1))

    def test_the_order_of_dimensions_is_what_a_flag_says(self):
        path = os.path.join(self.folder.name, "ordered.ctf")
        subprocess.run(["objcopy", "--dump-section", f".ctf={path}", self.ctf, os.devnull],
                       check=True)
        with open(path, "rb") as file:
            section = bytearray(file.read())
        for flag, expected in ((0, r"unsigned int \[12\]  m"),
                               (16, r"unsigned int \[(3\]\[4|4\]\[3)\]  m")):
            section[3] = section[3] & ~16 | flag
            with open(path, "wb") as file:
                file.write(section)
            self.assertRegex(types("dump", path, "struct pair").stdout, expected)

    def test_types_are_found_by_each_spelling(self):
        for spelling, size in (("int", 4), ("unsigned", 4), ("struct pair *", 8),
                               ("struct pair*", 8), ("char *", 8), ("const char *", 8),
                               ("unsigned long long", 8), ("struct big **", 8),
                               ("unsigned [3][4]", 48), ("int[3]", 12), ("struct big [2]", 208),
                               ("signed int", 4), ("void *", 8), ("struct pair const *", 8),
                               ("volatile int", 4), ("int (*)[3]", 8), ("char const *const", 8),
                               ("struct big (*)(char, int *)", 8)):
            for path in (self.btf, self.ctf, self.dwarf):
                done = types("dump", path, spelling)
                self.assertEqual(done.returncode, 0, (path, spelling, done.stderr))
                self.assertIn(f", {size} bytes", done.stdout.splitlines()[0])
        done = types("dump", self.btf, "int (*)(struct pair *, ...)")
        self.assertIn("8 bytes, pointer", done.stdout)
        for spelling in ("colour", "int [", "int [x]", "colour *", "int ]", "int (int)",
                         "int (*", "*", "colour const"):
            self.assertEqual(types("dump", self.btf, spelling).returncode, 1, spelling)

    def test_enumerators_have_the_signs_of_their_enums(self):
        path = self.compile("enums", ENUMS, "-g")
        files = {"dwarf": [path]}
        if shutil.which("clang"):
            clang = path + ".clang"
            subprocess.run(["clang", "-g", "-w", "-x", "c", "-", "-o", clang], input=ENUMS,
                           text=True, check=True)
            files["dwarf"].append(clang)
        if shutil.which("pahole"):
            encoded = shutil.copy(path, path + ".btf")
            subprocess.run(["pahole", "-J", encoded], check=True)
            files["btf"] = [encoded]
        for source, path in ((source, path) for source, paths in files.items() for path in paths):
            shown = json.loads(types("dump", "--json", "--source", source, path).stdout)
            self.assertEqual({value["name"]: value["value"] for entry in shown["types"]
                              if entry["kind"] == "enum" for value in entry["values"]},
                             ENUM_VALUES, path)
            text = types("dump", "--source", source, path, "enum huge").stdout
            self.assertIn("MOST = 18446744069414584320\n", text)

    def test_a_file_that_continues_another_is_told_from_a_damaged_one(self):
        path = os.path.join(self.folder.name, "split.btf")
        names = b"name\0"
        with open(path, "wb") as file:
            file.write(struct.pack("<HBB5I", 0xEB9F, 1, 0, 24, 0, 12, 12, len(names)))
            file.write(struct.pack("<3I", 0, 2 << 24, 0x700) + names)
        done = types("dump", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("continues the BTF of another file; name that with --base", done.stderr)
        with open(path, "wb") as file:
            file.write(b"text\n" * 20)
        self.assertIn("it is no file of ELF, CTF or BTF, or damaged", types("dump", path).stderr)

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
