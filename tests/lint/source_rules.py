# SPDX-License-Identifier: Apache-2.0
#
# source_rules ROOT: what every file must begin with, and what no file may hold.

import re
import sys

import source_tree

SOURCES = (".c", ".h", ".cc", ".cpp")
COMMENTED = (".py", ".sh", ".cmake", "CMakeLists.txt", "Makefile")

# Functions that cannot be called safely, or that hide what they do.
BANNED = """strcpy stpcpy strcat strncpy strncat sprintf vsprintf gets strtok system
popen alloca atoi atol atoll atof tmpnam mktemp gmtime localtime ctime asctime""".split()

# What no line of code may hold, and why.
FORBIDDEN = [
    (re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\("), "{0} is banned"),
    (re.compile(r"\b(goto)\b"), "goto"),
    (re.compile(r"\b(typedef\s+(?:struct|union|enum)\b[^(;]*[;{])"), "typedef of a tag"),
]

# What no line may hold, comments included.
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
BLOCK_COMMENT = re.compile(r"^\s*/\*")
VAGUE_FILE = re.compile(r"(^|/)(utils?|common|helpers?|misc|managers?)(\.[ch]|/)")

# A call of html_write, the literals in it, and the conversions that it knows.
HTML_WRITE = re.compile(r"\bhtml_write\((.*?)\);", re.S)
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
CONVERSION = re.compile(r"%(%|s|\.\*s|d|u|zu|'?lld|llu|llx)?(?(1)|[^a-zA-Z%]*[a-zA-Z]*)")


def first_line_problems(path, lines):
    mark = "//" if path.endswith(SOURCES) else "#"
    skip = 1 if lines[0].startswith("#!") else 0
    wanted = f"{mark} SPDX-License-Identifier: Apache-2.0"
    if len(lines) <= skip or lines[skip] != wanted:
        yield f"{path}:{skip + 1}: does not begin with '{wanted}'"


def header_problems(path, lines):
    comment = 0
    for line in lines[1:]:
        if not line.startswith("//"):
            break
        comment += 1
    if comment < (1 if path.startswith(("tests/", "fuzz/")) else 3):
        yield f"{path}:2: a header opens with what it is and its limits"
    if "#pragma once" not in lines:
        yield f"{path}:1: no #pragma once"


def line_problems(path, lines):
    for number, line in enumerate(lines, 1):
        match = UNFINISHED.search(line)
        if match:
            yield f"{path}:{number}: {match.group(1)} left behind"
        if "unittest.main()" in line:
            yield f"{path}:{number}: without verbosity=2 no reason of a skipped test is printed"
    if not path.endswith(SOURCES):
        return
    for number, line in enumerate(lines, 1):
        if BLOCK_COMMENT.match(line):
            yield f"{path}:{number}: comments are written with //"
    blanked = source_tree.code("\n".join(lines)).split("\n")
    for number, line in enumerate(blanked, 1):
        for pattern, message in FORBIDDEN:
            match = pattern.search(line)
            if match:
                yield f"{path}:{number}: {message.format(match.group(1))}"


def html_problems(path, text):
    """Conversions of printf that html_write does not know."""
    for call in HTML_WRITE.finditer(text):
        for literal in LITERAL.finditer(call.group(1)):
            for conversion in CONVERSION.finditer(literal.group(1)):
                if conversion.group(1):
                    continue
                number = text.count("\n", 0, call.start(1) + literal.start()) + 1
                yield f"{path}:{number}: html_write has no conversion {conversion.group()}"


def main(root):
    problems, checked = [], 0
    for path in source_tree.files(root, SOURCES + COMMENTED):
        # The rule's own words stand in the files that hold the rules.
        if path.startswith("tests/lint/") and path.endswith(".py"):
            continue
        checked += 1
        lines = source_tree.read(root, path).split("\n")
        problems += first_line_problems(path, lines)
        problems += line_problems(path, lines)
        if path.endswith(".c"):
            problems += html_problems(path, "\n".join(lines))
        if path.endswith(".h"):
            problems += header_problems(path, lines)
        if VAGUE_FILE.search(path):
            problems.append(f"{path}:1: a name that says nothing")
    source_tree.report("source_rules", problems, checked)


if __name__ == "__main__":
    main(sys.argv[1])
