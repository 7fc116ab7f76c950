# SPDX-License-Identifier: Apache-2.0
#
# fault_list ROOT: every row of tests/integration/faults.txt is there, in order, names a
# test or says why there can be none, and every test it names is where it says.

import os
import re
import sys

import source_tree

LIST = "tests/integration/faults.txt"
ROWS = 96
ROW = re.compile(r"(\d+) \S.*")
TEST = re.compile(r"    (tests/\S+) (\S+)")
ABSENT = re.compile(r"    not applicable: \S.{20,}")


def is_there(root, path, name):
    if not os.path.exists(os.path.join(root, path)):
        return False
    text = source_tree.read(root, path)
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def check(root, text):
    rows = {}
    current = None
    for number, line in enumerate(text.split("\n"), 1):
        where = f"{LIST}:{number}"
        if not line or line.startswith("#"):
            continue
        if match := ROW.fullmatch(line):
            current = int(match.group(1))
            if current != len(rows) + 1:
                yield f"{where}: row {current} where {len(rows) + 1} is due"
            rows[current] = 0
        elif match := TEST.fullmatch(line):
            rows[current] += 1
            if not is_there(root, match.group(1), match.group(2)):
                yield f"{where}: there is no {match.group(2)} in {match.group(1)}"
        elif ABSENT.fullmatch(line):
            rows[current] += 1
        else:
            yield f"{where}: neither a row, a test nor a reason"
    for row, count in rows.items():
        if count == 0:
            yield f"{LIST}:1: row {row} names no test"
    if len(rows) != ROWS:
        yield f"{LIST}:1: {len(rows)} rows, not {ROWS}"


def main(root):
    if not os.path.exists(os.path.join(root, LIST)):
        source_tree.report("fault_list", [], 0)
        return
    source_tree.report("fault_list", list(check(root, source_tree.read(root, LIST))), 1)


if __name__ == "__main__":
    main(sys.argv[1])
