# SPDX-License-Identifier: Apache-2.0
#
# check_operands TEST-PROGRAM: what our table says of every form of an instruction with a
# memory operand, beside the tables of two other disassemblers: reads and writes by
# Zydis, sizes by Zydis and by objdump of binutils. Where the two agree on a size, or
# Zydis alone has one, ours has to be the same. The forms come from test_operand_access,
# which has the processor itself judge those that it can execute.

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
SIZES = {"BYTE": 1, "WORD": 2, "DWORD": 4, "FWORD": 6, "QWORD": 8, "TBYTE": 10,
         "XMMWORD": 16, "OWORD": 16, "YMMWORD": 32, "ZMMWORD": 64}
SLOT = 16  # a form and one-byte instructions after it


def known_differences():
    """Mnemonics that are judged otherwise, and why: PATTERN WHAT: REASON."""
    with open(os.path.join(HERE, "operand_differences.txt"), encoding="utf-8") as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    return [tuple(line.split(":")[0].split()) for line in lines]


def by_zydis(folder, forms):
    program = os.path.join(folder, "operands")
    built = subprocess.run(["cc", "-O1", "-o", program,
                            os.path.join(HERE, "operands_by_zydis.c"), "-lZydis"],
                           stderr=subprocess.PIPE, text=True, check=False)
    if built.returncode != 0:
        return None
    said = subprocess.run([program], input="".join(form[0] + "\n" for form in forms),
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    return [(access, int(size)) for access, size, _ in
            (line.split(" ", 2) for line in said.splitlines())]


def by_objdump(folder, forms):
    """The size in bytes that objdump prints, or 0, by form."""
    path = os.path.join(folder, "forms")
    with open(path, "wb") as file:
        for form in forms:
            file.write(bytes.fromhex(form[0]).ljust(SLOT, b"\x90"))
    said = subprocess.run(["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel",
                           "--no-show-raw-insn", path], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    sizes = [0] * len(forms)
    for address, text in re.findall(r"^\s*([0-9a-f]+):\t(.*)$", said, re.MULTILINE):
        found = re.search(r"\b([A-Z]+) PTR \[rax\]", text)
        if int(address, 16) % SLOT == 0 and found:
            sizes[int(address, 16) // SLOT] = SIZES.get(found[1], 0)
    return sizes


def main():
    if shutil.which("objdump") is None:
        print("skipped: objdump is not installed")
        return 77
    printed = subprocess.run([sys.argv[1], "--forms"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    forms = [tuple(line.split(" ", 3)) for line in printed.splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        zydis = by_zydis(folder, forms)
        if zydis is None:
            print("skipped: libzydis-dev is not installed")
            return 77
        objdump = by_objdump(folder, forms)
    known = known_differences()
    compared = {"access": 0, "size": 0}
    wrong = listed = 0
    for (code, access, size, text), (said, bytes_said), printed_size in zip(forms, zydis,
                                                                            objdump):
        if said == "?":
            continue
        name = text.split(" ")[0]
        found = []
        if access != "unknown":
            compared["access"] += 1
            written, reads = access in ("write", "update"), access == "read"
            if (written and said not in ("write", "update")) or (reads and said != "read") or \
                    (access == "unused") != (said == "unused"):
                found.append(("access", f"{access}, Zydis: {said}"))
        if said != "unused" and bytes_said and printed_size in (0, bytes_said):
            compared["size"] += 1
            if int(size) != bytes_said:
                found.append(("size", f"{size}, the others: {bytes_said}"))
        for what, words in found:
            if any(re.fullmatch(pattern, name) and what == kind for pattern, kind in known):
                listed += 1
                continue
            wrong += 1
            print(f"{what} of {code} {text}: {words}")
    print(f"{len(forms)} forms: {compared['access']} accesses and {compared['size']} sizes "
          f"compared, {wrong} wrong, {listed} listed differences")
    return 1 if wrong or not compared["access"] else 0


if __name__ == "__main__":
    sys.exit(main())
