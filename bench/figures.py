# SPDX-License-Identifier: Apache-2.0
#
# What the benchmarks pass to bench/run: figures with their targets and with the peers'
# figures from the same run. A script records them beside the table that it prints; when
# it is not run by bench/run, recording does nothing.

import json
import os
import shutil
import statistics


# Lower bounds, and peers that do not do the same: no ratio to them is computed.
FLOORS = ("no reporter", "raw addresses", "frame pointers alone")

# Programs that were looked for and are not there.
absent = set()


def record(section, what, value, unit, target=None, others=None):
    """One figure. target: ("<=", 5) or (">=", 3). others: name to value, in that unit."""
    path = os.environ.get("CRASHHOOK_FIGURES")
    if path is None:
        return
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps({"section": section, "what": what, "value": value, "unit": unit,
                               "target": target, "others": others or {}}) + "\n")


def in_turn(measures, turns, warm):
    """What each of the functions measures, a list for each: each turn calls all of them, in an
    order that turns too. The first turns, as many as warm says, do not count."""
    found = [[] for _ in measures]
    for turn in range(warm + turns):
        first = turn % len(measures)
        for at in [*range(first, len(measures)), *range(first)]:
            value = measures[at]()
            if turn >= warm:
                found[at].append(value)
    return found


def more_than(base, values):
    """The lower quartile, the median and the upper quartile of the differences."""
    return statistics.quantiles([value - its for value, its in zip(values, base)], n=4)


def installed(program, for_what):
    """Whether a program is installed; where it is not, one line says what is not measured."""
    if shutil.which(program) or program in absent:
        return program not in absent
    absent.add(program)
    print(f"not measured: {for_what}: {program} is not installed", flush=True)
    return False


def more_is_better(figure):
    """Whether of two values the larger is the better one."""
    if figure["target"] is not None:
        return figure["target"][0] == ">="
    return "/s" in figure["unit"]


def met(figure):
    """Whether a figure meets its target; None: it has none."""
    if figure["target"] is None:
        return None
    relation, bound = figure["target"]
    value = figure["value"]
    return value <= bound if relation == "<=" else value >= bound
