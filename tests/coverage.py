#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# coverage.py BUILD PAGE: reads what the programs of a coverage build counted, prints the
# lines that ran by folder, and holds PAGE (docs/reference/coverage.md) to it: every function that
# never ran stands there with a reason, none that ran does, except where the reason begins
# with `sometimes`, and of each folder at most two points less and five more ran than it
# says. Lines that did not run go to BUILD/not_run.txt.

import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
FOLDERS = ("base", "formats", "unwind", "images", "languages", "report", "net", "agent",
           "symbolizer", "upload", "backtrace", "cli", "collector")
LESS, MORE = 2, 5  # points


def read_counts(path):
    """What gcov makes of one file of counts."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", path], check=False,
                          cwd=os.path.dirname(path), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]


def count_files(build):
    for folder, _, names in os.walk(build):
        for name in names:
            if name.endswith(".gcda"):
                yield os.path.join(folder, name)


def add_up(build):
    """Of every source file: line to whether it ran, and function to the same."""
    lines = collections.defaultdict(dict)
    functions = collections.defaultdict(dict)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for parts in pool.map(read_counts, count_files(build)):
            for part in parts:
                for file in part["files"]:
                    path = os.path.relpath(os.path.join(part["current_working_directory"],
                                                        file["file"]), TOP)
                    if path.split("/")[0] not in FOLDERS:
                        continue
                    for line in file["lines"]:
                        seen = lines[path].get(line["line_number"], False)
                        lines[path][line["line_number"]] = seen or line["count"] > 0
                    for function in file["functions"]:
                        seen = functions[path].get(function["name"], False)
                        functions[path][function["name"]] = (
                            seen or function["execution_count"] > 0)
    return lines, functions


def by_folder(lines):
    """Folder to its number of lines and the percentage that ran."""
    result = {}
    for folder in FOLDERS:
        ran = [ran for path, found in lines.items() if path.startswith(folder + "/")
               for ran in found.values()]
        result[folder] = (len(ran), 100 * sum(ran) / len(ran) if ran else 0)
    return result


def write_not_run(lines, path):
    with open(path, "w", encoding="utf-8") as out:
        for file in sorted(lines):
            missing = sorted(line for line, ran in lines[file].items() if not ran)
            if missing:
                out.write(f"{file}: {' '.join(map(str, missing))}\n")


def read_page(page):
    """The folders' figures of the page, and (file, function) to whether it must not run."""
    figures, excused = {}, {}
    with open(page, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            folder = re.fullmatch(r"`(\w+)/`", cells[0])
            if folder and len(cells) == 3:
                figures[folder.group(1)] = float(cells[2])
            elif line.startswith("| `") and len(cells) == 3:
                for name in re.findall(r"`([^`]+)`", cells[1]):
                    excused[cells[0].strip("`"), name] = not cells[2].startswith("sometimes")
    return figures, excused


def problems_of(found, functions, page):
    figures, excused = read_page(page)
    for folder, (_, percent) in found.items():
        if not -LESS <= percent - figures.get(folder, 0) <= MORE:
            yield f"{folder}/: the page says {figures.get(folder)} %, it is {percent:.1f} %"
    for path in sorted(functions):
        for name, ran in sorted(functions[path].items()):
            if not ran and (path, name) not in excused:
                yield f"{path}: {name}: no test runs it, and the page does not say why"
            if ran and excused.get((path, name), False):
                yield f"{path}: {name}: it runs, and the page says that it does not"
    for path, name in excused:
        if name not in functions.get(path, {}):
            yield f"{path}: {name}: the page names it, and there is no such function"


def main(build, page):
    lines, functions = add_up(build)
    found = by_folder(lines)
    for folder, (count, percent) in found.items():
        print(f"| `{folder}/` | {count:,} | {percent:.1f} |")
    total = sum(count for count, _ in found.values())
    ran = sum(count * percent for count, percent in found.values())
    print(f"all: {total:,} lines, {ran / total:.1f} % ran")
    write_not_run(lines, os.path.join(build, "not_run.txt"))
    problems = list(problems_of(found, functions, page))
    for problem in problems:
        print(problem)
    print(f"{len(problems)} differences from {os.path.relpath(page, TOP)}; "
          f"lines that did not run: {os.path.join(build, 'not_run.txt')}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(os.path.realpath(sys.argv[1]), sys.argv[2]))
