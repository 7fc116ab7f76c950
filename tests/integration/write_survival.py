# SPDX-License-Identifier: Apache-2.0
#
# write_survival: runs every case of survival_cases.py with what the build left and writes
# docs/reference/survival.md of what came of it. Times are those of this run on this machine.

import json
import os
import platform
import re
import signal

import filters
import harness
from harness import Scene
from survival_cases import CASES, run_case

OUT = os.path.join(harness.SOURCE, "docs", "reference", "survival.md")

HEAD = """# What is survived

Each row is a real program that crashed under the handler on {machine}, while this page was made by
`tests/integration/write_survival.py`: what its report said, the signal it ended by, and the milliseconds from its
start to its end. They include the making of the report, and the machine had other work at the same time. A case about children
or about another user's spool may have no report of the program itself. `tests/integration/faults.txt` lists all faults with
their tests, also those of uploads, pages and formats. `integration.survival` asserts every row of this table.

| case | reports | tier | the report said | ended by | ms |
| --- | --- | --- | --- | --- | --- |
"""

FILTERS = """
## System calls that a filter refuses

{rows} crashes by a null write. In a crash the handler, its helper and the agent make {calls} system calls, counted by strace. A
seccomp filter answers one of them with an error, with SIGSYS (`TRAP`), or by killing the thread or the process. The agent
is started in the crash, waits since the program's start, or is missing. The program has one thread or three, and
`CRASHHOOK_TIMEOUT=1s`.

A cell has the signal that the program ended by, the seconds from the filter to its end, how many processes the handler
started in that time, and what is left of the crash. Where three threads end differently than one, the cell has their result
second. No program outlives the timeout by a second, and none starts more than two processes. The exceptions are marked
`stay`: a filter that kills a thread for one of the two calls that set the kernel's timer. No timer can end the other threads
then. `integration.filters` asserts a sample of these rows, and all of them with `CRASHHOOK_FULL=1`.

An error or SIGSYS never changes how a program ends. A filter that kills the crashed thread for a call ends the program: by
SIGSYS or, where other threads are left, by the timer's SIGKILL. An agent that waits since the start has no filter. It makes
the full report whatever the filter does to calls that are not the handler's.

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


def filter_rows():
    """All rows of test_filters.py, none of which may break what is promised."""
    results = filters.Runner().run_all(filters.rows())
    broken = {row: filters.problems(row, seen) for row, seen in results.items()}
    broken = {row: found for row, found in broken.items() if found}
    if broken:
        raise SystemExit(f"write_survival: not as promised: {broken}")
    return results


def main():
    machine = f"Linux {platform.release().split('-')[0]}, {platform.machine()}"
    with open(OUT, "w", encoding="utf-8") as file:
        file.write(HEAD.format(machine=machine))
        for case in CASES:
            file.write(row(case))
        results = filter_rows()
        file.write(FILTERS.format(rows=len(results), calls=len(filters.calls())))
        file.writelines(filters.table(results))
    print(json.dumps({"cases": len(CASES), "written": OUT}))


if __name__ == "__main__":
    main()
