# SPDX-License-Identifier: Apache-2.0
#
# symbolize CRASHHOOK FILE [RUNS]: time and peak memory to name 1, 100 and 10,000 random
# addresses of FILE's code, by crashhook without and with its symbol cache and by the
# tools that are installed. Medians of RUNS runs, which take turns; crashhook --version
# is there to tell what starting the program costs. FILE is in the page cache. Peak
# memory below that of this interpreter (15 MB) is not told apart.

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
    """Seconds elapsed, seconds of processor time, peak MB."""
    with open(source, encoding="ascii") as given:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=given, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        _, _, used = os.wait4(child.pid, 0)
    return (time.perf_counter() - start, used.ru_utime + used.ru_stime,
            used.ru_maxrss / 1024)


def write_cache(crashhook, path, folder):
    subprocess.run([crashhook, "symbolize", "--exe", path, "0"], check=True,
                   stdout=subprocess.DEVNULL)
    caches = os.path.join(folder, "crashhook", "symbols")
    start = time.monotonic()
    while time.monotonic() - start < 120:
        names = os.listdir(caches) if os.path.isdir(caches) else []
        done = [name for name in names if "." not in name]
        if done:
            size = os.path.getsize(os.path.join(caches, done[0]))
            print(f"cache: {size / 1e6:.1f} MB, there after "
                  f"{time.monotonic() - start:.1f} s")
            return
        time.sleep(0.05)
    sys.exit("no cache was written")


def record(count, rows):
    found = {tool: [statistics.median(c) for c in zip(*row)]
             for tool, row in rows.items() if row}
    what = "address" if count == 1 else "addresses"
    for tool in ("crashhook, no cache", "crashhook, cache"):
        ms, peak = TARGETS[tool, count]
        others = {name: wall * 1000 for name, (wall, _, _) in found.items()
                  if not name.startswith("crashhook")}
        figures.record("names", f"{count:,} {what}, {tool[11:]}", found[tool][0] * 1000,
                       "ms", ("<=", ms), others)
        if peak:
            others = {name: mb for name, (_, _, mb) in found.items()
                      if not name.startswith("crashhook")}
            figures.record("names", f"{count:,} addresses, {tool[11:]}, memory",
                           found[tool][2], "MB", ("<=", peak), others)


def main(crashhook, path, runs=7):
    start, size = code_of(path)
    chosen = random.Random(SEED)
    addresses = [start + chosen.randrange(size) for _ in range(10000)]
    name = [crashhook, "symbolize", "--exe", path]
    tools = {
        "crashhook --version": [crashhook, "--version"],
        "crashhook, cache": name + ["-"],
        "crashhook, no cache": name + ["--no-cache", "-"],
        "llvm-symbolizer": ["llvm-symbolizer", "--inlines", "-C", "--obj=" + path],
        "addr2line": ["addr2line", "-fiC", "-e", path],
        "eu-addr2line": ["eu-addr2line", "-fiC", "-e", path],
    }
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        write_cache(crashhook, path, folder)
        for count in (1, 100, 10000):
            source = os.path.join(folder, "addresses")
            with open(source, "w", encoding="ascii") as out:
                out.write("".join(f"{a:#x}\n" for a in addresses[:count]))
            rows = {tool: [] for tool in tools}
            for _ in range(int(runs)):
                for tool, command in tools.items():
                    if tool != "eu-addr2line" or count < 10000:  # it takes minutes
                        rows[tool].append(measure(command, source))
            record(count, rows)
            for tool, row in rows.items():
                if row:
                    wall, used, peak = (statistics.median(c) for c in zip(*row))
                    print(f"{count:6} {tool:20} {wall * 1000:8.1f} ms elapsed "
                          f"{used * 1000:8.1f} ms processor {peak:6.1f} MB", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
