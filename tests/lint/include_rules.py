# SPDX-License-Identifier: Apache-2.0
#
# include_rules ROOT: which folder may include which, and where the headers of other
# projects may appear. docs/architecture.md explains the order.

import re
import sys

import source_tree

# A folder may include itself and every folder to its left.
LAYERS = [
    {"base"},
    {"formats"},
    {"unwind"},
    {"report"},
    {"agent", "symbolizer", "upload"},
    {"backtrace", "cli", "collector"},
]

# Folders outside the order, and all that they may include beside themselves. None of
# these knows what a report is: they are linked into programs that are not ours.
OUTSIDE = {
    "include": set(),
    "handler": {"include"},
    "flight": {"include"},
    "examples": {"include"},
}

# Single headers that cross an edge on purpose.
EXTRA_EDGES = {
    ("handler", "base/settings.h"),  # the table of variables is read once at install
    ("agent", "handler/request_page.h"),  # the page that handler and agent share
    ("agent", "handler/context_page.h"),  # and what the program says of itself
    ("agent", "handler/watch_page.h"),  # and the table that it points to
    ("agent", "handler/place_note.h"),  # how it is found without them
    ("agent", "handler/record_file.h"),  # the same, as the handler writes it to disk
    ("agent", "flight/flight_state.h"),  # the rings that recorder and agent share
    ("flight", "base/settings.h"),  # as the handler
    ("flight", "handler/flight_place.h"),  # what the recorder tells the handler
    ("flight", "handler/place_note.h"),  # and what it tells without one
}

# Tests, fuzzers and benchmarks look at everything.
FREE = {"tests", "fuzz", "bench"}

# A header of another project, and the folders it may appear in.
CONFINED = [
    (r"curl/", {"upload"}),
    (r"capstone/", {"symbolizer"}),
    (r"(elfutils/.*|dwarf\.h|libelf\.h|gelf\.h)", {"symbolizer"}),
    (r"(libiberty/.*|demangle\.h)", {"symbolizer"}),
    (r"libunwind.*\.h", {"unwind"}),
    (r"(microhttpd\.h|sqlite3\.h|libpq-fe\.h)", {"collector"}),
    (r"jansson\.h", {"report", "agent", "symbolizer", "upload", "backtrace", "cli",
                     "collector"}),
    (r"zlib\.h", {"formats", "symbolizer", "upload", "collector"}),
    (r"(zstd\.h|lzma\.h)", {"symbolizer", "upload", "collector"}),
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
    if here is not None and target == "include":
        return True
    return here is not None and there is not None and there < here


def folder_of(header, quoted):
    """The project's folder a header belongs to, or None for other headers."""
    if header.startswith("crashhook/"):
        return "include"
    if not quoted:
        return None
    return header.split("/", 1)[0] if "/" in header else ""


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
    if target == "" and source != "examples":
        return f'"{header}" is not written with its folder'
    if target == "" or (source, header) in EXTRA_EDGES or edge_allowed(source, target):
        return None
    return f"{source}/ may not include {header}"


def main(root):
    problems, checked = [], 0
    for path in source_tree.files(root, (".c", ".h", ".cc", ".cpp")):
        source = path.split("/", 1)[0]
        if source in FREE:
            continue
        checked += 1
        if source not in OUTSIDE and layer(source) is None:
            problems.append(f"{path}:1: {source}/ has no place in the include order")
            continue
        for number, line in enumerate(source_tree.read(root, path).split("\n"), 1):
            problem = check_line(path, source, line)
            if problem:
                problems.append(f"{path}:{number}: {problem}")
    source_tree.report("include_rules", problems, checked)


if __name__ == "__main__":
    main(sys.argv[1])
