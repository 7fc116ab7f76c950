# SPDX-License-Identifier: Apache-2.0
#
# top_level ROOT: every folder at the top level is in CONTRIBUTING's map of the tree, and
# every file there is one that belongs there: what a run leaves behind is not committed.

import re
import subprocess
import sys

import source_tree

FILES = """.clang-format .clang-tidy .clangd .editorconfig .gitignore BUILD.bazel CHANGELOG.md
CMakeLists.txt CMakePresets.json CONTRIBUTING.md LICENSE MODULE.bazel Makefile NOTICE README.md SECURITY.md meson.build
meson_options.txt""".split()
FOLDERS = [".ci", ".devcontainer", "docs"]  # docs/ has a paragraph of its own



def committed(root):
    """The tree's files: those that git has, or where there is no repository all."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [path for path in listed.stdout.split("\0") if path]
    return source_tree.files(root, ("",))


def main(root):
    paths = committed(root)
    known = source_tree.read(root, "CONTRIBUTING.md") if "CONTRIBUTING.md" in paths else ""
    folders = FOLDERS + re.findall(r"`(\w+)/", known)
    problems = set()
    for top, slash, _ in (path.partition("/") for path in paths):
        if slash and top not in folders:
            problems.add(f"{top}/: is not in CONTRIBUTING's map of the tree")
        elif not slash and top not in FILES:
            problems.add(f"{top}: is no file of the top level")
    source_tree.report("top_level", sorted(problems), len(paths))


main(sys.argv[1])
