#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# growth.py BUILD [RUNS] [SVG]: how cost grows with threads, depth, images, the size of a
# report and the size of a spool. Each is measured at sizes that are a few times apart, at
# the large ones with fewer runs, as processor time: of the agent while it holds the
# process, or of a command. The least of the runs counts, because what disturbs only adds.
# Prints a table with the exponent of the growth between the largest sizes, which must be
# that of n log n at most, and draws all of it (docs/growth.svg).

import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import uuid

import crash
import figures
import many

THREADS = (1, 10, 100, 1000, 3000, 10000)
DEPTHS = (10, 100, 1000, 10000, 100000, 1000000)
IMAGES = (0, 20, 200, 600, 2000)
REPORTS = (10, 100, 1000, 3000)
# From the largest size that is less than a fifth of the last one, to that.
SPAN = 5


def copies_of_a_library(folder, count):
    """Paths of count files with the same code, which a program loads as so many images."""
    source = many.libraries(folder, 1)[0]
    paths = [os.path.join(folder, f"libcopy{number}.so") for number in range(count)]
    for path in paths:
        if not os.path.exists(path):
            shutil.copy(source, path)
    return paths


def one_crash(build, folder, command):
    """The agent's processor time in ms until the process may die."""
    return crash.agent_used(build, folder, command, {}, True)[1]


