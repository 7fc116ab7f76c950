#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# crash.py BUILD [RUNS]: from the crash to the process being gone and to its report being
# complete: without a reporter, with those that Debian has, and with crashhook, in turn.
# Prints the tables of docs/performance.md: medians, what the handler costs to install, its
# size, and the agent's peak memory and processor time. Turns in which the machine was slow
# are repeated (phase.py). A first crash is one with an empty folder of symbol caches, and an
# indexed one is one where `crashhook symbols index` has had the program and its libraries.

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import figures
import many
import peers
import phase

# Targets: gone, complete and complete at the first crash in ms, the agent's memory while it
# holds the process in MB, and how long after the crash the agent may start, in ms.
TARGETS = {"a": (0.9, 8, 30, 4, None), "n": (0.6, None, None, None, None),
           "b": (5, 25, 60, 6, None), "c": (36, 90, 130, 12, None),
           "d": (6, 15, 40, None, None), "k": (5, 25, 60, 6, None),
           "l": (36, 90, 130, 12, None), "m": (6, 15, 40, None, None),
           "f": (5, 60, None, None, None), "h": (4.5, 12, 40, None, None),
           "i": (None, 8, None, None, None), "j": (None, None, None, None, 1)}
FREE_MB = 40  # the agent's memory once the process is gone
FIRST_CRASHES = 3
FIRST_INDEXED = 1.5  # of a later crash

# row, threads, depth, heap in MB, extra libraries, what it is
ROWS = [
    ("a", 1, 20, 0, 0, "1 thread, 20 deep"),
    ("n", 1, 20, 0, 0, "1 thread, 20 deep, daemon mode"),
    ("b", 100, 30, 0, 0, "100 threads, 30 deep"),
    ("c", 1000, 30, 0, 0, "1,000 threads, 30 deep"),
    ("d", 1, 100000, 0, 0, "100,000 deep"),
    ("k", 100, -30, 0, 0, "100 threads, 30 deep, eight functions"),
    ("l", 1000, -30, 0, 0, "1,000 threads, 30 deep, eight functions"),
    ("m", 1, -100000, 0, 0, "100,000 deep, eight functions"),
    ("f", 3, 24, 0, 0, "9 MB of text, 140 MB of DWARF"),
    ("h", 1, 20, 0, 200, "200 libraries"),
    ("i", 1, 20, 1024, 0, "1 GB heap"),
    ("j", 1, 20, 4096, 0, "4 GB heap"),
]
# What the rows have in their environment: where an agent waits, it has started when the
# program crashes.
VARIABLES = {"n": {"CRASHHOOK_MODE": "daemon", "CRASH_TARGET_AFTER_MS": "100"}}
# Filling so much memory takes seconds; three turns are enough.
LARGE_MB = 4096
# A million calls need less.
STACK_MB = 256


def environment(build, spool, **variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CRASHHOOK_")}
    if spool != "-":
        kept.update(LD_PRELOAD=os.path.join(build, "lib", "libcrashhook.so"),
                    CRASHHOOK_SPOOL=spool, CRASHHOOK_PRINT="no")
    kept.update(variables)
    return kept


def run_once(build, command, spool, preload=None, core_mb=0, watched=True, **variables):
    """One crash, as crash_timer saw it, in a folder that is thrown away with its core, and
    with a stack that no row fills. Watched: for the report, too."""
    # Only the program gets the handler, not the timer.
    whole = environment(build, spool, **variables)
    preload = whole.pop("LD_PRELOAD", preload)
    if preload:
        command = ["env", f"LD_PRELOAD={preload}", *command]

    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (core_mb << 20, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_STACK, (STACK_MB << 20, resource.RLIM_INFINITY))

    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as where:
        done = subprocess.run(
            [os.path.join(build, "bench", "crash_timer"), spool if watched else "-",
             *command], cwd=where, env=whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit,
            errors="replace", check=False)
    if done.returncode != 0:
        sys.exit(f"crash.py: {' '.join(command[:4])}: {done.returncode} {done.stderr}")
    return json.loads(done.stdout)


def agent_started_ms(spool):
    """How long after the crash the agent began, as the report in the spool has it."""
    name = [name for name in os.listdir(spool) if name.endswith(".json")][0]
    with open(os.path.join(spool, name), encoding="utf-8") as file:
        return json.load(file)["agent"]["timings_us"]["spawn"] / 1000


def empty(spool):
    if os.path.isdir(spool):
        shutil.rmtree(spool)
    os.mkdir(spool, 0o700)


def new_spool(folder):
    """An empty spool beside those of earlier turns. ext4 passes over what was deleted in the
    last minutes when it makes a file, so a spool emptied for each turn makes that slow."""
    return tempfile.mkdtemp(prefix="spool.", dir=folder)


def medians(runs, key):
    return statistics.median(run[key] for run in runs)


def wrapped_agent(build, folder, alone):
    """A program to be run as the agent, and the file that it writes what the agent used
    into. Alone: a copy of the agent without the programs beside it, so that it ends where
    it would go on as `crashhook finish`."""
    agent = os.path.join(build, "libexec", "crashhook", "crashhook-agent")
    if alone:
        agent = shutil.copy(agent, os.path.join(folder, "crashhook-agent"))
    peak = os.path.join(folder, "peak")
    wrapper = os.path.join(folder, "agent.sh")
    with open(wrapper, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\nexec {build}/bench/agent_peak {peak} {agent} \"$@\"\n")
    os.chmod(wrapper, 0o755)
    return wrapper, peak


def used(peak):
    """The agent's peak memory in MB and its processor time in ms."""
    with open(peak, encoding="ascii") as file:
        peak_kb, took_us = map(int, file.read().split())
    return peak_kb / 1024, took_us / 1000


def agent_used(build, folder, command, variables, alone):
    wrapper, peak = wrapped_agent(build, folder, alone)
    run_once(build, command, new_spool(folder), CRASHHOOK_AGENT=wrapper, **variables)
    return used(peak)


def agent_costs(build, folder, command, variables):
    """The agent's peak memory in MB while it holds the process, and in all, and its
    processor time in all in ms. An agent that waits from the start is not started by the
    crash: None."""
    if "CRASHHOOK_MODE" in variables:
        return None, None, None
    held, _ = agent_used(build, folder, command, variables, True)
    return held, *agent_used(build, folder, command, variables, False)


def first_crashes(folder, turn):
    """What turn(XDG_CACHE_HOME) gives for crashes without symbol caches. It returns once
    what writes them has ended, as crash_timer does."""
    for number in range(FIRST_CRASHES):
        caches = os.path.join(folder, f"caches{number}")
        os.mkdir(caches, 0o700)
        yield turn(caches)
        shutil.rmtree(caches)


def mapped_files(program):
    """A program and its libraries."""
    told = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True)
    return [program, *(word for word in told.stdout.split() if word.startswith("/"))]


