# SPDX-License-Identifier: Apache-2.0
#
# tidy ROOT BUILD JOBS [VERSION]: clang-tidy, of this version if one is given, with the
# checks of .clang-tidy, over the project's own sources as BUILD/compile_commands.json
# compiles them: those that differ from the branch that this one follows, or from the last
# commit. With CRASHHOOK_ALL=1, which `make check` sets, all of them. A NOLINT names the
# check it silences and says why. What was found clean is not looked at again until it, or a
# header it includes, has changed. The analyzer follows as many paths as it can only with
# CRASHHOOK_FULL=1: that takes five times as long.

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

import source_tree

FOLDERS = ("base", "formats", "unwind", "images", "languages", "report", "net", "handler",
           "heap", "agent", "symbolizer", "upload", "flight", "backtrace", "cli", "collector")

# Flags that clang would take for mistakes.
GCC_FLAG = re.compile(r" -fno-(?:tree-[\w-]+|instrument-functions)")

FULL = os.environ.get("CRASHHOOK_FULL") == "1"
FEW_PATHS = [] if FULL else [f"--extra-arg={word}" for word in
                             ("-Xclang", "-analyzer-config", "-Xclang", "mode=shallow")]

INCLUDED = re.compile(r'^#include ["<]([\w/]+\.h)[">]', re.MULTILINE)

NOLINT = re.compile(r"NOLINT\w*(\([\w.,-]+\))?(: \w+)?")


def sources(root, build):
    """The C files of the product that BUILD compiles, each once."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        paths = {
            os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
            for entry in json.load(file)
        }
    return sorted(p for p in paths if p.split("/")[0] in FOLDERS and p.endswith(".c"))


def git(root, *words):
    done = subprocess.run(["git", "-C", root, *words], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.split() if done.returncode == 0 else []


def changed(root, paths):
    """Those of paths that changed, or whose header did; all where nothing tells."""
    base = git(root, "merge-base", "HEAD", "@{upstream}") or git(root, "rev-parse", "HEAD")
    if not base:
        return paths
    stems = {name.rsplit(".", 1)[0] for name in
             git(root, "diff", "--name-only", base[0]) +
             git(root, "ls-files", "--others", "--exclude-standard")}
    return [path for path in paths if path.rsplit(".", 1)[0] in stems]


def commands_for_clang(build):
    """A folder with the compile commands without gcc's own flags."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        text = GCC_FLAG.sub("", file.read())
    folder = os.path.join(build, "tidy")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as file:
        file.write(text)
    return folder


def digest(root, commands, path):
    """A name for the source and all that clang-tidy's answer depends on in the tree."""
    seen, waiting = set(), [path, ".clang-tidy"]
    total = hashlib.sha256(str(FEW_PATHS).encode())
    with open(os.path.join(commands, "compile_commands.json"), encoding="utf-8") as file:
        entries = [entry for entry in json.load(file) if entry["file"].endswith(path)]
    total.update(json.dumps(entries).encode())
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if not os.path.exists(os.path.join(root, name)):
            continue
        text = source_tree.read(root, name)
        total.update(hashlib.sha256(text.encode()).digest())
        for header in INCLUDED.findall(text):
            waiting += [header, "include/" + header]
    return total.hexdigest()


def tidy_unless_clean(root, commands, path):
    clean = os.path.join(commands, "clean", digest(root, commands, path))
    if os.path.exists(clean):
        return []
    found = tidy(root, commands, path)
    if not found:
        os.makedirs(os.path.dirname(clean), exist_ok=True)
        with open(clean, "w", encoding="utf-8"):
            pass
    return found


# A process for each source: in a second one, the analyzer of clang 14 no longer knows
# functions that it knew in the first, such as va_start.
def tidy(root, commands, path):
    done = subprocess.run(
        ["clang-tidy", "-p", commands, "--quiet",
         "--extra-arg=-Wno-unknown-warning-option", *FEW_PATHS, path],
        cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
    )
    if done.returncode == 0:
        return []
    found = [line for line in done.stdout.split("\n") if re.search(r"(error|warning):", line)]
    if not found:
        return [f"{path}:1: clang-tidy failed: {done.stderr.strip()[-300:]}"]
    # What is said of a system header is about a definition of ours that it declares.
    return [line for line in found if not line.startswith("/usr/")]


def unexplained(root):
    for path in source_tree.files(root, (".c", ".h")):
        for number, line in enumerate(source_tree.read(root, path).split("\n"), 1):
            match = NOLINT.search(line)
            if match and "NOLINTEND" not in line and not all(match.groups()):
                yield f"{path}:{number}: NOLINT(check): reason"


def main(root, build, jobs):
    root, build = os.path.realpath(root), os.path.realpath(build)
    paths = sources(root, build)
    if os.environ.get("CRASHHOOK_ALL") != "1" and not FULL:
        paths = changed(root, paths)
    problems = list(unexplained(root))
    commands = commands_for_clang(build)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda path: tidy_unless_clean(root, commands, path), paths):
            problems += found
    if not paths and not problems:
        print("tidy: nothing changed")
        return
    source_tree.report("tidy", sorted(set(problems)), len(paths))


if __name__ == "__main__":
    if len(sys.argv) > 4:
        source_tree.need_version("clang-tidy", sys.argv[4])
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
