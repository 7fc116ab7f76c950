// SPDX-License-Identifier: Apache-2.0
//
// A library that is unloaded and replaced by one with frames of another size. They are
// full of what looks like return addresses, so that a walk by the other's rules does
// not end at once.
#include <stddef.h>
#include <stdint.h>

struct raw;

void call_from_library(void (*call)(unsigned, struct raw *), struct raw *out);

// The function's name ends with the size of its frame.
#define JOINED(name, size) name##size
#define NAMED(name, size) JOINED(name, size)
#define CALL_INSIDE NAMED(call_inside_, FRAME_BYTES)

__attribute__((noinline)) static void CALL_INSIDE(void (*call)(unsigned, struct raw *),
                                                  struct raw *out)
{
    enum { WORDS = FRAME_BYTES / sizeof(uintptr_t) };
    volatile uintptr_t local[WORDS];
    for (size_t i = 0; i < WORDS; i++)
        local[i] = (uintptr_t)__builtin_return_address(0);
    call(3, out);
    local[0] = local[1];
}

void call_from_library(void (*call)(unsigned, struct raw *), struct raw *out)
{
    CALL_INSIDE(call, out);
    __asm__ volatile("");
}
