# SPDX-License-Identifier: Apache-2.0
#
# shape ROOT: the sizes code is kept to. Prints the ten longest functions and files,
# the medians, and every cap that is passed.
#
# It relies on the formatting that the format lint enforces: a function's braces stand
# in the first column, and every level of nesting is four more spaces.

import re
import sys

import source_tree

FUNCTION_LINES = 70
PARAMETERS = 6
NESTING = 3
SOURCE_LINES = 900
HEADER_LINES = 250
# A header that is a list of names, a line each.
LISTS = {"collector/store/store_statement.h": 300}
CONDITIONALS_PER_1000_LINES = 2

# Functions whose parameters a library dictates.
DICTATED = {"on_request", "call_syscall"}

# Files that run in crash context are kept smaller than the rest.
CRASH_FILE = re.compile(r"handler/crash/\w+\.c$")
CRASH_FILE_LINES = 200
CRASH_FUNCTION_LINES = 40

CONTROL = re.compile(r"^( *)(?:\} else |else )?(?:if|for|while|switch|do)\b")
CONDITIONAL = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b")


class Function:
    def __init__(self, path, start, signature):
        self.path = path
        self.start = start
        self.signature = signature
        self.lines = 0
        self.nesting = 0

    def name(self):
        match = re.search(r"(~?\w+)\s*\(", self.signature)
        return match.group(1) if match else "?"

    def parameters(self):
        """How many parameters: commas between the outermost parentheses."""
        depth, commas, inside = 0, 0, ""
        for character in self.signature[self.signature.find("(") :]:
            depth += (character in "([{") - (character in ")]}")
            if depth == 0:
                break
            commas += character == "," and depth == 1
            inside += character
        empty = inside.strip("( ") in ("", "void")
        return 0 if empty else commas + 1


def functions(path, lines):
    found, start = [], None
    for index, line in enumerate(lines):
        if line == "{" and index > 0 and lines[index - 1].rstrip().endswith(")"):
            start = index
            while start > 0 and lines[start - 1].strip() and lines[start - 1][0] != "}":
                if lines[start - 1].startswith("#") or lines[start - 1].endswith(";"):
                    break
                start -= 1
            found.append(Function(path, start + 1, " ".join(lines[start:index])))
        elif line == "}" and start is not None:
            found[-1].lines = index - start + 1
            start = None
        elif start is not None:
            match = CONTROL.match(line)
            if match:
                found[-1].nesting = max(found[-1].nesting, len(match.group(1)) // 4)
    return found


def function_problems(function):
    crash = CRASH_FILE.search(function.path)
    cap = CRASH_FUNCTION_LINES if crash else FUNCTION_LINES
    where = f"{function.path}:{function.start}: {function.name()}"
    if function.lines > cap:
        yield f"{where} has {function.lines} lines, at most {cap}"
    if function.parameters() > PARAMETERS and function.name() not in DICTATED:
        yield f"{where} has {function.parameters()} parameters, at most {PARAMETERS}"
    if function.nesting > NESTING:
        yield f"{where} nests {function.nesting} deep, at most {NESTING}"


def file_cap(path):
    if CRASH_FILE.search(path):
        return CRASH_FILE_LINES
    if path in LISTS:
        return LISTS[path]
    return HEADER_LINES if path.endswith(".h") else SOURCE_LINES


def percentile(values, share):
    return sorted(values)[int(len(values) * share)] if values else 0


def print_worst(all_functions, sizes):
    print("longest functions:")
    for f in sorted(all_functions, key=lambda f: -f.lines)[:10]:
        print(f"  {f.lines:4} {f.path}:{f.start} {f.name()}")
    print("longest files:")
    for path, size in sorted(sizes.items(), key=lambda item: -item[1])[:10]:
        print(f"  {size:4} {path}")
    lines = [f.lines for f in all_functions]
    print(f"functions: {len(lines)}, median {percentile(lines, 0.5)} lines, "
          f"90th percentile {percentile(lines, 0.9)}")


def main(root):
    problems, all_functions, sizes, conditionals = [], [], {}, 0
    for path in source_tree.files(root, (".c", ".h", ".cc", ".cpp")):
        lines = source_tree.code(source_tree.read(root, path)).split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        sizes[path] = len(lines)
        conditionals += sum(1 for line in lines if CONDITIONAL.match(line))
        all_functions += functions(path, lines)
        if len(lines) > file_cap(path):
            problems.append(f"{path}:1: {len(lines)} lines, at most {file_cap(path)}")
    for function in all_functions:
        problems += function_problems(function)
    if conditionals * 1000 > CONDITIONALS_PER_1000_LINES * max(1000, sum(sizes.values())):
        problems.append(f"{conditionals} preprocessor conditions: too many")
    print_worst(all_functions, sizes)
    source_tree.report("shape", problems, len(sizes))


if __name__ == "__main__":
    main(sys.argv[1])
