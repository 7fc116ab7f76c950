#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# symbolize CRASHHOOK FILE [RUNS]: time and peak memory to name 1, 100 and 10,000 random
# addresses of FILE's code, by crashhook without and with its symbol cache and by the
# tools that are installed; the addresses a second that follow from the second and third;
# and, where FILE is crash_target, what a report of it costs while it waits. Medians of
# RUNS runs, which take turns; crashhook --version shows the cost of starting the program.
# FILE is in the page cache. Peak memory below that of this interpreter (15 MB) cannot be
# distinguished.

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import figures

SEED = 1

# ms and MB for so many addresses, without and with the cache.
TARGETS = {("crashhook, no cache", 1): (25, None), ("crashhook, no cache", 100): (220, None),
           ("crashhook, no cache", 10000): (1000, 160), ("crashhook, cache", 1): (3, None),
           ("crashhook, cache", 100): (5, None), ("crashhook, cache", 10000): (30, 16)}


def code_of(path):
    for line in subprocess.run(["readelf", "-SW", path], capture_output=True, text=True,
                               check=True).stdout.split("\n"):
        words = line.replace("[ ", "[").split()
        if len(words) > 6 and words[1] == ".text":
            return int(words[3], 16), int(words[5], 16)
    sys.exit(f"{path} has no .text")


def measure(command, source):
    """Seconds elapsed, seconds of processor time, peak MB; None: it was killed."""
    with open(source, encoding="ascii") as given:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=given, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
    if os.WIFSIGNALED(status):
        return None
    return (time.perf_counter() - start, used.ru_utime + used.ru_stime,
            used.ru_maxrss / 1024)


def write_cache(crashhook, path, folder):
    subprocess.run([crashhook, "symbolize", "--exe", path, "0"], check=True,
                   stdout=subprocess.DEVNULL)
    caches = os.path.join(folder, "crashhook", "symbols")
    start = time.monotonic()
    while time.monotonic() - start < 120:
        names = os.listdir(caches) if os.path.isdir(caches) else []
        # Not those being written, nor decompressed debug information.
        done = [name for name in names if "." not in name and not name.endswith("-plain")]
        if done:
            size = os.path.getsize(os.path.join(caches, done[0]))
            print(f"cache: {size / 1e6:.1f} MB, there after "
                  f"{time.monotonic() - start:.1f} s")
            return
        time.sleep(0.05)
    sys.exit("no cache was written")


# Addresses a second, without and with the cache.
RATES = {"crashhook, no cache": 30000, "crashhook, cache": 500000}
# Tools that take minutes for 10,000 addresses, and the number of turns for fewer.
SLOW = {"eu-addr2line": 3, "libdw, scopes": 3, "gdb": 1}


def others_of(found, column, factor=1):
    return {name: values[column] * factor for name, values in found.items()
            if not name.startswith("crashhook")}


def record(count, found):
    what = "address" if count == 1 else "addresses"
    for tool in ("crashhook, no cache", "crashhook, cache"):
        ms, peak = TARGETS[tool, count]
        figures.record("names", f"{count:,} {what}, {tool[11:]}", found[tool][0] * 1000,
                       "ms", ("<=", ms), others_of(found, 0, 1000))
        if peak:
            figures.record("names", f"{count:,} addresses, {tool[11:]}, memory",
                           found[tool][2], "MB", ("<=", peak), others_of(found, 2))


def record_rates(hundred, many):
    """What each of the addresses beyond the first hundred costs in processor time, as a
    rate: the difference is too small for the clock where other work runs."""
    rates = {tool: 9900 / (many[tool][1] - hundred[tool][1]) for tool in many
             if many[tool][1] > hundred[tool][1] and "--version" not in tool}
    for tool, target in RATES.items():
        if tool in rates:
            figures.record("names", f"steady, {tool[11:]}", rates[tool], "addresses/s",
                           (">=", target), {name: rate for name, rate in rates.items()
                                            if not name.startswith("crashhook")})
            print(f"steady {tool:20} {rates[tool]:10,.0f} addresses/s")


def commands(crashhook, path, folder, count):
    """The tools; gdb reads its commands, one address after the other, from a file."""
    name = [crashhook, "symbolize", "--exe", path]
    found = {
        "crashhook --version": [crashhook, "--version"],
        "crashhook, cache": name + ["-"],
        "crashhook, no cache": name + ["--no-cache", "-"],
        "llvm-symbolizer": ["llvm-symbolizer", "--inlines", "-C", "--obj=" + path],
        "addr2line": ["addr2line", "-fiC", "-e", path],
        "eu-addr2line": ["eu-addr2line", "-fiC", "-e", path],
        "libdw, scopes": [os.path.join(os.path.dirname(crashhook), "..", "bench",
                                       "peer_scopes"), path],
        "gdb": ["gdb", "-nx", "-batch", "-x", os.path.join(folder, "gdb"), path],
    }
    return {tool: command for tool, command in found.items()
            if figures.installed(command[0], tool) and (count <= 100 or tool not in SLOW)}


