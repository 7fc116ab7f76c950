# SPDX-License-Identifier: Apache-2.0
#
# ruins.py SEED LIBRARY [COUNT]: overwrites random parts of the interpreter's own structures,
# which a report is made from, and then crashes in C: in COUNT children, each with the next
# seed. Without a seed it overwrites nothing, and crashes itself.

import ctypes
import random
import sys



def addresses():
    """Where the structures are: of the runtime, frames, code, names and tables."""
    api = ctypes.pythonapi
    frame = sys._getframe()
    runtime = ctypes.addressof(ctypes.c_char.in_dll(api, "_PyRuntime"))
    api.PyThreadState_Get.restype = ctypes.c_void_p
    thread = api.PyThreadState_Get()
    places = [(runtime, 700), (runtime, 100), (thread, 300), (thread, 130)]
    while frame is not None:
        code = frame.f_code
        places += [(id(frame), 120), (id(code), 250), (id(code.co_name), 60),
                   (id(code.co_filename), 60), (id(frame.f_locals), 40)]
        frame = frame.f_back
    words = ctypes.cast(thread, ctypes.POINTER(ctypes.c_uint64 * 30)).contents
    for word in words:
        if word > 1 << 32 and word % 8 == 0 and word < 1 << 47:
            places.append((word, 90))
    return places


def ruin(rng, places):
    values = (0, 1, (1 << 64) - 1, 1 << 63, 0x4141414141414141,
              *(address for address, _ in places[:12]))
    for _ in range(rng.randrange(1, 12)):
        address, size = rng.choice(places)
        at = address + 8 * rng.randrange(size // 8)
        value = rng.choice(values) if rng.random() < 0.5 else rng.getrandbits(64)
        yield at, value


def main(seed, count):
    library = ctypes.CDLL(sys.argv[2])
    if seed == 0:
        library.ruin_and_crash(None, ctypes.c_size_t(0))
    ruined = library.ruin_in_child
    ruined.argtypes = [ctypes.c_long, ctypes.c_void_p, ctypes.c_size_t]
    for number in range(seed, seed + count):
        writes = list(ruin(random.Random(number), addresses()))
        buffer = (ctypes.c_uint64 * (2 * len(writes)))()
        for i, (at, value) in enumerate(writes):
            buffer[2 * i], buffer[2 * i + 1] = at, value
        ruined(number, ctypes.addressof(buffer), len(writes))


main(int(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
