// SPDX-License-Identifier: Apache-2.0
//
// Ways to misuse the C library whose crash happens inside of it, and faults that the
// kernel tells apart. The first argument tells which.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static volatile size_t length = 40;
static char target[16];
static void *volatile kept;

// Overwrites what malloc keeps of a piece that was freed, and asks for pieces like it.
__attribute__((noinline)) static void break_heap(void)
{
    volatile uintptr_t *piece = malloc(64);
    void *volatile other = malloc(64);
    free(other);
    free((void *)piece);
    piece[0] = UINT64_C(0x414141414140) ^ (uintptr_t)piece >> 12;
    for (int i = 0; i < 3; i++)
        kept = malloc(64);
}

__attribute__((noinline)) static void free_wild(void)
{
    free((void *)(uintptr_t)(UINT64_C(0x123456780)));
}

__attribute__((noinline)) static void overflow_copy(void)
{
    static const char source[64] = "more than the target has room for, by far";
    memcpy(target, source, length);
    kept = target;
}

__attribute__((noinline)) static void load_misaligned(void)
{
    static _Alignas(16) char bytes[48];
    char *vector = bytes + length / 10;
#if defined(__x86_64__)
    __asm__ volatile("movaps (%0), %%xmm0" ::"r"(vector) : "xmm0");
#else
    kept = vector; // on other processors it is no fault
#endif
}

__attribute__((noinline)) static void use_failed_map(void)
{
    int *map = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *map = (int)length;
}

__attribute__((noinline)) static void read_kernel(void)
{
    kept = (void *)(uintptr_t) * (volatile char *)UINT64_C(0xffffffff81000000);
}

__attribute__((noinline)) static void write_with_key(void)
{
    int key = pkey_alloc(0, PKEY_DISABLE_WRITE);
    char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (key < 0 || pkey_mprotect(page, 4096, PROT_READ | PROT_WRITE, key) != 0) {
        puts("no protection keys");
        exit(77);
    }
    page[8] = 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *how;
        void (*crash)(void);
    } ways[] = {
        { "heap", break_heap },       { "free", free_wild },
        { "fortify", overflow_copy }, { "misaligned", load_misaligned },
        { "map", use_failed_map },    { "kernel", read_kernel },
        { "key", write_with_key },
    };
    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(argv[1], ways[i].how) == 0)
            ways[i].crash();
    return 0;
}
