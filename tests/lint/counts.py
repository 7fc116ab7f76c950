# SPDX-License-Identifier: Apache-2.0
#
# counts ROOT [--folders]: how easily the tree is found one's way in: prints its lines,
# functions over 40 lines, modules and functions with one user, static names that stand in
# more than one file, function bodies that stand more than once, the share of comments,
# circles of two files, and the fullest folders. Fails where one of those that have a cap
# passes it. --folders prints files and lines of each folder.

import collections
import os
import re
import sys

import shape
import source_tree

# Folders whose programs are on their own.
APART = {"tests", "fuzz", "bench", "examples"}

LONG_FUNCTION = 40
SHARED_NAMES = 10  # of static functions
FOLDER_FILES = 40  # .c and .h
COPIED_LINES = 4   # a body as long as this is no accident
COPIES = 0
CIRCLES = 0

STATIC = re.compile(
    r"^(?:__attribute__\(\([^)]*\)\) |CH_CHECKED )*static\s"
    r"(?:__attribute__\(\([^()]*\)\)\s)?[^;={}()#]*?\b(\w+)\(", re.M)
BODY = re.compile(r"^\{\n(.*?)^\}", re.M | re.S)
NAME = re.compile(r"(?<![.>\w])(\w+)\b")
CRASH_PATH = os.path.join("handler", "crash")


def is_counted(path):
    return path.split(os.sep)[0] not in APART


def shared_names(code_of):
    """Static functions by name, with the files that have one of it."""
    files_of = collections.defaultdict(set)
    for path, code in code_of.items():
        for name in STATIC.findall(code):
            files_of[name].add(path)
    files_of.pop("__attribute__", None)  # of a function whose attributes come last
    return {name: sorted(paths) for name, paths in files_of.items() if len(paths) > 1}


def copies(text_of):
    """Bodies of functions that stand more than once, white space aside."""
    places = collections.defaultdict(list)
    for path, text in text_of.items():
        for match in BODY.finditer(text):
            if match.group(1).count("\n") >= COPIED_LINES:
                line = text.count("\n", 0, match.start()) + 1
                places[" ".join(match.group(1).split())].append(f"{path}:{line}")
    return [where for where in places.values() if len(where) > 1]


def circles(code_of):
    """Pairs of sources that name functions of each other, to call them or in a table. The
    crash path is one module in many files."""
    home = {}
    for path, code in code_of.items():
        for function in shape.functions(path, code.split("\n")):
            name = function.name()
            # A name of one word may be a variable's or the C library's elsewhere.
            if "_" in name and "static" not in function.signature.split("(")[0].split():
                home[name] = path
    edges = set()
    for path, code in code_of.items():
        if path.endswith(".c"):
            edges |= {(path, home[name]) for name in set(NAME.findall(code))
                      if home.get(name, path) != path}
    return sorted((a, b) for a, b in edges if a < b and (b, a) in edges
                  and not (a.startswith(CRASH_PATH) and b.startswith(CRASH_PATH)))


def comment_share(texts):
    lines = [line.strip() for text in texts for line in text.split("\n") if line.strip()]
    comments = sum(1 for line in lines if line.startswith("//"))
    return 100 * comments / max(1, len(lines))


def folders(paths):
    """How many files of C each folder holds."""
    return collections.Counter(os.path.dirname(path) for path in paths)


def full_folders(root):
    """Folders of the whole tree, tests too, that hold too many files."""
    held = folders(source_tree.files(root, (".c", ".h", ".cc", ".cpp")))
    return [f"{folder}/ has {count} files" for folder, count in sorted(held.items())
            if count > FOLDER_FILES]


def print_users(text_of, code_of):
    """Modules that one other includes, and functions that one other calls."""
    users = collections.defaultdict(set)
    for path, text in text_of.items():
        for header in re.findall(r'^#include "([^"]+)"', text, re.M):
            users[header.rsplit(".", 1)[0]].add(path.rsplit(".", 1)[0])
    modules = {path.rsplit(".", 1)[0] for path in text_of if path.endswith(".c")
               and path[:-1] + "h" in text_of}
    single = [module for module in modules if len(users[module] - {module}) == 1]
    callers = collections.defaultdict(set)
    names = {}
    for path, code in code_of.items():
        lines = code.split("\n")
        for function in shape.functions(path, lines):
            names[function.name()] = path
            begin = function.start - 1
            body = "\n".join(lines[begin : lines.index("}", begin)])
            for name in set(NAME.findall(body)):
                callers[name].add((path, function.name()))
    once = [name for name in names if len(callers[name] - {(names[name], name)}) == 1]
    print(f"modules: {len(modules)}, with one user {len(single)}")
    print(f"functions: {len(names)}, with one caller {100 * len(once) / max(1, len(names)):.0f} %")


def print_folders(text_of):
    lines = collections.Counter()
    for path, text in text_of.items():
        lines[os.path.dirname(path)] += text.count("\n")
    for folder, count in sorted(folders(text_of).items()):
        print(f"{folder}/: {count} files, {lines[folder]} lines")


def print_counts(text_of, long_functions):
    sources = {path: text for path, text in text_of.items() if path.endswith(".c")}
    headers = {path: text for path, text in text_of.items() if path.endswith(".h")}
    lines = sum(text.count("\n") for text in text_of.values())
    print(f"lines: {lines} in {len(text_of)} files")
    print(f"functions over {LONG_FUNCTION} lines: {len(long_functions)}")
    print(f"comments: {comment_share(sources.values()):.0f} % of .c, "
          f"{comment_share(headers.values()):.0f} % of .h")


def main(root, show_folders):
    paths = [p for p in source_tree.files(root, (".c", ".h")) if is_counted(p)]
    text_of = {path: source_tree.read(root, path) for path in paths}
    code_of = {path: source_tree.code(text) for path, text in text_of.items()}
    long_functions = [f for path, code in code_of.items()
                      for f in shape.functions(path, code.split("\n"))
                      if f.lines > LONG_FUNCTION]
    print_counts(text_of, long_functions)
    print_users(text_of, code_of)
    if show_folders:
        print_folders(text_of)
    problems = []
    for what, found, cap in (
            ("static name in more than one file",
             [f"{name} ({', '.join(where)})"
              for name, where in sorted(shared_names(code_of).items())], SHARED_NAMES),
            ("copied body", [" = ".join(where) for where in copies(text_of)], COPIES),
            ("folder of more than 40 files", full_folders(root), 0),
            ("circle of two files",
             [" <-> ".join(pair) for pair in circles(code_of)], CIRCLES)):
        print(f"{what}: {len(found)}, at most {cap}")
        if len(found) > cap:
            problems += [f"{what}: {one}" for one in found]
    source_tree.report("counts", problems, len(paths))


if __name__ == "__main__":
    main(sys.argv[1], "--folders" in sys.argv[2:])
