# SPDX-License-Identifier: Apache-2.0
#
# check_operands TEST-PROGRAM: the sizes of the memory operand of every form of an
# instruction, beside those that objdump of binutils prints. The forms come from
# test_instruction_operands, which has the processor itself judge those that it can
# execute.

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
SIZES = {"BYTE": 1, "WORD": 2, "DWORD": 4, "FWORD": 6, "QWORD": 8, "TBYTE": 10,
         "XMMWORD": 16, "OWORD": 16, "YMMWORD": 32, "ZMMWORD": 64}
# objdump does not know that REX.W makes far pointers larger, and takes calls with a prefix
# for 16 bits as AMD's processors do; ud0 and ud1 read nothing. Of movsxd with a prefix for
# 16 bits no size is said, because processors differ.
DIFFERENT = r"(call|jmp) (far|qword) |l[fgs]s |ud[01] |movsxd ([abcd]x|[sb]p|[sd]i), "
SLOT = 16  # a form and one-byte instructions after it


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
        objdump = by_objdump(folder, forms)
    compared = wrong = 0
    for (code, access, size, text), printed_size in zip(forms, objdump):
        if access == "unused" or printed_size == 0:
            continue
        compared += 1
        if int(size) != printed_size and not re.match(DIFFERENT, text):
            wrong += 1
            print(f"{code} {text}: {size} bytes, objdump: {printed_size}")
    print(f"{len(forms)} forms: {compared} sizes compared, {wrong} wrong")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
