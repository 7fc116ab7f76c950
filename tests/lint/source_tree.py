# SPDX-License-Identifier: Apache-2.0
#
# The project's source files as the lints see them: which files there are, and their
# lines with comments and string literals blanked out. A lint collects problems as
# "path:line: what" and ends with report().

import os
import re
import subprocess
import sys

SKIPPED = {".git", "build", "node_modules", "__pycache__"}
# Recorded inputs are kept as they were, whoever wrote them.
RECORDED = os.path.join("tests", "cases")

TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)


def files(root, suffixes):
    """Paths relative to root, sorted, that end in one of suffixes."""
    found = []
    for folder, folders, names in os.walk(root):
        if os.path.relpath(folder, root) == RECORDED:
            folders[:] = []
            continue
        folders[:] = sorted(
            f for f in folders if f not in SKIPPED and not f.startswith("build-")
        )
        for name in names:
            if name.endswith(suffixes):
                found.append(os.path.relpath(os.path.join(folder, name), root))
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def _blank(match):
    text = match.group(0)
    if text.startswith("/"):
        return re.sub(r"[^\n]", " ", text)
    return text[0] + " " * (len(text) - 2) + text[-1]


def code(text):
    """The text with comments and the insides of literals blanked, lines kept."""
    return TOKEN.sub(_blank, text)


def need_version(tool, major):
    """Ends as skipped, by exit status 77, if the tool is of another major version than the one
    that the sources are written for: each version formats and warns differently."""
    said = subprocess.run([tool, "--version"], stdout=subprocess.PIPE, text=True, check=True)
    found = re.search(r"version (\d+)", said.stdout).group(1)
    if found != major:
        print(f"{tool} {found}: the sources are written for version {major}")
        sys.exit(77)


def report(name, problems, checked):
    """Prints the problems and exits as the lint's result."""
    for problem in problems:
        print(problem)
    print(f"{name}: {checked} files, {len(problems)} problems")
    sys.exit(1 if problems or checked == 0 else 0)
