# SPDX-License-Identifier: Apache-2.0
#
# write_survival: runs every case of survival_cases.py with what the build left and writes
# docs/survival.md of what came of it. Times are those of this run on this machine.

import json
import os
import platform
import re
import signal

import harness
from harness import Scene
from survival_cases import CASES
from test_survival import run_case

OUT = os.path.join(harness.SOURCE, "docs", "survival.md")

HEAD = """# What is survived

Each row is a real program that crashed under the handler on {machine}, while this page was made by
`tests/integration/write_survival.py`: what its report said, the signal it ended by, and how long it lived from its start
to its death, the report's making included, beside whatever else the machine had to do. Where a case is about children or about another user's spool, the program's
own report is missing or not the point. The list of all faults with the tests that show them, those of uploads, pages and
formats too, is `tests/integration/faults.txt`; `integration.survival` asserts every row of this table.

| case | reports | tier | the report said | ended by | ms |
| --- | --- | --- | --- | --- | --- |
"""


def signal_name(ended):
    return signal.Signals(ended.signal).name if ended.signal else f"exit {ended.status}"


def row(case):
    with Scene() as scene:
        ended, reports = run_case(scene, case)
    crash = reports[-1]["crash"] if reports else {}
    said = crash.get("summary", "")
    said = re.sub(r"0x[0-9a-f]{6,}", "0x…", said).replace("|", "\\|")
    said = said.replace(scene.folder, "…").replace(harness.BUILD, "…")
    tier = reports[-1]["agent"]["tier"] if reports else ""
    kind = f"`{crash['kind']}`: {said}" if crash else ""
    return (f"| {case.name} | {len(reports)} | {tier} | {kind} | {signal_name(ended)} | "
            f"{ended.seconds * 1000:.0f} |\n")


def main():
    machine = f"Linux {platform.release().split('-')[0]}, {platform.machine()}"
    with open(OUT, "w", encoding="utf-8") as file:
        file.write(HEAD.format(machine=machine))
        for case in CASES:
            file.write(row(case))
    print(json.dumps({"cases": len(CASES), "written": OUT}))


if __name__ == "__main__":
    main()
