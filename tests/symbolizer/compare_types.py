# SPDX-License-Identifier: Apache-2.0
#
# compare_types CRASHHOOK FILE [DUMP]: `types dump --json FILE` against what objdump says
# of the same CTF: every type, size, member, offset, enumerator, function and variable.
# DUMP is objdump's output, where it was kept; otherwise it is run. Ends with a line of
# counts, and with 1 where anything differs.

import json
import re
import sys

from harness import run

KINDS = ["unknown", "integer", "float", "pointer", "array", "function", "struct",
         "union", "enum", "forward", "typedef", "volatile", "const", "restrict"]
TYPE = re.compile(r"^ *(?:\{|\[)?0x([0-9a-f]+): \(kind (\d+)\) (.*)$")
MEMBER = re.compile(r"^( +)\[0x([0-9a-f]+)\] (.*): ID 0x[0-9a-f]+: (?:\{|\[)?\(kind \d+\) (.*)$")
VALUE = re.compile(r"^ +(\S+): (-?\d+)$")
SYMBOL = re.compile(r"^ +(\S+) -> 0x[0-9a-f]+: \(kind (\d+)\) (.*)$")
SIZE = re.compile(r" \(size 0x([0-9a-f]+)\)")
# What follows a name in a line.
TAIL = re.compile(r"(?::\d+)?(?: \[slice 0x[0-9a-f]+:0x[0-9a-f]+\])?(?: \(format 0x| \(size 0x|"
                  r" \(aligned| ->|[}\]]?$)")
DIMENSIONS = re.compile(r"(?:\[\d+\]){2,}")
GCC = re.compile(r"GCC: \(.*\) (\d+)\.")
SLICE = re.compile(r"\[slice 0x[0-9a-f]+:0x([0-9a-f]+)\]")


def name_in(text):
    return text[: TAIL.search(text).start()]


def in_order(text):
    """A text of objdump's about what gcc 14 wrote, whose dimensions it reverses."""
    return DIMENSIONS.sub(lambda run: "".join(re.findall(r"\[\d+\]", run.group())[::-1]), text)


def size_in(text):
    match = SIZE.search(text.split(" -> ")[0])
    return int(match.group(1), 16) if match else None


class Dump:
    """objdump's listing: per unit its types in order, and its symbols."""

    def __init__(self, text):
        self.types, self.symbols = [], {}
        unit, section = None, None
        for line in text.split("\n"):
            heading = re.match(r"^  (\w[\w ]*):$", line)
            if line.startswith("CTF archive member: "):
                unit = line[len("CTF archive member: ") : -1]
            elif heading:
                section = heading.group(1)
            elif section == "Types":
                self.type_line(line, unit)
            elif section in ("Data objects", "Function objects", "Variables"):
                match = SYMBOL.match(line)
                if match:
                    self.symbols[(unit, match.group(1))] = name_in(match.group(3))

    def type_line(self, line, unit):
        match = TYPE.match(line)
        if match:
            text = match.group(3)
            head, kind = text.split(" -> ")[0], KINDS[int(match.group(2))]
            # A slice of whole bytes shows only in the format that integers have.
            is_slice = "[slice" in head or (
                kind not in ("integer", "float") and "(format" in head)
            self.types.append({"unit": unit, "name": name_in(text), "size": size_in(text),
                               "kind": kind, "members": [],
                               "values": [], "slice": is_slice})
            return
        match = MEMBER.match(line)
        if match:
            text = match.group(4)
            bits = SLICE.search(text.split(" -> ")[0])
            size = size_in(text)
            self.types[-1]["members"].append(
                {"depth": len(match.group(1)), "offset": int(match.group(2), 16),
                 "name": match.group(3), "type": name_in(text),
                 "bits": int(bits.group(1), 16) if bits else (size or 0) * 8})
            return
        match = VALUE.match(line)
        if line.strip() == "..." and self.types:
            self.types[-1]["values"].append("...")
        if match and self.types:
            self.types[-1]["values"].append((match.group(1), int(match.group(2))))


