# SPDX-License-Identifier: Apache-2.0
#
# options ROOT: each row of shared/settings_table.h has its member in struct crashhook_options,
# by the name of its variable, or include/crashhook/crashhook.h says above the struct why it
# has none. handler/prepare/variables.c has the members in the struct's order.

import re
import sys

import source_tree

HEADER = "include/crashhook/crashhook.h"
TABLE = "shared/settings_table.h"
ORDER = "handler/prepare/variables.c"
ROW = re.compile(r'ROW\("CRASHHOOK_(\w+)", (?:"[a-z-]+"|NULL), \w+, (\w+)')


def members(text):
    body = re.search(r"struct crashhook_options \{(.*?)\n\};", text, re.S)
    return re.findall(r"^    const char \*(\w+);", body.group(1), re.M) if body else []


def reasons(text):
    """The variables that the comment above the struct names."""
    match = re.search(r"((?:^//[^\n]*\n)+)struct crashhook_options \{", text, re.M)
    return set(re.findall(r"\bCRASHHOOK_(\w+)", match.group(1))) if match else set()


def problems(header, table, order):
    rows = dict(ROW.findall(table))
    found = members(header)
    for name in rows:
        if name.lower() not in found and name not in reasons(header):
            yield (f"{HEADER}:1: CRASHHOOK_{name} has no member in struct crashhook_options, "
                   "and no reason stands above it")
    for member in found:
        if member.upper() not in rows:
            yield f"{HEADER}:1: '{member}' is the member of no variable of {TABLE}"
    places = {place: name.lower() for name, place in rows.items()}
    named = [places.get(place) for place in re.findall(r"\bSETTING_AT_(\w+),", order)]
    if named != found:
        yield f"{ORDER}:1: its members are not those of the struct, in that order"


def main(root):
    texts = [source_tree.read(root, path) for path in (HEADER, TABLE, ORDER)]
    source_tree.report("options", list(problems(*texts)), len(texts))


if __name__ == "__main__":
    main(sys.argv[1])
