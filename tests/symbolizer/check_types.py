# SPDX-License-Identifier: Apache-2.0
#
# check_types CRASHHOOK: a program with types of every kind, compiled in the forms CTF
# comes in. What is read from CTF is compared with objdump, what is read from DWARF with
# what is read from CTF; damaged and missing input is refused in one line.

import os
import random
import subprocess
import sys
import tempfile

import compare_types
import harness

SOURCES = {name: os.path.join(harness.CASES, "types", name)
           for name in ("every_type.c", "two_units_a.c", "two_units_b.c")}
GRIDS = {
    "as declared": ["int [2][3]", "char [2][8]", "short int [2][3][4]", "int [2][2]",
                    "int [3]"],
    "flat": ["int [6]", "char [16]", "short int [24]", "int [2][2]", "int [3]"],
}
NAMED = ("struct", "union", "enum", "typedef")


class Check:
    def __init__(self, crashhook, folder):
        self.crashhook, self.folder, self.failures = crashhook, folder, 0

    def expect(self, right, what):
        if not right:
            self.failures += 1
            print(f"FAILED: {what}")

    def compile(self, name, *arguments):
        path = os.path.join(self.folder, name)
        harness.run("gcc", *arguments, "-o", path)
        return path

    def run(self, *arguments):
        return subprocess.run([self.crashhook, "types", "dump", *arguments],
                              capture_output=True, text=True, timeout=60)

    def like_objdump(self, name, *arguments):
        path = self.compile(name, *arguments)
        dump = compare_types.objdump(path)
        different = compare_types.compare(self.crashhook, path, dump)
        self.expect(different == 0, f"{name}: {different} differences from objdump")
        return path

    def sources_agree(self, path):
        """Types with a name are the same from CTF and from DWARF."""
        ctf, dwarf = ({(t["kind"], t["name"]): t for t in
                       compare_types.types_of(self.crashhook, path, "--source", s)["types"]
                       if t["kind"] in NAMED and not t["name"].endswith(" ")}
                      for s in ("ctf", "dwarf"))
        ctf[("enum", "enum small")]["size"] = 1  # which CTF does not keep
        for every in ctf[("struct", "struct every")], dwarf[("struct", "struct every")]:
            every["members"] = [m for m in every["members"]
                                if m["name"] not in ("small", "vector")]
        for key in sorted(set(ctf) & set(dwarf)):
            self.expect(ctf[key] == dwarf[key], f"{key}: {ctf[key]} from CTF, "
                        f"{dwarf[key]} from DWARF")
        common = len(set(ctf) & set(dwarf))
        print(f"{path}: {common} types alike from CTF and from DWARF")
        self.expect(common > 15, "too few types are in both")

    def refused(self, path, what):
        ran = self.run("--json", path)
        self.expect(harness.is_refused(ran),
                    f"{what}: exit {ran.returncode}, stderr {ran.stderr!r}")

    def survives_damage(self, path, count, seed):
        """Cut or changed input gives types or one line, and never more."""
        with open(path, "rb") as file:
            good = file.read()
        chance = random.Random(seed)
        refused = 0
        for _ in range(count):
            bad = bytearray(good)
            if chance.random() < 0.3:
                del bad[chance.randrange(len(bad)) :]
            for _ in range(chance.randrange(1, 4)):
                if bad:
                    bad[chance.randrange(len(bad))] = chance.randrange(256)
            damaged = os.path.join(self.folder, "damaged.ctf")
            with open(damaged, "wb") as file:
                file.write(bad)
            ran = self.run("--json", damaged)
            refused += ran.returncode == 1
            self.expect(ran.returncode == 0 or harness.is_refused(ran),
                        f"damaged: exit {ran.returncode}, {ran.stderr!r}")
        print(f"{count} damaged files, {refused} refused, seed {seed}")

    def all(self):
        every = SOURCES["every_type.c"]
        units = [SOURCES["two_units_a.c"], SOURCES["two_units_b.c"]]
        tables = ["-rdynamic", "-Wl,--ctf-variables"]
        self.like_objdump("object.o", "-O2", "-gctf", "-c", every)
        self.like_objdump("plain", "-O2", "-gctf", every)
        full = self.like_objdump("full", "-O2", "-gctf", *tables, every)
        self.like_objdump("shared.so", "-gctf", "-fPIC", "-shared", every)
        archive = self.like_objdump("archive", "-O2", "-gctf", *tables, *units)
        both = self.compile("both", "-g", "-gctf", every)
        self.sources_agree(both)
        self.check_names(full, archive)
        self.check_dimensions()
        self.check_refusals(full)

    def members_are(self, path, expected, what):
        grids = compare_types.types_of(self.crashhook, path, "--source", "ctf")["types"]
        members = [m["type"] for t in grids if t["name"] == "struct grids"
                   for m in t["members"]]
        self.expect(members == expected, f"{what}: {members}")

    def with_comment(self, path, comment):
        """A copy of path, its compilers' lines replaced."""
        lines, copy = (os.path.join(self.folder, n) for n in ("comment", "commented"))
        with open(lines, "w", encoding="ascii") as file:
            file.write("".join(line + "\0" for line in comment))
        harness.run("objcopy", "--remove-section=.comment", path, copy)
        if comment:
            harness.run("objcopy", f"--add-section=.comment={lines}", copy)
        return copy

    def check_dimensions(self):
        """Dimensions are told as declared if the compilers are known, else not at all."""
        old, new = "GCC: (GNU) 12.4.0", "GCC: (Debian 14.2.0-19) 14.2.0"
        clang = "Debian clang version 14.0.6"
        for name, comments in (
                ("dimensions-gcc12.elf", [[old], ["GCC: (x (y) z) 13.3.1 20240522", clang, old]]),
                ("dimensions-gcc14.elf", [[new], [new, clang, "GCC: (GNU) 15.1.0"]])):
            path = os.path.join(harness.CASES, "types", name)
            self.members_are(path, GRIDS["as declared"], name)
            for comment in comments:
                self.members_are(self.with_comment(path, comment), GRIDS["as declared"],
                                 f"{name} by {comment}")
            for comment in ([], [clang], [old, new], [new, old], ["GCC: (GNU) 14.0.1 20240201"],
                            ["GCC: (GNU) trunk"], [new, "GCC: (GNU"]):
                self.members_are(self.with_comment(path, comment), GRIDS["flat"],
                                 f"{name} by {comment}")

    def check_names(self, full, archive):
        one = compare_types.types_of(self.crashhook, full)
        named = self.run("--json", full, "struct every")
        self.expect(named.returncode == 0 and named.stdout.count('"name":"struct every"')
                    == 1, "a type is found by its name")
        self.expect(self.run(full, "every").stdout == self.run(full, "struct every").stdout,
                    "a type is found by its tag")
        self.expect(self.run(full, "choose").stdout ==
                    "comparison choose(int, double, struct tight, point)\n",
                    "a function is found by its name")
        self.expect(self.run(full, "nothing like it").returncode == 1, "no such type")
        self.expect(one["source"] == "ctf", "CTF is said to be the source")
        twice = [t for t in compare_types.types_of(self.crashhook, archive)["types"]
                 if t["name"] == "struct ambiguous"]
        units = {t.get("unit") for t in twice if t["kind"] == "struct"}
        self.expect(units == {SOURCES["two_units_a.c"], SOURCES["two_units_b.c"]},
                    f"an ambiguous type is listed for each unit, not {units}")

    def check_refusals(self, full):
        bare = os.path.join(self.folder, "bare.ctf")
        harness.run("objcopy", f"--dump-section=.ctf={bare}", full,
                    os.path.join(self.folder, "copy"))
        from_bare = compare_types.types_of(self.crashhook, bare)
        self.expect(len(from_bare["types"]) > 80, "a bare section is read")
        self.refused(__file__, "what is no ELF file")
        self.refused(os.path.join(self.folder, "nothing"), "a file that is not there")
        none = self.compile("none", SOURCES["every_type.c"])
        self.refused(none, "a file without types")
        wrong = self.run("--source", "stabs", full)
        self.expect(wrong.returncode == 2, "an unknown source is wrong usage")
        self.survives_damage(bare, 300, 9)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check = Check(sys.argv[1], folder)
        check.all()
    print(f"{check.failures} failures")
    sys.exit(check.failures != 0)


if __name__ == "__main__":
    main()
