#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_abi LIB-FOLDER: what programs were linked against stays as it was: exported
# functions with their types, and the layouts of the structs and enums that the installed
# headers define, compared with LIBRARY.abi here. A struct that begins with its own size
# may grow, and the line of its size is not compared. CRASHHOOK_ACCEPT=1 records additions;
# a line that is gone needs another CRASHHOOK_ABI (cmake/options.cmake), or a way back.

import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
LIBRARIES = ("libcrashhook", "libcrashhook-backtrace", "libcrashhook-flight",
             "libcrashhook-heap", "libcrashhook-throws")


def public_types():
    """The structs and enums whose members the installed headers show."""
    folder = os.path.join(SOURCE, "include", "crashhook")
    found = set()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found |= set(re.findall(r"^((?:struct|enum) crashhook_\w+) \{", file.read(),
                                    re.MULTILINE))
    return found


def exported(library):
    """Its functions, with their versions."""
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    return {name for kind, name in re.findall(r" ([TWi]) (\S+)", listed)}


def describe(crashhook, library):
    """What the library promises, a line each."""
    dumped = json.loads(subprocess.run([crashhook, "types", "dump", "--json", library],
                                       check=True, stdout=subprocess.PIPE).stdout)
    signatures = {}
    for function in dumped["functions"]:
        arguments = function["arguments"] + (["..."] if function["variadic"] else [])
        signatures[function["name"]] = (
            f"{function['result']} ({', '.join(arguments) or 'void'})")
    lines = []
    used = set()
    for symbol in exported(library):
        signature = signatures.get(symbol.split("@")[0], "not described")
        used |= set(re.findall(r"(?:struct|enum) crashhook_\w+", signature))
        lines.append(f"function {symbol}: {signature}")
    shown = public_types()
    for kind in dumped["types"]:
        if kind["name"] not in shown:
            continue
        members = kind.get("members", [])
        if not members or members[0]["name"] != "size":
            lines.append(f"{kind['name']}: {kind['size']} bytes")
        for member in members:
            lines.append(f"{kind['name']}.{member['name']}: {member['type']} "
                         f"at bit {member['offset_bits']}")
        for value in kind.get("values", []):
            lines.append(f"{kind['name']}: {value['name']} = {value['value']}")
    return sorted(set(lines))


def check(crashhook, library, name):
    """Compares one library; the number of promises it broke or has not recorded."""
    path = os.path.join(HERE, name + ".abi")
    now = describe(crashhook, library)
    if os.environ.get("CRASHHOOK_ACCEPT") == "1":
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(now) + "\n")
    with open(path, encoding="utf-8") as file:
        recorded = file.read().splitlines()
    gone = [line for line in recorded if line not in now]
    new = [line for line in now if line not in recorded]
    for line in gone:
        print(f"{name}: no longer true: {line}")
    for line in new:
        print(f"{name}: not recorded: {line}")
    print(f"{name}: {len(recorded)} promises, {len(gone)} broken, {len(new)} new")
    return len(gone) + len(new) + (len(recorded) == 0)


def main(folder):
    crashhook = os.path.join(os.path.dirname(os.path.realpath(folder)), "bin", "crashhook")
    wrong = 0
    for name in LIBRARIES:
        wrong += check(crashhook, os.path.join(folder, name + ".so"), name)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
