// SPDX-License-Identifier: Apache-2.0
//
// What the C library finds out: a corrupted heap, a smashed stack, a failed assertion,
// a copy that is too long.
//
// all flags: -fstack-protector-all
// all signal: ABRT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone)) static

static volatile size_t many = 64;
static void *volatile kept;
static void *volatile other;

// overwrite fills memory, whatever the compiler knows of it.
OWN void overwrite(volatile char *at, size_t count)
{
    while (count-- > 0)
        *at++ = 0x41;
}

// case free_twice
//   kind: heap-corruption
//   says: Heap corruption: free\(\): double free detected in tcache 2
OWN void free_twice(void)
{
    kept = malloc(many);
    free(kept);
    free(kept);
    kept = NULL;
}

// case free_twice_fast
//   kind: heap-corruption
//   says: Heap corruption: double free or corruption \(fasttop\)
OWN void free_twice_fast(void)
{
    void *volatile pieces[8];
    for (int i = 0; i < 8; i++)
        pieces[i] = malloc(24);
    for (int i = 0; i < 8; i++)
        free(pieces[i]);
    free(pieces[7]);
    kept = NULL;
}

// case free_twice_large
//   kind: heap-corruption
//   says: Heap corruption: double free or corruption
OWN void free_twice_large(void)
{
    kept = malloc(5000);
    other = malloc(5000);
    free(kept);
    free(kept);
    kept = NULL;
}

// case free_static
//   kind: heap-corruption
//   says: Heap corruption: (free\(\): invalid (pointer|size)|munmap_chunk\(\):
//     invalid pointer)
OWN void free_static(void)
{
    static char bytes[64] __attribute__((aligned(16)));
    char *volatile at = bytes + 16;
    free(at);
    kept = NULL;
}

// case free_inside
//   kind: heap-corruption
//   says: Heap corruption: free\(\): invalid pointer
OWN void free_inside(void)
{
    char *volatile piece = malloc(many);
    free(piece + 8);
    kept = NULL;
}

// case realloc_static
//   kind: heap-corruption
//   says: Heap corruption: realloc\(\): invalid (pointer|old size)|Heap corruption:
//     munmap_chunk
OWN void realloc_static(void)
{
    static char bytes[64] __attribute__((aligned(16)));
    char *volatile at = bytes + 8;
    kept = realloc(at, 500);
    kept = NULL;
}

// case overflow_into_top
//   kind: heap-corruption
//   says: Heap corruption: malloc\(\): corrupted top size
OWN void overflow_into_top(void)
{
    char *volatile piece = malloc(many);
    overwrite(piece, 4 * many);
    kept = malloc(100000);
    kept = NULL;
}

// case overflow_into_next
//   kind: heap-corruption
//   says: Heap corruption: (free\(\): invalid (next )?size|double free or
//     corruption|corrupted size)
OWN void overflow_into_next(void)
{
    char *volatile piece = malloc(2000);
    other = malloc(2000);
    kept = malloc(2000);
    overwrite(piece + 2000, 32);
    free(piece);
    kept = NULL;
}

// case broken_list
//   signal: SEGV
//   kind: heap-corruption
//   says: Heap corruption that malloc\(\) came upon: Read from
OWN void broken_list(void)
{
    volatile uintptr_t *piece = malloc(64);
    other = malloc(64);
    free(other);
    free((void *)piece);
    piece[0] = UINT64_C(0x414141414140) ^ (uintptr_t)piece >> 12;
    for (int i = 0; i < 3; i++)
        kept = malloc(64);
}

// case free_wild
//   signal: SEGV
//   kind: unknown
//   says: free\(\) of 0x123456780, where malloc has no memory
OWN void free_wild(void)
{
    kept = (void *)(uintptr_t)UINT64_C(0x123456780);
    free(kept);
    kept = NULL;
}

// case realloc_wild
//   signal: SEGV
//   kind: unknown
//   says: realloc\(\) of 0x123456780, where malloc has no memory
OWN void realloc_wild(void)
{
    kept = (void *)(uintptr_t)UINT64_C(0x123456780);
    kept = realloc(kept, 100);
    other = NULL;
}

// case smashed
//   kind: stack-smashing
//   says: A function wrote past its variables on the stack
OWN void smashed(void)
{
    volatile char name[16];
    volatile char *at = name;
    for (size_t i = 0; i < many; i++)
        at[i] = 'x';
}

// case asserted
//   kind: assertion
//   says: Assertion failed: many < 10(, in asserted)?$
OWN void asserted(void)
{
    assert(many < 10);
}

// case copy_too_much
//   kind: fortify
//   says: Stopped by a check of the C library: buffer overflow detected.*, in
//     copy_too_much$
OWN void copy_too_much(void)
{
    static char target[16];
    static const char source[64] = "more than the target has room for, by far";
    kept = __builtin___memcpy_chk(target, source, many, sizeof(target));
    other = target;
}

// case print_too_much
//   kind: fortify
//   says: Stopped by a check of the C library: buffer overflow detected.*, in
//     print_too_much$
OWN void print_too_much(void)
{
    static char target[8];
    __builtin___sprintf_chk(target, 1, sizeof(target), "%zu lines of text", many);
    other = target;
}

// case counted_format
//   kind: fortify
//   says: Stopped by a check of the C library: %n in writable segment detected
OWN void counted_format(void)
{
    static char target[64];
    char format[] = "%zu%n";
    int count = 0;
    __builtin___sprintf_chk(target, 1, sizeof(target), format, many, &count);
    other = target;
}

OWN void finish(void)
{
    abort();
}

// case aborted_below
//   kind: abort
//   says: The program aborted$
//   in: finish
OWN void aborted_below(void)
{
    finish();
    kept = NULL;
}

#define CASE(name)                                                                     \
    if (count > 1 && strcmp(arguments[1], #name) == 0)                                 \
        name();

int main(int count, char **arguments)
{
    CASE(free_twice)
    CASE(free_twice_fast)
    CASE(free_twice_large)
    CASE(free_static)
    CASE(free_inside)
    CASE(realloc_static)
    CASE(overflow_into_top)
    CASE(overflow_into_next)
    CASE(broken_list)
    CASE(free_wild)
    CASE(realloc_wild)
    CASE(smashed)
    CASE(asserted)
    CASE(copy_too_much)
    CASE(print_too_much)
    CASE(counted_format)
    CASE(aborted_below)
    return 0;
}
