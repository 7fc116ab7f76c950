# SPDX-License-Identifier: Apache-2.0
#
# What the benchmarks pass to bench/run: figures with their targets and with the peers'
# figures from the same run. A script records them beside the table that it prints; when
# it is not run by bench/run, recording does nothing.

import json
import os


# Lower bounds, and peers that do not do the same: no ratio to them is computed.
FLOORS = ("no reporter", "raw addresses", "frame pointers alone")


def record(section, what, value, unit, target=None, others=None):
    """One figure. target: ("<=", 5) or (">=", 3). others: name to value, in that unit."""
    path = os.environ.get("CRASHHOOK_FIGURES")
    if path is None:
        return
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps({"section": section, "what": what, "value": value, "unit": unit,
                               "target": target, "others": others or {}}) + "\n")


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
