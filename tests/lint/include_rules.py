# SPDX-License-Identifier: Apache-2.0
#
# include_rules ROOT [--edges]: which folder may include which, and where the headers of
# other projects may appear; no files include each other in a circle. docs/architecture.md
# shows the order. --edges prints how many files of each folder include headers of another.

import os
import re
import sys

import source_tree

# A folder may include itself and every folder in a row before its own.
LAYERS = [
    {"shared"},
    {"base"},
    {"formats"},
    {"unwind"},
    {"images"},
    {"languages", "report"},
    {"net"},
    {"agent", "symbolizer", "upload"},
    {"backtrace", "cli", "collector"},
]

# The same for the folders in a folder; "." is what lies in the folder itself.
ROOMS = {
    "base": [{"."}, {"system"}, {"settings"}],
    "formats": [{"debug"}, {"interchange", "runtime"}],
    "report": [{"json", "secrets"}, {"file"}, {"summary"}, {"grouping"}, {"value"}, {"spool"}],
    "agent": [{"live", "follow", "musl"}, {"facts"}, {"messages", "flight"}, {"raw", "core"},
              {"trace"}, {"daemon"}, {"."}],
    "handler": [{"machine"}, {"crash"}, {"prepare"}, {"interpose"}, {"."}],
    "symbolizer": [{"search"}, {"cache"}, {"files"}, {"names"}, {"code", "types"},
                   {"values"}, {"diagnosis", "arguments"}, {"fault"}, {"."}],
    "upload": [{"bodies"}, {"."}],
    "cli": [{"render"}, {"session"}, {"debug", "fdr", "run", "ci", "node"}, {"doctor"}, {"."}],
    "collector": [{"database"}, {"objects"}, {"entry"}, {"store"}, {"query"}, {"server"},
                  {"symbols"}, {"requests"},
                  {"jobs"}, {"pages"}, {"."}],
}

# Folders outside the order, and all that they may include beside themselves. None of
# these knows what a report is: they are linked into programs that are not ours.
OUTSIDE = {
    "include": set(),
    "handler": {"include", "shared", "base/settings"},
    "flight": {"include", "shared", "base/settings"},
    "heap": {"include", "shared", "base", "formats/interchange", "unwind"},
    "examples": {"include"},
    "bindings": set(),
}

# Single headers that cross an edge on purpose.
EXTRA_EDGES = {
    ("cli", "handler/crash/crash_trust.h"),  # run and doctor judge agents as the handler does
    ("heap", "backtrace/local_code.h"),  # rules for frames, read in signal handlers too
}

# The crash path is one module in many files; its headers are shared by all of them.
ONE_MODULE = "handler/crash/"

# Tests, fuzzers and benchmarks look at everything.
FREE = {"tests", "fuzz", "bench"}

# A header of another project, and the folders it may appear in.
CONFINED = [
    (r"curl/", {"net"}),
    (r"(Zydis|capstone)/", {"symbolizer"}),
    (r"(elfutils/.*|dwarf\.h|libelf\.h|gelf\.h)", {"symbolizer"}),
    (r"(libiberty/.*|demangle\.h)", {"symbolizer"}),
    (r"libunwind.*\.h", {"unwind"}),
    (r"(microhttpd\.h|sqlite3\.h|libpq-fe\.h)", {"collector"}),
    (r"jansson\.h", {"report", "agent", "symbolizer", "upload", "backtrace", "cli",
                     "collector"}),
    (r"zlib\.h", {"formats", "symbolizer", "upload", "collector"}),
    (r"libdeflate\.h", {"formats"}),
    (r"zstd\.h", {"formats", "upload", "collector"}),
    (r"lzma\.h", {"symbolizer"}),
    (r"sys/ptrace\.h", {"agent"}),
    (r"cmocka\.h", set()),
]

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def layer(folder):
    for index, folders in enumerate(LAYERS):
        if folder in folders:
            return index
    return None


def edge_allowed(source, header):
    target = "include" if header.startswith("crashhook/") else header.split("/", 1)[0]
    if source == target:
        return True
    if source in OUTSIDE:
        return not OUTSIDE[source].isdisjoint({target, os.path.dirname(header)})
    here, there = layer(source), layer(target)
    if here is not None and target == "include":
        return True
    return here is not None and there is not None and there < here


