# SPDX-License-Identifier: Apache-2.0
#
# How fast the machine is at this moment. Virtual machines run at half their speed at
# times, at page faults above all, and a figure that was taken then is of the machine.
#
# A loop of fixed work is timed before and after each turn: hashing, and touching fresh
# memory. A turn in which either took much longer than the best of this run was taken in a
# slow phase, and is repeated.

import hashlib
import mmap
import time

# A loop that takes longer than this times its best marks a slow phase.
SLOW = 1.3
HASHED = bytes(4 << 20)
TOUCHED = 8 << 20
# As often as there are turns: then the machine is slow for good, and the figures stay.
REPEATS = 1


def hashing():
    began = time.perf_counter()
    hashlib.sha256(HASHED).digest()
    return time.perf_counter() - began


def touching():
    with mmap.mmap(-1, TOUCHED) as memory:
        began = time.perf_counter()
        for at in range(0, TOUCHED, mmap.PAGESIZE):
            memory[at] = 1
        return time.perf_counter() - began


LOOPS = {"hashing": hashing, "page faults": touching}


class Phase:
    """The best times of this run, and how many turns were slow."""

    def __init__(self):
        self.best = {name: min(loop() for _ in range(3)) for name, loop in LOOPS.items()}
        self.turns = 0
        self.slow = 0

    def is_slow(self):
        """Whether the machine is slow now. A loop that is interrupted gets a second try."""
        slow = False
        for name, loop in LOOPS.items():
            took = min(loop(), loop())
            self.best[name] = min(self.best[name], took)
            slow = slow or took > SLOW * self.best[name]
        return slow

    def measure(self, turn, count):
        """The results of count turns in a fast phase, as far as the repeats allow."""
        kept, slow = [], []
        for _ in range(count + REPEATS * count):
            was_slow = self.is_slow()
            result = turn()
            self.turns += 1
            if was_slow or self.is_slow():
                self.slow += 1
                slow.append(result)
            else:
                kept.append(result)
            if len(kept) == count:
                break
        return kept + slow[: count - len(kept)]

    def speed(self):
        """The best times, by which runs on different machines and days can be compared."""
        return ", ".join(f"{name} {took * 1000:.2f} ms" for name, took in self.best.items())

    def text(self):
        return f"{self.speed()}; {self.slow} of {self.turns} turns in a slow phase"