def flat_members(members):
    for member in members:
        yield (member["offset_bits"], member["name"], member["type"], member["size_bits"])
        yield from flat_members(member.get("members", []))


def nameless(type_name):
    return type_name in ("struct ", "union ")


def dumped_members(members):
    """Those of the structure itself and of nameless structures in it."""
    shown = []  # depths of structures that are entered, innermost last
    for member in members:
        while shown and shown[-1] >= member["depth"]:
            shown.pop()
        if shown and shown[-1] < member["depth"] and not open_at[shown[-1]]:
            continue
        if not shown:
            open_at = {}
        shown.append(member["depth"])
        open_at[member["depth"]] = nameless(member["type"])
        yield (member["offset"], member["name"], member["type"], member["bits"])


def signature(function):
    arguments = function["arguments"] + ["..."] * function["variadic"]
    space = "" if function["result"].endswith("*") else " "
    return f"{function['result']}{space}(*) ({', '.join(arguments)})"


class Comparison:
    def __init__(self):
        self.types = self.members = self.symbols = self.different = 0

    def same(self, what, ours, theirs):
        if ours != theirs:
            self.different += 1
            print(f"{what}: {ours!r}, objdump has {theirs!r}")

    def compare_type(self, ours, theirs):
        what = theirs["name"]
        self.types += 1
        self.same(what, (ours["name"], ours["kind"]), (what, theirs["kind"]))
        # objdump gives typedefs of functions the size 0.
        of_function = theirs["size"] == 0 and ours["kind"] == "typedef"
        is_known = theirs["size"] is not None and not of_function
        if is_known or ours["kind"] not in ("array", "typedef"):
            self.same(f"size of {what}", ours.get("size"), theirs["size"])
        mine = list(flat_members(ours.get("members", [])))
        self.members += len(mine)
        self.same(f"members of {what}", mine, list(dumped_members(theirs["members"])))
        values = [(v["name"], v["value"]) for v in ours.get("values", [])]
        if "..." in theirs["values"]:
            values = values[:5] + ["..."] + values[-5:]
        self.same(f"values of {what}", values, theirs["values"])

    def compare(self, ours, theirs):
        wanted = [t for t in theirs.types if not t["slice"]]
        # Arrays that had to be nested the other way round come last.
        added = [t["kind"] for t in ours["types"][len(wanted):] if t["kind"] != "array"]
        self.same("number of types", len(ours["types"]) >= len(wanted) and added, [])
        for mine, other in zip(ours["types"], wanted):
            self.compare_type(mine, other)
        mine = {}
        for symbol in ours["functions"] + ours["variables"]:
            mine[(symbol.get("unit"), symbol["name"])] = symbol
        self.same("symbols", sorted(map(str, mine)), sorted(map(str, theirs.symbols)))
        for key, symbol in mine.items():
            self.symbols += 1
            text = symbol.get("type") or signature(symbol)
            self.same(f"type of {key[1]}", text, theirs.symbols.get(key))


def objdump(path):
    return run("objdump", "--ctf=.ctf", path)


def types_of(crashhook, path, *options):
    return json.loads(run(crashhook, "types", "dump", "--json", *options, path))


def compare(crashhook, path, dump):
    """Prints what differs and a line of counts, and says how many differences there are."""
    comparison = Comparison()
    if int(GCC.search(run("readelf", "-p", ".comment", path)).group(1)) >= 14:
        dump = in_order(dump)
    comparison.compare(types_of(crashhook, path), Dump(dump))
    print(f"{path}: {comparison.types} types, {comparison.members} members, "
          f"{comparison.symbols} functions and variables, "
          f"{comparison.different} differences")
    return comparison.different


def main():
    crashhook, path = sys.argv[1:3]
    if len(sys.argv) > 3:
        with open(sys.argv[3]) as kept:
            dump = kept.read()
    else:
        dump = objdump(path)
    sys.exit(compare(crashhook, path, dump) != 0)


if __name__ == "__main__":
    main()
