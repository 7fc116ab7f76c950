# SPDX-License-Identifier: Apache-2.0
#
# The interpreters of Python that are installed here, and what a report says of one's
# frames.

import collections
import glob
import os
import re
import subprocess

# Where CRASHHOOK_LANGUAGES says, tests write what they have found into a table.
DOCUMENT = os.environ.get("CRASHHOOK_LANGUAGES")
NAMED = os.environ.get("CRASHHOOK_PYTHONS", "").split()
OLDEST = (3, 8)
NEWEST = (3, 14)


def version_of(path):
    """The version of the interpreter at path; None: it does not run."""
    try:
        done = subprocess.run(
            [path, "-c", "import sys; print('%d %d' % sys.version_info[:2])"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=60, check=True, text=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return tuple(int(part) for part in done.stdout.split())


def installed():
    """The interpreters of the versions that can be read, by version and path: the
    system's, pyenv's, and those that CRASHHOOK_PYTHONS names."""
    paths = NAMED + sorted(glob.glob("/usr/bin/python3.[0-9]") +
                           glob.glob("/usr/bin/python3.[0-9]*[0-9]"))
    paths += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    known = ((version_of(path), path) for path in dict.fromkeys(paths))
    return [(version, path) for version, path in known
            if version is not None and OLDEST <= version <= NEWEST]


def frames(thread):
    """The Python frames of a thread of a report, innermost first: the function's own name,
    as Python's traceback has it, the file and the line."""
    return [(frame.get("function", "?").split(".")[-1], frame.get("file"), frame.get("line"))
            for frame in thread["backtrace"].get("frames", [])
            if frame.get("language") == "python"]


def full_version(path):
    done = subprocess.run([path, "-c", "import platform; print(platform.python_version())"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
                          text=True)
    return done.stdout.strip()


class Found(collections.OrderedDict):
    """What was seen, for the table under a heading: a dictionary of columns by row."""

    def note(self, row, column, value):
        self.setdefault(row, collections.OrderedDict())[column] = value

    def write(self, heading, first):
        """Replaces the table under the heading, if there is a document to be written."""
        if not DOCUMENT or not self:
            return
        columns = list(dict.fromkeys(name for row in self.values() for name in row))
        lines = [f"| {' | '.join([first, *columns])} |", "| --- " * (len(columns) + 1) + "|"]
        lines += ["| " + " | ".join([row, *(str(cells.get(name, "")) for name in columns)]) + " |"
                  for row, cells in sorted(self.items())]
        with open(DOCUMENT, encoding="utf-8") as file:
            text = file.read()
        found = re.search(rf"^## {re.escape(heading)}\n(?:(?!\n\|).)*\n(?=\|)", text,
                          re.MULTILINE | re.DOTALL)
        assert found, heading
        rest = text[found.end():]
        end = re.match(r"(?:\|.*\n)*", rest).end()
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text[:found.end()] + "\n".join(lines) + "\n" + rest[end:])
