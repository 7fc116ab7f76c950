# SPDX-License-Identifier: Apache-2.0
#
# tidy ROOT BUILD [JOBS]: clang-tidy, with the checks of .clang-tidy, over the project's
# own sources as BUILD/compile_commands.json compiles them. A NOLINT names the check it
# silences and says why.

import concurrent.futures
import json
import os
import re
import subprocess
import sys

import source_tree

FOLDERS = ("base", "formats", "unwind", "report", "handler", "agent", "symbolizer",
           "upload", "flight", "backtrace", "cli", "collector")

NOLINT = re.compile(r"NOLINT\w*(\([\w.,-]+\))?(: \w+)?")


def sources(root, build):
    """The C files of the product that BUILD compiles, each once."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        paths = {
            os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
            for entry in json.load(file)
        }
    return sorted(p for p in paths if p.split("/")[0] in FOLDERS and p.endswith(".c"))


def tidy(root, build, path):
    # Headers are seen through the sources that include them; gcc's own flags mean
    # nothing to clang.
    done = subprocess.run(
        ["clang-tidy", "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option",
         "--extra-arg=-Qunused-arguments", path],
        cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
    )
    if done.returncode == 0:
        return []
    found = [line for line in done.stdout.split("\n") if re.search(r"(error|warning):", line)]
    return found or [f"{path}:1: clang-tidy failed: {done.stderr.strip()[-300:]}"]


def unexplained(root):
    for path in source_tree.files(root, (".c", ".h")):
        for number, line in enumerate(source_tree.read(root, path).split("\n"), 1):
            match = NOLINT.search(line)
            if match and "NOLINTEND" not in line and not all(match.groups()):
                yield f"{path}:{number}: NOLINT(check): reason"


def main(root, build, jobs):
    root, build = os.path.realpath(root), os.path.realpath(build)
    paths = sources(root, build)
    problems = list(unexplained(root))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda path: tidy(root, build, path), paths):
            problems += found
    source_tree.report("tidy", sorted(set(problems)), len(paths))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 2)