def first_complete(build, folder, command, variables, indexed=()):
    """Ms to the complete report of a first crash, after these files were indexed."""
    def turn(caches):
        if indexed:
            # Files without debug information are refused.
            subprocess.run([os.path.join(build, "bin", "crashhook"), "symbols", "index",
                            *indexed], env={**os.environ, "XDG_CACHE_HOME": caches},
                           check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return run_once(build, command, new_spool(folder), XDG_CACHE_HOME=caches, **variables)
    return medians(list(first_crashes(folder, turn)), "done_us") / 1000


def one_turn(build, command, variables, folder, reporters):
    """One crash under each reporter: name to what crash_timer saw. Under crashhook there are
    two: a report wakes who watches for it, and on few processors the program then waits to
    die. Nobody watches for the reports of others either, so the first has the time to gone."""
    turn = {"no reporter": run_once(build, command, "-", **variables)}
    for name, library in reporters.items():
        turn[name] = run_once(build, command, "-", preload=library,
                              core_mb=1 << 14 if name == peers.CORE_FILE else 0, **variables)
    unwatched = run_once(build, command, new_spool(folder), watched=False, **variables)
    spool = new_spool(folder)
    turn["crashhook"] = run_once(build, command, spool, **variables)
    if turn["crashhook"]["raw_us"] < 0:
        sys.exit(f"crash.py: {' '.join(command[:4])}: no report")
    turn["crashhook"]["gone_us"] = unwatched["gone_us"]
    turn["crashhook"]["started_ms"] = agent_started_ms(spool)
    return turn


def measure(build, folder, command, variables, runs, reporters, now):
    turns = now.measure(lambda: one_turn(build, command, variables, folder, reporters), runs)
    ours = [turn["crashhook"] for turn in turns]
    held_mb, free_mb, used_ms = agent_costs(build, folder, command, variables)
    return {
        "others": {name: medians([turn[name] for turn in turns], "gone_us") / 1000
                   for name in turns[0] if name != "crashhook"},
        "gone": medians(ours, "gone_us") / 1000,
        "raw": medians(ours, "raw_us") / 1000,
        "done": medians(ours, "done_us") / 1000,
        "first": first_complete(build, folder, command, variables),
        "indexed": first_complete(build, folder, command, variables,
                                  mapped_files(command[0])),
        "report": medians(ours, "report_bytes") / 1000,
        "started": medians(ours, "started_ms"),
        "held_mb": held_mb,
        "free_mb": free_mb,
        "used_ms": used_ms,
    }


def record_row(row, what, m):
    gone, done, first, held, started = TARGETS[row]
    for name, value, unit, bound, others in (
            ("gone", m["gone"], "ms", gone, m["others"]),
            ("complete", m["done"], "ms", done, {}),
            ("complete, first crash", m["first"], "ms", first, {}),
            ("complete, first crash, indexed", m["indexed"], "ms", FIRST_INDEXED * m["done"],
             {}),
            ("agent started", m["started"], "ms", started, {}),
            ("agent while it holds", m["held_mb"], "MB", held, {}),
            ("agent afterwards", m["free_mb"], "MB", FREE_MB, {}),
            ("agent, processor time", m["used_ms"], "ms", None, {})):
        if value is None:
            continue
        figures.record("crash to gone", f"{row}: {what}, {name}", value, unit,
                       ("<=", bound) if bound else None, others)


def print_row(row, what, m):
    record_row(row, what, m)
    none = m["others"]["no reporter"]
    costs = ("-" if m[name] is None else f"{m[name]:.1f}"
             for name in ("held_mb", "free_mb", "used_ms"))
    print(f"| {row}: {what} | {none:.2f} | {m['gone']:.2f} | "
          f"{m['gone'] / none:.1f} | {m['raw']:.2f} | {m['done']:.1f} | {m['first']:.0f} | "
          f"{m['indexed']:.1f} | {m['report']:.0f} | {' | '.join(costs)} |", flush=True)


def print_others(rows):
    """Until the process is gone, under each reporter of this run."""
    names = list(rows[0][1]["others"])
    print(f"\n| row, gone (ms) | {' | '.join(names)} | crashhook |")
    print("|---" * (len(names) + 2) + "|")
    for row, m in rows:
        values = [m["others"].get(name) for name in names] + [m["gone"]]
        print(f"| {row} | " + " | ".join("-" if v is None else f"{v:.2f}" for v in values) +
              " |", flush=True)


def install_costs(build, runs):
    """What loading the library costs, switched off and on: medians of microseconds, bytes
    of heap, threads and child processes."""
    library = os.path.join(build, "lib", "libcrashhook.so")
    costs = {"no": [], "yes": []}
    for _ in range(runs):
        for enable, found in costs.items():
            done = subprocess.run(
                [os.path.join(build, "bench", "install_cost"), library],
                env=environment(build, "-", CRASHHOOK_ENABLE=enable),
                stdout=subprocess.PIPE, text=True, check=True)
            found.append([float(word) for word in done.stdout.split()])
    return [[statistics.median(column) for column in zip(*costs[enable])]
            for enable in ("no", "yes")]


def print_handler(build, runs):
    off, on = install_costs(build, runs * 10)
    done = subprocess.run(["size", os.path.join(build, "lib", "libcrashhook.so")],
                          stdout=subprocess.PIPE, text=True, check=True)
    text, data, bss = (int(n) for n in done.stdout.split("\n")[1].split()[:3])
    for what, value, unit, bound in (("install", on[0] - off[0], "µs", 35),
                                     ("text", text / 1024, "KB", 44),
                                     ("bss", bss / 1024, "KB", 24),
                                     ("heap", on[1] - off[1], "bytes", 0),
                                     ("threads added", on[2] - 1, "", 0),
                                     ("processes resident", on[3], "", 0)):
        figures.record("handler", what, value, unit, ("<=", bound))
    print("\n| handler | |\n|---|---|")
    print(f"| loaded and switched off | {off[0]:.0f} µs |")
    print(f"| loaded and installed | {on[0]:.0f} µs: installing takes "
          f"{on[0] - off[0]:.0f} µs |")
    print(f"| text / data / bss | {text / 1024:.1f} / {data / 1024:.1f} / "
          f"{bss / 1024:.1f} KB |")
    print(f"| heap, threads, processes | {on[1] - off[1]:.0f} bytes, {on[2] - 1:.0f}, "
          f"{on[3]:.0f} |")


def main(build, runs):
    build = os.path.realpath(build)
    made = os.path.join(build, "bench", "generated")
    reporters = peers.in_process(made)
    if peers.writes_core_files():
        reporters[peers.CORE_FILE] = None
    print("| row | no reporter, gone (ms) | crashhook, gone (ms) | ratio | raw report (ms) "
          "| complete (ms) | first crash (ms) | indexed (ms) | report (KB) | agent held (MB) "
          "| agent free (MB) | agent, processor (ms) |")
    print("|---" * 12 + "|")
    rows = []
    now = phase.Phase()
    with tempfile.TemporaryDirectory(prefix="crashhook-bench.") as folder:
        for row, threads, depth, heap, libraries, what in ROWS:
            target = os.path.join(build, "bench", "crash_target")
            if row == "f":
                target = many.large_program(made)
            command = [target, str(threads), str(depth), str(heap)]
            command += many.libraries(made, libraries)
            large = heap >= LARGE_MB
            rows.append((row, measure(build, folder, command, VARIABLES.get(row, {}),
                                      min(runs, 3) if large else runs,
                                      {} if large else reporters, now)))
            print_row(row, what, rows[-1][1])
    print(f"\nmachine: {now.text()}")
    print_others(rows)
    print_handler(build, runs)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 15)
