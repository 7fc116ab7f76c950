# SPDX-License-Identifier: Apache-2.0
#
# include_rules ROOT [--edges]: which folder may include which, which room of a folder,
# and where the headers of other projects may appear; no two files may include each other.
# docs/architecture.md explains the order. --edges prints how many files of each folder and
# room include headers of which other.

import re
import sys

import source_tree

# A folder may include itself and every folder to its left.
LAYERS = [
    {"base"},
    {"formats"},
    {"unwind"},
    {"report"},
    {"net"},
    {"agent", "symbolizer", "upload"},
    {"backtrace", "cli", "collector"},
]

# The rooms of a folder, in the same order. What lies in the folder itself stands above
# its rooms: it may include all of them, and none of them it.
ROOMS = {
    "agent": [{"images"}, {"live", "core", "languages"}],
    "collector": [{"store"}, {"server"}, {"pages"}],
    "symbolizer": [{"names"}, {"types", "diagnosis"}, {"arguments"}],
}

# Folders outside the order, and all that they may include beside themselves. None of
# these knows what a report is: they are linked into programs that are not ours.
OUTSIDE = {
    "include": set(),
    "shared": set(),
    "handler": {"include", "shared"},
    "flight": {"include", "shared"},
    "examples": {"include"},
    "bindings": set(),
}

# Single headers that cross an edge on purpose.
EXTRA_EDGES = {
    ("handler", "base/settings.h"),  # the table of variables is read once at install
    ("handler", "base/settings_table.h"),  # where each variable stands in that table
    ("handler", "base/signals.h"),  # the names and sets of signals are constant data
    ("cli", "handler/crash_trust.h"),  # run and doctor judge agents as the handler does
    ("agent", "handler/request_page.h"),  # the page that handler and agent share
    ("agent", "handler/context_page.h"),  # and what the program says of itself
    ("agent", "handler/watch_page.h"),  # and the table that it points to
    ("agent", "handler/place_note.h"),  # how it is found without them
    ("agent", "handler/record_file.h"),  # the same, as the handler writes it to disk
    ("agent", "flight/flight_state.h"),  # the rings that recorder and agent share
    ("agent", "flight/counter.h"),  # and the clock of what is in them
    ("backtrace", "handler/place_note.h"),  # how the stacks of throws are found
    ("backtrace", "handler/throw_ring.h"),  # and their layout
    ("agent", "handler/throw_ring.h"),
    ("flight", "base/settings.h"),  # as the handler
    ("flight", "handler/place_note.h"),  # and what it tells without one
    ("flight", "handler/context_page.h"),  # what stands before the rings
    ("flight", "handler/record_file.h"),  # the file that the handler makes room in
}

# The crash path is one module in many files; its two headers are shared by all of them.
KNOWN_CIRCLES = {
    ("handler/crash", "handler/crash_action"),
}

# Tests, fuzzers and benchmarks look at everything.
FREE = {"tests", "fuzz", "bench"}

# A header of another project, and the folders it may appear in.
CONFINED = [
    (r"curl/", {"upload"}),
    (r"Zydis/", {"symbolizer"}),
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


def edge_allowed(source, target):
    if source == target:
        return True
    if source in OUTSIDE:
        return target in OUTSIDE[source]
    here, there = layer(source), layer(target)
    if here is not None and target in ("include", "shared"):
        return True
    return here is not None and there is not None and there < here


def room_of(path):
    """The room that a file of a folder with rooms lies in: "" for none."""
    parts = path.split("/")
    return parts[1] if parts[0] in ROOMS and len(parts) > 2 else ""


def room_allowed(path, header):
    """Whether a file may include a header of its own folder."""
    folder = path.split("/", 1)[0]
    here, there = room_of(path), room_of(header)
    if folder not in ROOMS or header.split("/", 1)[0] != folder or here in ("", there):
        return True
    floors = [floor for rooms in (here, there) for floor, names in enumerate(ROOMS[folder])
              if rooms in names]
    return len(floors) == 2 and floors[1] < floors[0]


def folder_of(header, quoted):
    """The project's folder a header belongs to, or None for other headers."""
    if header.startswith("crashhook/"):
        return "include"
    if not quoted:
        return None
    return header.split("/", 1)[0] if "/" in header else ""


def place_of(path):
    """The folder of a file, with its room."""
    return "/".join(filter(None, (path.split("/", 1)[0], room_of(path))))


def included(root, path):
    """The project's headers that a file includes."""
    for line in source_tree.read(root, path).split("\n"):
        match = INCLUDE.match(line)
        if match and match.group(1) == '"' and "/" in match.group(2):
            yield match.group(2)


def stem_of(path):
    return path.rsplit(".", 1)[0]


def circles(includes):
    """Pairs of files, each with its header, that include each other. A header that
    several files of a module share, and that has no file of its own, is of no circle."""
    edges = {}
    sources = {stem_of(path) for path in includes if not path.endswith(".h")}
    for path, headers in includes.items():
        edges.setdefault(stem_of(path), set()).update(map(stem_of, headers))
    for one, others in sorted(edges.items()):
        for other in sorted(others):
            pair = (one, other)
            if not sources.issuperset(pair) or pair in KNOWN_CIRCLES:
                continue
            if one < other and one in edges.get(other, ()):
                yield f"{one}.c:1: it and {other}.c include each other"


def edges(includes):
    """How many files of a place include headers of another."""
    counts = {}
    for path, headers in includes.items():
        here = place_of(path)
        for there in {place_of(header) for header in headers} - {here}:
            counts[here, there] = counts.get((here, there), 0) + 1
    return counts


def room_edges(root):
    """Pairs of places of one folder, the first of which includes headers of the second."""
    includes = {path: list(included(root, path))
                for path in source_tree.files(root, (".c", ".h"))
                if path.split("/", 1)[0] in ROOMS}
    return {(here, there) for here, there in edges(includes)
            if here.split("/")[0] == there.split("/")[0]}


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
    if target == "" or (source, header) in EXTRA_EDGES or edge_allowed(source, target):
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
        if source not in OUTSIDE and layer(source) is None:
            problems.append(f"{path}:1: {source}/ has no place in the include order")
            continue
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
