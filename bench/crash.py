# SPDX-License-Identifier: Apache-2.0
#
# crash.py BUILD [RUNS]: from the crash to the process being gone and to its report being
# complete, without a reporter and with crashhook, in turn. Prints the tables of
# docs/performance.md: medians, what the handler costs to install, its size, and the
# agent's peak memory.

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import figures
import many

# What is aimed at: gone and complete in ms, the agent's memory while it holds in MB.
TARGETS = {"a": (2, 25, 4), "b": (8, 35, 6), "c": (65, 150, 12), "d": (8, 40, None),
           "f": (5, 60, None), "h": (8, 60, None)}

# row, threads, depth, heap in MB, extra libraries, what it is
ROWS = [
    ("a", 1, 20, 0, 0, "1 thread, 20 deep"),
    ("b", 100, 30, 0, 0, "100 threads, 30 deep"),
    ("c", 1000, 30, 0, 0, "1,000 threads, 30 deep"),
    ("d", 1, 100000, 0, 0, "100,000 deep"),
    ("f", 3, 24, 0, 0, "9 MB of text, 140 MB of DWARF"),
    ("h", 1, 20, 0, 200, "200 libraries"),
    ("i", 1, 20, 1024, 0, "1 GB heap"),
]


def environment(build, spool, **variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CRASHHOOK_")}
    if spool != "-":
        kept.update(LD_PRELOAD=os.path.join(build, "lib", "libcrashhook.so"),
                    CRASHHOOK_SPOOL=spool, CRASHHOOK_PRINT="no")
    kept.update(variables)
    return kept


def run_once(build, command, spool, **variables):
    """One crash, as crash_timer saw it."""
    # The handler is for the program alone, not for the timer.
    whole = environment(build, spool, **variables)
    preload = whole.pop("LD_PRELOAD", None)
    if preload:
        command = ["env", f"LD_PRELOAD={preload}", *command]
    done = subprocess.run([os.path.join(build, "bench", "crash_timer"), spool, *command],
                          env=whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"crash.py: {' '.join(command[:4])}: {done.returncode} {done.stderr}")
    return json.loads(done.stdout)


def empty(spool):
    if os.path.isdir(spool):
        shutil.rmtree(spool)
    os.mkdir(spool, 0o700)


def medians(runs, key):
    return statistics.median(run[key] for run in runs)


def agent_peak_mb(build, folder, command, spool, alone):
    """The agent's peak memory in MB. Alone: a copy of it without the programs beside
    it, so that it ends where it would go on as `crashhook finish`."""
    agent = os.path.join(build, "libexec", "crashhook", "crashhook-agent")
    if alone:
        agent = shutil.copy(agent, os.path.join(folder, "crashhook-agent"))
    peak = os.path.join(folder, "peak")
    empty(spool)
    wrapper = os.path.join(folder, "agent.sh")
    with open(wrapper, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\nexec {build}/bench/agent_peak {peak} {agent} \"$@\"\n")
    os.chmod(wrapper, 0o755)
    run_once(build, command, spool, CRASHHOOK_AGENT=wrapper)
    with open(peak, encoding="ascii") as file:
        return int(file.read()) / 1024


def measure(build, folder, row, command, runs):
    spool = os.path.join(folder, "spool")
    alone, watched = [], []
    for _ in range(runs):
        alone.append(run_once(build, command, "-"))
        empty(spool)
        watched.append(run_once(build, command, spool))
        if watched[-1]["raw_us"] < 0:
            sys.exit(f"crash.py: row {row}: no report")
    return {
        "none": medians(alone, "gone_us") / 1000,
        "gone": medians(watched, "gone_us") / 1000,
        "raw": medians(watched, "raw_us") / 1000,
        "done": medians(watched, "done_us") / 1000,
        "report": medians(watched, "report_bytes") / 1000,
        "held_mb": agent_peak_mb(build, folder, command, spool, True),
        "free_mb": agent_peak_mb(build, folder, command, spool, False),
    }


def record_row(row, what, m):
    gone, done, held = TARGETS.get(row, (None, None, None))
    for name, value, unit, bound, others in (
            ("gone", m["gone"], "ms", gone, {"no reporter": m["none"]}),
            ("complete", m["done"], "ms", done, {}),
            ("agent while it holds", m["held_mb"], "MB", held, {})):
        figures.record("crash to gone", f"{row}: {what}, {name}", value, unit,
                       ("<=", bound) if bound else None, others)


def print_row(row, what, m):
    record_row(row, what, m)
    print(f"| {row}: {what} | {m['none']:.2f} | {m['gone']:.2f} | "
          f"{m['gone'] / m['none']:.1f} | {m['raw']:.2f} | {m['done']:.1f} | "
          f"{m['report']:.0f} | {m['held_mb']:.1f} | {m['free_mb']:.1f} |", flush=True)


def install_us(build, runs):
    """What loading the library costs, switched off and on."""
    library = os.path.join(build, "lib", "libcrashhook.so")
    costs = {"no": [], "yes": []}
    for _ in range(runs):
        for enable, found in costs.items():
            done = subprocess.run(
                [os.path.join(build, "bench", "install_cost"), library],
                env=environment(build, "-", CRASHHOOK_ENABLE=enable),
                stdout=subprocess.PIPE, text=True, check=True)
            found.append(float(done.stdout))
    return statistics.median(costs["no"]), statistics.median(costs["yes"])


def print_handler(build, runs):
    off, on = install_us(build, runs * 10)
    done = subprocess.run(["size", os.path.join(build, "lib", "libcrashhook.so")],
                          stdout=subprocess.PIPE, text=True, check=True)
    text, data, bss = (int(n) for n in done.stdout.split("\n")[1].split()[:3])
    for what, value, unit, bound in (("install", on - off, "µs", 30),
                                     ("text", text / 1024, "KB", 32),
                                     ("bss", bss / 1024, "KB", 16)):
        figures.record("handler", what, value, unit, ("<=", bound))
    print("\n| handler | |\n|---|---|")
    print(f"| loaded and switched off | {off:.0f} µs |")
    print(f"| loaded and installed | {on:.0f} µs: installing takes {on - off:.0f} µs |")
    print(f"| text / data / bss | {text / 1024:.1f} / {data / 1024:.1f} / "
          f"{bss / 1024:.1f} KB |")


def main(build, runs):
    build = os.path.realpath(build)
    made = os.path.join(build, "bench", "generated")
    print("| row | no reporter, gone (ms) | crashhook, gone (ms) | ratio | raw report (ms) "
          "| complete (ms) | report (KB) | agent held (MB) | agent free (MB) |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as folder:
        for row, threads, depth, heap, libraries, what in ROWS:
            target = os.path.join(build, "bench", "crash_target")
            if row == "f":
                target = many.large_program(made)
            command = [target, str(threads), str(depth), str(heap)]
            command += many.libraries(made, libraries)
            print_row(row, what, measure(build, folder, row, command, runs))
    print_handler(build, runs)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 15)
