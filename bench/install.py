#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# install.py BUILD ROUNDS LIBRARY...: what installing the handler costs, for libraries that
# are compared, with BUILD's install_cost. A round loads each library switched off and on, in
# an order that turns from round to round; what installing takes is the difference of the
# two. Prints the median of each library, the median of what each takes more than the first
# in the same round with its quartiles, and the machine's load.

import os
import statistics
import subprocess
import sys
import tempfile


def load_us(build, library, enable, spool):
    done = subprocess.run(
        [os.path.join(build, "bench", "install_cost"), library],
        env={"PATH": os.environ["PATH"], "CRASHHOOK_ENABLE": enable, "CRASHHOOK_SPOOL": spool},
        stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.split()[0])


def measure(build, rounds, libraries):
    """Microseconds that installing takes, by library, a value for each round."""
    costs = {library: [] for library in libraries}
    with tempfile.TemporaryDirectory() as spool:
        for number in range(rounds):
            first = number % len(libraries)
            for library in libraries[first:] + libraries[:first]:
                ways = ("no", "yes") if number // 2 % 2 == 0 else ("yes", "no")
                took = {way: load_us(build, library, way, spool) for way in ways}
                costs[library].append(took["yes"] - took["no"])
    return costs


def main():
    build, rounds, *libraries = sys.argv[1:]
    load = os.getloadavg()[0]
    costs = measure(build, int(rounds), libraries)
    base = costs[libraries[0]]
    for library, found in costs.items():
        more = [its - first for its, first in zip(found, base)]
        low, median, high = statistics.quantiles(more, n=4)
        print(f"{library}: {statistics.median(found):.1f} µs; more than the first: "
              f"{median:.1f} ({low:.1f} to {high:.1f})")
    print(f"{rounds} rounds on {os.cpu_count()} processors, load {load:.1f} before and "
          f"{os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
