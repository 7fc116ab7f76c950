# SPDX-License-Identifier: Apache-2.0
#
# busy.py: does things without end, for a signal to interrupt, and says when it began.

import json
import random
import re
import sys


def walk(value, depth):
    if depth == 0:
        return json.loads(json.dumps(value))
    return [walk(one, depth - 1) for one in value for _ in range(2)]


def sums():
    return sum(number * number for number in range(200))


def words(rng):
    text = " ".join(str(rng.random()) for _ in range(20))
    return re.sub(r"(\d+)\.(\d+)", lambda match: match.group(2) + sorted(
        match.group(1), key=lambda letter: letter)[0], text)


def main():
    rng = random.Random(1)
    print("busy", flush=True)
    while True:
        walk([{"a": 1}, {"b": [1, 2]}], 2)
        sums()
        words(rng)


sys.setrecursionlimit(500)
main()