def crashes(build, folder, commands, runs):
    """(size, ms) of the command of each size."""
    return [(size, min(one_crash(build, folder, command) for _ in range(
        runs if size < commands[-1][0] / SPAN else max(1, runs // 3))))
        for size, command in commands]


def took_ms(command, environment):
    """Processor time of a command."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = used()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return (used() - before) * 1000


def made_report(build, folder, threads):
    """The path of a report of so many threads."""
    spool = crash.new_spool(folder)
    target = os.path.join(build, "bench", "crash_target")
    crash.run_once(build, [target, str(threads), "-30", "0"], spool)
    name = [name for name in os.listdir(spool) if name.endswith(".json")][0]
    return os.path.join(spool, name)


def listings(build, folder, runs):
    """(reports in a spool, ms that `crashhook list` takes)."""
    path = made_report(build, folder, 1)
    with open(path, encoding="utf-8") as file:
        text, id_ = file.read(), os.path.basename(path)[: -len(".json")]
    environment = crash.environment(build, "-", CRASHHOOK_SPOOL=os.path.dirname(path))
    there, found = 1, []
    for count in REPORTS:
        for _ in range(count - there):
            other = id_[:19] + str(uuid.uuid4())[19:]
            with open(path.replace(id_, other), "w", encoding="utf-8") as file:
                file.write(text.replace(id_, other))
        there = count
        found.append((count, min(took_ms([os.path.join(build, "bin", "crashhook"), "list"],
                                         environment) for _ in range(runs))))
    return found


def showings(build, folder, runs):
    """(KB of a report, ms that `crashhook show` takes)."""
    found = []
    for threads in (1, 10, 100, 1000):
        path = made_report(build, folder, threads)
        command = [os.path.join(build, "bin", "crashhook"), "show", "--threads", "all", path]
        found.append((os.path.getsize(path) / 1000,
                      min(took_ms(command, crash.environment(build, "-"))
                          for _ in range(runs))))
    return found


def exponent(points):
    """Of y ~ x ** e, between the last point and one that is SPAN times smaller."""
    (x1, y1), (x0, y0) = points[-1], [p for p in points if p[0] * SPAN <= points[-1][0]][-1]
    return math.log(y1 / y0) / math.log(x1 / x0)


def bound(points):
    """The exponent of n log n between the same two points."""
    x1, x0 = points[-1][0], [p for p in points if p[0] * SPAN <= points[-1][0]][-1][0]
    return math.log(x1 * math.log(x1) / (x0 * math.log(x0))) / math.log(x1 / x0)


# A panel is one axis: what grows, and its lines, name to points.
def panels(build, folder, runs):
    made = os.path.join(build, "bench", "generated")
    target = os.path.join(build, "bench", "crash_target")

    def agent(commands):
        return crashes(build, folder, commands, runs)

    paths = copies_of_a_library(made, IMAGES[-1])
    yield "threads, 30 deep each", {
        "one function": agent([(n, [target, str(n), "30", "0"]) for n in THREADS]),
        "eight functions": agent([(n, [target, str(n), "-30", "0"]) for n in THREADS])}
    yield "depth", {
        "one function": agent([(n, [target, "1", str(n), "0"]) for n in DEPTHS]),
        "eight functions": agent([(n, [target, "1", str(-n), "0"]) for n in DEPTHS])}
    yield "images", {
        "agent": agent([(n + 5, [target, "1", "20", "0", *paths[:n]]) for n in IMAGES])}
    yield "KB of a report", {"crashhook show": showings(build, folder, runs)}
    yield "reports in the spool", {"crashhook list": listings(build, folder, runs)}


WIDTH, HEIGHT, LEFT, TOP = 300, 220, 60, 40
COLOURS = ("#0b5fa5", "#b3541e", "#777777")


def decades(values):
    return range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)


def draw_line(points, to_x, to_y, colour, label, row):
    path = " ".join(f"{to_x(x):.1f},{to_y(y):.1f}" for x, y in points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for x, y in points:
        yield f'<circle cx="{to_x(x):.1f}" cy="{to_y(y):.1f}" r="3" fill="{colour}"/>'
    yield f'<text x="8" y="{14 + 14 * row}" fill="{colour}">{label}</text>'


def draw_panel(what, lines):
    """The elements of one panel, with logarithmic axes of whole decades."""
    xs = decades([x for points in lines.values() for x, _ in points])
    ys = decades([y for points in lines.values() for _, y in points])

    def to_x(x):
        return (math.log10(x) - xs[0]) * WIDTH / (xs[-1] - xs[0])

    def to_y(y):
        return HEIGHT - (math.log10(y) - ys[0]) * HEIGHT / (ys[-1] - ys[0])

    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999999"/>'
    for decade in xs:
        yield (f'<text x="{to_x(10 ** decade):.1f}" y="{HEIGHT + 14}" text-anchor="middle">'
               f"{10 ** decade:,.0f}</text>")
    for decade in ys:
        yield (f'<text x="-6" y="{to_y(10 ** decade) + 4:.1f}" text-anchor="end">'
               f"{10 ** decade:g}</text>")
    for row, (name, points) in enumerate(lines.items()):
        label = f"{name}: n^{exponent(points):.2f}"
        yield from draw_line(points, to_x, to_y, COLOURS[row], label, row)
    yield f'<text x="{WIDTH / 2}" y="{HEIGHT + 30}" text-anchor="middle">{what}</text>'
    yield '<text x="-50" y="-8">ms</text>'


def draw(found, path):
    rows = (len(found) + 1) // 2
    width, height = 2 * (WIDTH + LEFT + 40), rows * (HEIGHT + TOP + 50)
    parts = ["<!-- SPDX-License-Identifier: Apache-2.0 -->",
             f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
             "<title>How cost grows</title>",
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for index, (what, lines) in enumerate(found):
        x = LEFT + index % 2 * (WIDTH + LEFT + 40)
        y = TOP + index // 2 * (HEIGHT + TOP + 50)
        parts += [f'<g transform="translate({x},{y})">', *draw_panel(what, lines), "</g>"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*parts, "</svg>", ""]))


def main(build, runs, path):
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as folder:
        found = list(panels(build, folder, runs))
    print("| what grows | cost in ms at each size | exponent at the end | of n log n |")
    print("|---|---|---|---|")
    for what, lines in found:
        for name, points in lines.items():
            sizes = ", ".join(f"{x:,.0f}: {y:,.2f}" for x, y in points)
            print(f"| {what}, {name} | {sizes} | {exponent(points):.2f} | "
                  f"{bound(points):.2f} |", flush=True)
            figures.record("growth", f"{what}, {name}", exponent(points), "",
                           ("<=", bound(points) + 0.1))
    draw(found, path)
    with open(os.path.join(build, "bench", "growth.json"), "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)


if __name__ == "__main__":
    BUILD = os.path.realpath(sys.argv[1])
    main(BUILD, int(sys.argv[2]) if len(sys.argv) > 2 else 6,
         sys.argv[3] if len(sys.argv) > 3 else os.path.join(BUILD, "bench", "growth.svg"))
