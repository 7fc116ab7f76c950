# SPDX-License-Identifier: Apache-2.0
#
# The two ways of `crashhook run`, and which differences from running alone are known.

import os

from harness import Scene

HERE = os.path.dirname(os.path.realpath(__file__))
WAYS = ("preload", "trace")


def lines_of(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return [line.strip() for line in file if not line.startswith("#")]


def known_differences():
    return {tuple(line.split(":")[0].split(maxsplit=1))
            for line in lines_of("harmless_differences.txt")}


def refusal_of(way):
    """Why this way of `crashhook run` cannot be had here; empty where it can."""
    with Scene() as scene:
        done = scene.command("run", "--via", way, "--", "/bin/true")
    return "" if done.returncode == 0 and not done.stderr else done.stderr.strip()