def measure_all(crashhook, path, folder, addresses, runs):
    """Medians of every tool, in turns: seconds, seconds of processor time, MB."""
    source = os.path.join(folder, "addresses")
    with open(source, "w", encoding="ascii") as out:
        out.write("".join(f"{a:#x}\n" for a in addresses))
    with open(os.path.join(folder, "gdb"), "w", encoding="ascii") as out:
        out.write("".join(f"info symbol {a:#x}\ninfo line *{a:#x}\n" for a in addresses))
    tools = commands(crashhook, path, folder, len(addresses))
    rows = {tool: [] for tool in tools}
    for turn in range(runs):
        for tool, command in tools.items():
            if turn < SLOW.get(tool, runs):
                rows[tool].append(measure(command, source))
    found = {tool: [statistics.median(c) for c in zip(*row)] for tool, row in rows.items()}
    for tool, (wall, used, peak) in found.items():
        print(f"{len(addresses):6} {tool:20} {wall * 1000:8.1f} ms elapsed "
              f"{used * 1000:8.1f} ms processor {peak:6.1f} MB", flush=True)
    return found


def measure_attach(crashhook, path, runs):
    """A report of a waiting process, from nothing known to names and lines printed."""
    process = subprocess.Popen([path, "3", "24", "0"], stdout=subprocess.PIPE,
                               env={**os.environ, "CRASH_TARGET_WAITS": "1"})
    process.stdout.read(8)
    pid = str(process.pid)
    # No folder can be created there.
    none = ["env", "XDG_CACHE_HOME=/proc/none"]
    tools = {
        "no cache": [*none, "CRASHHOOK_ARGUMENTS=no", crashhook, "attach", pid],
        "no cache, with arguments": [*none, crashhook, "attach", pid],
        "cache": ["env", "CRASHHOOK_ARGUMENTS=no", crashhook, "attach", pid],
        "cache, with arguments": [crashhook, "attach", pid],
        "eu-stack -i -s": ["eu-stack", "-i", "-s", "-p", pid],
        "gdb": ["gdb", "-nx", "-batch", "-p", pid, "-ex", "thread apply all bt"],
        "lldb": ["lldb", "-b", "-p", pid, "-o", "bt all"],
    }
    tools = {tool: command for tool, command in tools.items()
             if figures.installed(command[0], tool)}
    rows = {tool: [] for tool in tools}
    for turn in range(runs):
        for tool, command in tools.items():
            if tool not in ("gdb", "lldb") or turn < 3:
                rows[tool].append(measure(command, os.devnull))
    process.kill()
    process.wait()
    found = {tool: [statistics.median(c) for c in zip(*row)] for tool, row in rows.items()}
    ours = [tool for tool in found if "cache" in tool]
    others = {tool: values for tool, values in found.items() if tool not in ours}
    for tool, (wall, _, peak) in found.items():
        print(f"report {tool:25} {wall * 1000:8.1f} ms elapsed {peak:6.1f} MB", flush=True)
    for tool in ours:
        wall, _, peak = found[tool]
        figures.record("names", f"report of a live process, {tool}", wall * 1000, "ms",
                       ("<=", 60), {name: v[0] * 1000 for name, v in others.items()})
        figures.record("names", f"report of a live process, {tool}, memory", peak, "MB",
                       ("<=", 60), {name: v[2] for name, v in others.items()})


def main(crashhook, path, runs=7):
    crashhook = os.path.realpath(crashhook)
    start, size = code_of(path)
    chosen = random.Random(SEED)
    addresses = [start + chosen.randrange(size) for _ in range(10000)]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        write_cache(crashhook, path, folder)
        found = {count: measure_all(crashhook, path, folder, addresses[:count], int(runs))
                 for count in (1, 100, 10000)}
        for count, of_count in found.items():
            record(count, of_count)
        record_rates(found[100], found[10000])
        if subprocess.run(["grep", "-q", "CRASH_TARGET_WAITS", path],
                          check=False).returncode == 0:
            measure_attach(crashhook, path, int(runs))


if __name__ == "__main__":
    main(*sys.argv[1:])