def room_of(path):
    """The folder in a folder that a file lies in: "." for none."""
    parts = path.split("/")
    return parts[1] if parts[0] in ROOMS and len(parts) > 2 else "."


def floor_of(folder, room):
    for floor, rooms in enumerate(ROOMS.get(folder, [{"."}])):
        if room in rooms:
            return floor
    return None


def room_allowed(path, header):
    """Whether a file may include a header of its own folder."""
    folder = path.split("/", 1)[0]
    here, there = room_of(path), room_of(header)
    if here == there:
        return True
    floors = floor_of(folder, here), floor_of(folder, there)
    return None not in floors and floors[1] < floors[0]


def folder_of(header, quoted):
    """The project's folder a header belongs to, or None for other headers."""
    if header.startswith("crashhook/"):
        return "include"
    if not quoted:
        return None
    return header.split("/", 1)[0] if "/" in header else ""


def place_of(path):
    """The folder of a file, and the folder in it."""
    return os.path.normpath(os.path.join(path.split("/", 1)[0], room_of(path)))


def included(root, path):
    """The project's headers that a file includes."""
    for line in source_tree.read(root, path).split("\n"):
        match = INCLUDE.match(line)
        if match and match.group(1) == '"' and "/" in match.group(2):
            yield match.group(2)


def stem_of(path):
    return path.rsplit(".", 1)[0]


def circles(includes):
    """Files, each with its header, that include each other in a circle of any length. A
    header that several files of a module share, and that has no file of its own, is of no
    circle."""
    sources = {stem_of(path) for path in includes if not path.endswith(".h")}
    after = {stem: set() for stem in sources}
    for path, headers in includes.items():
        if stem_of(path) in sources and not path.startswith(ONE_MODULE):
            after[stem_of(path)] |= {stem_of(header) for header in headers} & sources
    # What includes nothing that is left is in no circle, nor is what nothing left includes.
    while True:
        left = set(after)
        used = set().union(*after.values()) if after else set()
        after = {stem: (headers & left) - {stem} for stem, headers in after.items()
                 if (headers & left) - {stem} and stem in used}
        if set(after) == left:
            break
    for stem in sorted(after):
        yield f"{stem}.c:1: in a circle of includes, with {', '.join(sorted(after[stem]))}"


def edges(includes):
    """How many files of a place include headers of another."""
    counts = {}
    for path, headers in includes.items():
        here = place_of(path)
        for there in {place_of(header) for header in headers} - {here}:
            counts[here, there] = counts.get((here, there), 0) + 1
    return counts


def check_line(path, source, line):
    match = INCLUDE.match(line)
    if not match:
        return None
    quoted, header = match.group(1) == '"', match.group(2)
    target = folder_of(header, quoted)
    if target is None:
        for pattern, allowed in CONFINED:
            if re.fullmatch(pattern + (".*" if pattern.endswith("/") else ""), header):
                return None if source in allowed else f"<{header}> is not for {source}/"
        return None
    if target == "" and source not in ("examples", "bindings"):
        return f'"{header}" is not written with its folder'
    if target == source and not room_allowed(path, header):
        return f"{place_of(path)}/ may not include {header}"
    if target == "" or (source, header) in EXTRA_EDGES or edge_allowed(source, header):
        return None
    return f"{source}/ may not include {header}"


def main(root, show_edges):
    problems, checked, includes = [], 0, {}
    for path in source_tree.files(root, (".c", ".h", ".cc", ".cpp")):
        source = path.split("/", 1)[0]
        if source in FREE:
            continue
        checked += 1
        includes[path] = list(included(root, path))
        if (source not in OUTSIDE and layer(source) is None) or (
                source in ROOMS and floor_of(source, room_of(path)) is None):
            problems.append(f"{path}:1: {place_of(path)}/ has no place in the include order")
        for number, line in enumerate(source_tree.read(root, path).split("\n"), 1):
            problem = check_line(path, source, line)
            if problem:
                problems.append(f"{path}:{number}: {problem}")
    problems += circles(includes)
    if show_edges:
        for (here, there), count in sorted(edges(includes).items()):
            print(f"{here} -> {there}: {count}")
    source_tree.report("include_rules", problems, checked)


if __name__ == "__main__":
    main(sys.argv[1], "--edges" in sys.argv[2:])
