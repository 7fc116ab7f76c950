# SPDX-License-Identifier: Apache-2.0
#
# Symbol files as Breakpad's dump_syms writes them, made of what readelf says of a file:
# functions, and the rules of .eh_frame in postfix notation.

import os
import re
import subprocess

RULE = re.compile(r"([a-z]\w*)([+-]\d+)$")


def readelf(option, path):
    return subprocess.run(["readelf", option, path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False, text=True).stdout


def identity(build_id):
    """The first 16 bytes as a GUID, and the age 0."""
    data = bytes.fromhex(build_id)[:16]
    return (data[3::-1] + data[5:3:-1] + data[7:5:-1] + data[8:]).hex().upper() + "0"


def rules_of(columns, values):
    """The rules of a row of `readelf -wF`."""
    cfa = RULE.match(values[0])
    rules = f".cfa: ${cfa[1]} {int(cfa[2])} +"
    for name, value in zip(columns[1:], values[1:]):
        if value.startswith("c"):
            register = ".ra" if name == "ra" else "$" + name
            rules += f" {register}: .cfa {int(value[1:])} + ^"
    return rules


def frames_of(path):
    """A range without rows has those of the CIE, which is the only one with a row here."""
    common, ranges = None, []
    for line in readelf("-wF", path).splitlines():
        words = line.split()
        if "FDE" in words:
            begin, end = (int(one, 16) for one in words[-1].removeprefix("pc=").split(".."))
            ranges.append((begin, end, []))
        elif words[:1] == ["LOC"]:
            columns = words[1:]
        elif words and re.fullmatch("[0-9a-f]{16}", words[0]) and RULE.match(words[1]) and \
                len(words) == len(columns) + 1:
            rules = rules_of(columns, words[1:])
            if ranges:
                ranges[-1][2].append((int(words[0], 16), rules))
            else:
                common = rules
    for begin, end, rows in ranges:
        for number, (at, rules) in enumerate(rows or [(begin, common)]):
            where = f"{at:x}" if number else f"INIT {begin:x} {end - begin:x}"
            yield f"STACK CFI {where} {rules}"


def write(folder, path):
    """Writes folder/NAME/IDENTITY/NAME.sym of an ELF file."""
    build_id = re.search(r"Build ID: (\w+)", readelf("-n", path))[1]
    name = os.path.basename(path)
    lines = [f"MODULE Linux x86_64 {identity(build_id)} {name}",
             f"INFO CODE_ID {build_id.upper()}"]
    for line in readelf("-Ws", path).splitlines():
        words = line.split()
        if len(words) == 8 and words[3] == "FUNC" and words[6] != "UND":
            lines.append(f"FUNC {int(words[1], 16):x} {int(words[2], 0):x} 0 {words[7].split('@')[0]}")
    lines += frames_of(path)
    out = os.path.join(folder, name, identity(build_id), name + ".sym")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    with open(out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return out
