# SPDX-License-Identifier: Apache-2.0
#
# comments ROOT: a comment above a function or a tagged type begins with its name, and
# the files and names that comments mention exist: in the tree, or in comments.others,
# which lists what comments cite of the kernel, of libraries and of standards. The LONGEST
# sources of the product begin with how they work.

import os
import re
import sys

import source_tree

# Test names are sentences; nothing need be said above them.
FREE = {"tests", "fuzz", "bench", "examples"}

LONGEST, LONG_LINES, HEAD_LINES = 40, 600, 4

QUALIFIERS = r"(?:(?:static|inline|extern|const|noreturn|_Noreturn|CH_CHECKED|CRASHHOOK_API" \
             r"|__attribute__\(\([^;]*?\)\)) )*"
TAG = re.compile(r"^" + QUALIFIERS + r"(?:struct|enum|union) (\w+)\s*\{")
FUNCTION = re.compile(r"^[^(){};=#]*?\b(\w+)\(")
FIRST = re.compile(r"\W*(?:(?:An?|The|Each|Every) )?(\w+)")

FILE = re.compile(r"(?<![\w/.-])[\w/.-]*\w\.(?:c|h|py|md|cmake)\b")
# A name in a comment: lower case with an underscore inside, and no part of a path.
NAME = re.compile(r"(?<![\w/.<*-])[a-z]\w*_\w+\b(?![\w/*]|\.\w)")
COMMENT = re.compile(r"(?:^|\s)//(.*)")


def declared(lines, index):
    """The name that the declaration at index declares, or None."""
    tag = TAG.match(lines[index])
    if tag:
        return tag.group(1)
    text = " ".join(lines[index : index + 4])
    text = re.sub(r"__attribute__\(\(.*?\)\)\)?(?=[ ;]) ?", "", text)
    function = FUNCTION.match(text)
    return function.group(1) if function and lines[index][:1] not in " \t/" else None


def first_words(path, lines):
    """Problems of comments that stand right above a declaration."""
    start = None
    for index, line in enumerate(lines):
        if line.startswith("//"):
            start = index if start is None else start
            continue
        if start is not None and start > 0 and line and not line.startswith("#"):
            name = declared(lines, index)
            said = " ".join(part[2:].strip() for part in lines[start:index]
                            if "NOLINT" not in part)
            first = FIRST.match(said)
            if name and said and (first is None or first.group(1) != name):
                yield f"{path}:{start + 1}: the comment does not begin with '{name}'"
        start = None


def mentions(path, lines, files, words):
    for number, line in enumerate(lines, 1):
        comment = COMMENT.search(line)
        if comment is None or "NOLINT" in line:
            continue
        for name in FILE.findall(comment.group(1)):
            if not name.startswith("/") and name not in files \
                    and os.path.basename(name) not in files:
                yield f"{path}:{number}: there is no file '{name}'"
        for name in NAME.findall(comment.group(1)):
            if name not in words:
                yield f"{path}:{number}: there is no '{name}'"


def known(root):
    """Names of the tree's files, and every word of its code and of comments.others."""
    files, words = set(), set()
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in source_tree.SKIPPED]
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            files |= {path, name}
    for path in source_tree.files(root, (".c", ".h", ".cc", ".cpp", ".py", ".cmake",
                                         "CMakeLists.txt", ".S", ".map")):
        text = re.sub(r"(?m)//.*$", "", source_tree.read(root, path))
        words |= set(re.findall(r"\w+", text))
    for line in source_tree.read(os.path.dirname(__file__), "comments.others").split("\n"):
        if not line.startswith("#"):
            files |= set(line.split()[:1])
            words |= set(line.split()[:1])
    return files, words


def heads(root):
    """Of the longest sources, those that do not begin with how they work."""
    sources = {path: source_tree.read(root, path).split("\n")
               for path in source_tree.files(root, (".c",)) if path.split(os.sep)[0] not in FREE}
    for path in sorted(sources, key=lambda path: -len(sources[path]))[:LONGEST]:
        if len(sources[path]) > LONG_LINES and \
                not all(line.startswith("//") for line in sources[path][:HEAD_LINES + 1]):
            yield f"{path}:2: a long file begins with how it works and its invariants"


def main(root):
    files, words = known(root)
    problems, checked = list(heads(root)), 0
    for path in source_tree.files(root, (".c", ".h")):
        lines = source_tree.read(root, path).split("\n")
        checked += 1
        if path.split(os.sep)[0] not in FREE:
            problems += first_words(path, lines)
        problems += mentions(path, lines, files, words)
    source_tree.report("comments", problems, checked)


if __name__ == "__main__":
    main(sys.argv[1])
