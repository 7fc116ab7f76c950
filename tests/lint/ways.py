# SPDX-License-Identifier: Apache-2.0
#
# ways ROOT: docs/architecture.md tells the ways through the code as lines `FILE → FILE,
# FILE`. Each of the files after the arrow is called by the one before it, and none of
# them calls back, except where another process begins (⇒). Its table of folders is that of
# include_rules.py.

import os
import re
import sys

import counts
import include_rules
import shape
import source_tree

PAGE = os.path.join("docs", "architecture.md")
BLOCK = re.compile(r"^```\n(.*?)^```$", re.M | re.S)
WAY = re.compile(r"^(⇒ )?(\S+\.\w+) +→ (.+)$")
ROOM = re.compile(r"^\| `(\w+)/` \| (.+) \|$", re.M)
NAME = re.compile(r"(?<![.>\w])(\w+)\b")


def homes(code_of):
    """The file of each function that is not static."""
    return {function.name(): path for path, code in code_of.items()
            for function in shape.functions(path, code.split("\n"))
            if "static" not in function.signature.split("(")[0].split()}


def called_files(root, path, home):
    """The files whose functions this one names."""
    code = source_tree.code(source_tree.read(root, path))
    return {home[name] for name in NAME.findall(code) if name in home} - {path}


def ways(text):
    """(caller, its callees, whether it begins a process) of each line that tells a step."""
    for block in BLOCK.findall(text):
        for line in block.split("\n"):
            match = WAY.match(line)
            if match:
                yield match.group(2), match.group(3).split(", "), match.group(1)


def way_problems(root, text, home):
    for caller, callees, begins in ways(text):
        gone = [path for path in (caller, *callees)
                if not os.path.exists(os.path.join(root, path))]
        for path in gone:
            yield f"{PAGE}:1: there is no {path}"
        if gone:
            continue
        known = called_files(root, caller, home)
        for callee in callees:
            if callee not in known:
                yield f"{PAGE}:1: {caller} does not call {callee}"
            elif not begins and caller in called_files(root, callee, home):
                yield f"{PAGE}:1: {callee} calls {caller} back"


def room_problems(text):
    """Rows of the page's table of folders that are not those of the lint."""
    told = {folder: [set(re.findall(r"`([\w.]+)`", floor)) for floor in row.split(" ← ")]
            for folder, row in ROOM.findall(text)}
    real = {folder: [rooms for rooms in floors if rooms != {"."}]
            for folder, floors in include_rules.ROOMS.items()}
    told["base"] = [rooms for rooms in told.get("base", []) if rooms]
    for folder in sorted(set(told) | set(real)):
        if told.get(folder) != real.get(folder):
            yield f"{PAGE}:1: the folders of {folder}/ are not those of include_rules.py"


def main(root):
    text = source_tree.read(root, PAGE)
    paths = [p for p in source_tree.files(root, (".c", ".S")) if counts.is_counted(p)]
    code_of = {p: source_tree.code(source_tree.read(root, p)) for p in paths
               if p.endswith(".c")}
    problems = [*way_problems(root, text, homes(code_of)), *room_problems(text)]
    source_tree.report("ways", problems, len(paths))


if __name__ == "__main__":
    main(sys.argv[1])
