// SPDX-License-Identifier: Apache-2.0
//
// memcpy and memmove for the agent built with musl. musl's own are a single string
// instruction, which is slow to start (docs/performance.md), while the agent mostly
// copies a register or a word of a report. Only that build has this file, and it is
// compiled so that no loop here becomes a call of memcpy (musl_agent.cmake).
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// From LONG_COPY bytes on, starting the string instruction is a small part of the cost.
enum { LONG_COPY = 1024, BLOCK = 16 };

// COPY_ENDS copies size bytes as two pieces that may overlap; size is between one piece
// and two.
#define COPY_ENDS(to, from, size, piece)                                               \
    (__builtin_memcpy(to, from, piece),                                                \
     __builtin_memcpy((to) + (size) - (piece), (from) + (size) - (piece), piece))

static void copy_short(char *to, const char *from, size_t size)
{
    if (size >= 8)
        COPY_ENDS(to, from, size, 8);
    else if (size >= 4)
        COPY_ENDS(to, from, size, 4);
    else if (size >= 2)
        COPY_ENDS(to, from, size, 2);
    else if (size != 0)
        *to = *from;
}

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): ours say more
void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    char *out = to;
    const char *in = from;
    if (size < BLOCK) {
        copy_short(out, in, size);
        return to;
    }
    if (size >= LONG_COPY) {
        __asm__ volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(size) : : "memory");
        return to;
    }
    for (size_t at = 0; at < size - BLOCK; at += BLOCK)
        __builtin_memcpy(out + at, in + at, BLOCK);
    __builtin_memcpy(out + size - BLOCK, in + size - BLOCK, BLOCK);
    return to;
}

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): ours say more
void *memmove(void *to, const void *from, size_t size)
{
    char *out = to;
    const char *in = from;
    if ((uintptr_t)out - (uintptr_t)in >= size) {
        for (size_t at = 0; at < size; at++)
            out[at] = in[at];
    } else {
        while (size-- != 0)
            out[size] = in[size];
    }
    return to;
}
