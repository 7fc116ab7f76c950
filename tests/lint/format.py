# SPDX-License-Identifier: Apache-2.0
#
# format ROOT [VERSION]: every source file is as clang-format would write it. With VERSION, a
# clang-format of another version is not asked.

import subprocess
import sys

import source_tree

ENOUGH = 40  # lines of complaint; the first few say it all


def main(root):
    paths = source_tree.files(root, (".c", ".h", ".cc", ".cpp"))
    done = subprocess.run(
        ["clang-format", "--dry-run", "-Werror", "--style=file", *paths],
        cwd=root, stderr=subprocess.PIPE, text=True, check=False,
    )
    problems = [line for line in done.stderr.split("\n") if "error:" in line][:ENOUGH]
    if done.returncode != 0 and not problems:
        problems = done.stderr.split("\n")[:ENOUGH]
    source_tree.report("format", problems, len(paths))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        source_tree.need_version("clang-format", sys.argv[2])
    main(sys.argv[1])
