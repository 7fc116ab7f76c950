#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# skipped.py SUMMARY LOG: a line for each test that ctest's run left out, with the reason it
# gave: "integration.survival: test_x: not root". SUMMARY is what ctest printed, LOG its
# LastTest.log. A file of tests that could run none of them (exit code 77) is one line.

import re
import sys

BEGUN = re.compile(r"\d+/\d+ Test: (\S+)")
NAME = re.compile(r"(?:\[ RUN +\] |(?=test_|setUpClass))(\w+)")
SKIPPED = re.compile(r"skipped ['\"](.*)['\"]$")
TOLD = "skipped: "  # a test of many rows says so of one
LEFT_OUT = re.compile(r"\d+ - (\S+) \(Skipped\)")


def tests_of(log):
    """ctest's name of each test and the lines it printed."""
    tests = {}
    lines = []
    for line in log.splitlines():
        begun = BEGUN.match(line)
        if begun:
            lines = tests.setdefault(begun.group(1), [])
        elif line == "<end of output>":
            lines = []
        else:
            lines.append(line)
    return tests


def skipped_inside(lines):
    """Name and reason of what was skipped, as unittest and cmocka print them."""
    name = ""
    for line in lines:
        name = NAME.match(line).group(1) if NAME.match(line) else name
        reason = SKIPPED.search(line)
        if reason:
            yield f"{name}: {reason.group(1)}"
        elif line.startswith(TOLD):
            yield line[len(TOLD):]


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        left_out = set(LEFT_OUT.findall(file.read()))
    with open(sys.argv[2], encoding="utf-8", errors="replace") as file:
        tests = tests_of(file.read())
    for test, lines in tests.items():
        if test in left_out:
            print(f"{test}: {lines[-1] if lines else 'it says no reason'}")
            continue
        for skipped in skipped_inside(lines):
            print(f"{test}: {skipped}")


if __name__ == "__main__":
    main()
