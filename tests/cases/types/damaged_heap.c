// SPDX-License-Identifier: Apache-2.0
//
// Damages a heap in the way of argument 1, so that glibc's malloc or free aborts.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#define FUNCTION __attribute__((noinline, noclone, noipa))

static char *volatile kept[8];

// overflow_text writes a text past the end of the block between two others.
FUNCTION static void overflow_text(void)
{
    for (int i = 0; i < 4; i++)
        kept[i] = malloc(40);
    memset(kept[1], 'x', 47);
    memcpy(kept[1], "customer name", 13);
    memcpy(kept[1] + 40, "LONGNAME", 8);
    free(kept[2]);
}

// overflow_top writes past the last block of the heap.
FUNCTION static void overflow_top(void)
{
    kept[0] = malloc(24);
    memset(kept[0], 'A', 32);
    kept[1] = malloc(1 << 16);
}

// overflow_number writes a number past the end of a block.
FUNCTION static void overflow_number(void)
{
    for (int i = 0; i < 4; i++)
        kept[i] = malloc(2000);
    ((long *)kept[1])[2008 / 8 - 1] = 7;
    ((long *)kept[1])[2008 / 8] = 7;
    free(kept[2]);
}

// wrong_copy damages the copy of a free block's size that the next one has.
FUNCTION static void wrong_copy(void)
{
    for (int i = 0; i < 4; i++)
        kept[i] = malloc(2000);
    free(kept[1]);
    ((long *)kept[2])[-2] = 48;
    kept[4] = malloc(1 << 17 >> 1);
    kept[5] = malloc(1900);
}

// allocate_three allocates three blocks where glibc sees that text beginning with c or s is
// no link of its own: what it decodes from that with the address has to be misaligned.
FUNCTION static void allocate_three(size_t size)
{
    do
        for (int i = 0; i < 3; i++)
            kept[i] = malloc(size);
    while (((uintptr_t)kept[1] >> 12 & 15) == ('c' & 15));
}

// after_free writes a text to a block that was freed.
FUNCTION static void after_free(void)
{
    allocate_three(40);
    free(kept[0]);
    free(kept[1]);
    memcpy(kept[1], "customer", 8);
    for (int i = 3; i < 6; i++)
        kept[i] = malloc(40);
}

// in_list writes to a freed block that is in the middle of its list.
FUNCTION static void in_list(void)
{
    allocate_three(72);
    for (int i = 0; i < 3; i++)
        free(kept[i]);
    memcpy(kept[1], "supplier", 8);
    free(kept[0]);
}

// twice frees a block again: no chunk is damaged.
FUNCTION static void twice(void)
{
    kept[0] = malloc(40);
    free(kept[0]);
    free(kept[0]);
}

static int in_thread(void *way)
{
    (void)way;
    overflow_text();
    return 0;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "text";
    thrd_t thread;
    if (strcmp(way, "text") == 0)
        overflow_text();
    if (strcmp(way, "top") == 0)
        overflow_top();
    if (strcmp(way, "number") == 0)
        overflow_number();
    if (strcmp(way, "copy") == 0)
        wrong_copy();
    if (strcmp(way, "freed") == 0)
        after_free();
    if (strcmp(way, "list") == 0)
        in_list();
    if (strcmp(way, "twice") == 0)
        twice();
    if (strcmp(way, "thread") == 0 &&
        thrd_create(&thread, in_thread, NULL) == thrd_success)
        thrd_join(thread, NULL);
    return 0;
}
