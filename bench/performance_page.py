#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# performance_page.py FIGURES > docs/performance.md: writes the page from the figures.json
# that bench/run leaves: how each topic is measured, and its table. A topic with more
# figures than ROWS shows some of each section: those that miss their target come first,
# then those of other tools. Ends with 1, and says so, where the page has more words than
# WORDS_MOST or a section of the file has no topic here: nothing is left out without a word.

import itertools
import json
import sys

import figures

ROWS = 4
WORDS_MOST = 1500

# The title of a topic, its sections in the file, the scripts, and what they measure.
TOPICS = (
    ("A crash", ("crash to gone",), "`bench/crash.py`",
     "From the instruction that crashes until the process is gone, and until its report is complete."),
    ("Real programs, and growth", ("real programs", "growth"), "`bench/real.py`, `bench/growth.py`",
     "The same for programs of Debian; and how each cost grows: the exponent of the size, where 1 is linear."),
    ("What a program pays", ("handler", "held", "throws", "heap"),
     "`bench/starts.py`, `bench/threads.py`, `bench/forks.py`, `bench/held.py`",
     "Starts, threads, forks, thrown exceptions and guarded allocations, compared with a program"
     " that has no library."),
    ("The node agent", ("node agent",), "`bench/node.py`",
     "From the fault until the process is gone, and until a service runs again."),
    ("Unwinding and names", ("unwinding", "names", "causes"),
     "`bench/unwind.py`, `bench/symbolize.py`, `bench/names.py`",
     "Walks of stacks, and the functions and lines of addresses, compared with other tools."),
    ("Libraries", ("Backtrace API", "flight recorder", "formats", "traced"),
     "`bench/capture.py`, `bench/name_cost.py`, `bench/flight.py`, `bench/formats.py`, `bench/trace.py`",
     "A call of each library, and what tracing adds."),
    ("Upload and ingest", ("upload", "ingest"), "`bench/upload.py`, `bench/ingest.py`",
     "Reports of 20 KB over HTTP, each synced before its answer, and the same bytes in a bare table."),
    ("What a report takes in the store", ("stored", "fields"),
     "`bench/stored.py`, `bench/fields.py`",
     "Bytes by table, and the share of each field that reports are found by."),
    ("Lists of 1,000,000 reports", ("lists", "searches"), "`bench/ingest.py --lists`, `bench/searches.py`",
     "Pages and requests (medians of nine answers), and sixty searches."),
    ("A fleet", ("fleet",), "`bench/fleet.py`",
     "Reports of 50,000 groups from 200,000 hosts, alone and beside other work."),
)
HEAD = """# Performance

<!-- Made by bench/performance_page.py from the figures.json of `make bench`: change that. -->

`make bench` runs the scripts named here, in turn with other tools; the figures are medians. One that does not meet its target is
marked as missed. For programs that do not crash, see [costs.md](costs.md).

Measured on {processor}, {processors} processors, Linux {kernel}, load {load:.1f} at the start.

![Cost against threads, depth, images, the size of a report and of a spool](growth.svg)"""


def number(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def with_unit(value, unit):
    return f"{number(value)} {unit}".strip()


def rank(figure):
    """Which figures of a section are shown first: those that miss their target, then those
    that are compared."""
    return figures.met(figure) is not False, not figure["others"], figure["target"] is None


def row(figure):
    target = ""
    if figure["target"] is not None:
        relation, bound = figure["target"]
        sign = {"<=": "≤", ">=": "≥"}[relation]
        target = f"{sign} {number(bound)}{'' if figures.met(figure) else ', missed'}"
    others = ", ".join(f"{name} {number(value)}" for name, value in
                       sorted(figure["others"].items(), key=lambda item: item[1]))
    cells = (figure["what"], with_unit(figure["value"], figure["unit"]), others, target)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def topic(title, sections, scripts, about, found):
    """The lines of a topic; none: nothing of it was measured."""
    mine = [figure for figure in found if figure["section"] in sections]
    if not mine:
        return []
    in_turn = itertools.zip_longest(*(
        sorted((figure for figure in mine if figure["section"] == section), key=rank)
        for section in sections))
    chosen = [figure for turn in in_turn for figure in turn if figure is not None][:ROWS]
    lines = ["", f"## {title}", "", f"{about} ({scripts})", "",
             "| what | crashhook | others | target |", "|---|---|---|---|"]
    lines += [row(figure) for figure in mine if figure in chosen]
    if len(mine) > len(chosen):
        lines += ["", f"{len(mine) - len(chosen)} more figures are in `figures.json`."]
    return lines


def published(measured):
    """The table of reporters that Debian does not package, if the crashes were measured."""
    of_row = measured["published"]["rows"]
    names = sorted({name for row in of_row.values() for name in row["gone"]})
    lines = ["", "## Reporters that Debian does not package", "",
             "From the crash until the process is gone, as multiples of the time without a reporter. The others were measured"
             " in one run elsewhere; the first column has the times without a reporter, here and there."
             " (`bench/published.json`)", "",
             "| what | none, here and there | " + " | ".join(("crashhook", *names)) + " |",
             "|---" * (len(names) + 3) + "|"]
    before = len(lines)
    for figure in measured["figures"]:
        key, _, what = figure["what"].partition(": ")
        if figure["section"] == "crash to gone" and what.endswith(", gone") and key in of_row:
            none = figure["others"]["no reporter"]
            cells = (f"{key}: {what.removesuffix(', gone')}",
                     f"{number(none)} ms, {number(of_row[key]['none'])} ms", number(figure["value"] / none),
                     *(number(of_row[key]["gone"][name]) if name in of_row[key]["gone"] else ""
                       for name in names))
            lines.append("| " + " | ".join(cells) + " |")
    return lines if len(lines) > before else []


def page(measured):
    found = measured["figures"]
    known = {section for _, sections, _, _ in TOPICS for section in sections}
    unknown = sorted({figure["section"] for figure in found} - known)
    if unknown:
        raise ValueError(f"sections without a topic: {', '.join(unknown)}")
    lines = [HEAD.format(**measured["machine"])]
    for each in TOPICS:
        lines += topic(*each, found)
    lines += published(measured)
    text = "\n".join(lines) + "\n"
    words = sum(any(letter.isalnum() for letter in word) for word in text.split())
    if words > WORDS_MOST:
        raise ValueError(f"the page has {words} words, at most {WORDS_MOST} are wanted")
    return text


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        measured = json.load(file)
    try:
        sys.stdout.write(page(measured))
    except ValueError as wrong:
        print(f"performance_page: {wrong}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
