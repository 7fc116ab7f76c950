# SPDX-License-Identifier: Apache-2.0
#
# stops.py KIND SEED COUNT: goes down random paths of calls and stops at the end of each:
# writes the stack of every thread, as Python itself sees it, as a line of JSON, and
# waits for a byte. For Python 3.8 and later.

import _thread
import asyncio
import functools
import json
import os
import random
import sys
import threading
import traceback


def stacks():
    numbers = {thread.ident: thread.native_id for thread in threading.enumerate()}
    return {numbers[ident]: [[one.name, one.filename, one.lineno]
                             for one in reversed(traceback.extract_stack(frame))]
            for ident, frame in sys._current_frames().items() if ident in numbers}


def stop():
    print(json.dumps(stacks()), flush=True)
    os.read(0, 1)
    return "stopped"


class Shown:
    def __init__(self, call):
        self.call = call

    def __repr__(self):
        return str(self.call())

    @property
    def value(self):
        return self.call()


class Steps:
    WAYS = ("plain", "by_map", "by_sort", "by_generator", "by_delegation", "by_list",
            "by_repr", "by_property", "by_exec", "in_handler", "in_finally", "by_reduce",
            "over_lines", "by_partial")

    def __init__(self, rng, end):
        self.rng = rng
        self.end = end

    def go(self, depth):
        if depth == 0:
            return self.end()
        return getattr(self, self.rng.choice(self.WAYS))(depth - 1)

    def plain(self, depth):
        return self.go(depth)

    def by_map(self, depth):
        return list(map(lambda _: self.go(depth), [0]))[0]

    def by_sort(self, depth):
        return sorted([0], key=lambda _: str(self.go(depth)))

    def generator(self, depth):
        yield self.go(depth)

    def delegate(self, depth):
        yield from self.generator(depth)

    def by_generator(self, depth):
        return next(self.generator(depth))

    def by_delegation(self, depth):
        return next(self.delegate(depth))

    def by_list(self, depth):
        return [self.go(depth) for _ in range(1)][0]

    def by_repr(self, depth):
        return repr(Shown(lambda: self.go(depth)))

    def by_property(self, depth):
        return Shown(lambda: self.go(depth)).value

    def by_exec(self, depth):
        exec("\n\nsteps.go(depth)", {"steps": self, "depth": depth})

    def in_handler(self, depth):
        try:
            raise ValueError("on the way")
        except ValueError:
            return self.go(depth)

    def in_finally(self, depth):
        try:
            pass
        finally:
            self.go(depth)

    def by_reduce(self, depth):
        return functools.reduce(lambda a, b: self.go(depth), [0, 1])

    def over_lines(self, depth):
        return str(
            1,
        ) + str(
            self.go(
                depth
            )
        ) if depth < 0 else self.go(
            depth)

    def by_partial(self, depth):
        return functools.partial(self.go)(depth)


def calls(rng):
    Steps(rng, stop).go(rng.randrange(1, 25))


def deep(depth):
    return stop() if depth == 0 else deep(depth - 1)


def recursion(rng):
    deep(sys.getrecursionlimit() - rng.randrange(60, 100))


def generators(rng):
    def chain(depth):
        if depth == 0:
            yield stop()
        else:
            for value in chain(depth - 1):
                yield value

    for _ in chain(rng.randrange(1, 30)):
        pass


def coroutines(rng):
    async def wait(depth):
        if depth == 0:
            return Steps(rng, stop).go(rng.randrange(3))
        await asyncio.sleep(0)
        return await wait(depth - 1)

    async def main():
        await asyncio.gather(wait(rng.randrange(1, 12)))

    asyncio.run(main())


def threads(rng):
    gate = _thread.allocate_lock()
    gate.acquire()
    reading, writing = os.pipe()

    def park():
        os.write(writing, b"."); gate.acquire(); gate.release()

    parked = [threading.Thread(target=Steps(random.Random(rng.random()), park).go,
                               args=(rng.randrange(1, 20),)) for _ in range(4)]
    for thread in parked:
        thread.start()
    for _ in parked:
        os.read(reading, 1)
    calls(rng)
    gate.release()
    for thread in parked:
        thread.join()
    os.close(reading)
    os.close(writing)


def main():
    kind, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    for _ in range(count):
        globals()[kind](rng)


main()
