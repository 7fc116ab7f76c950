// SPDX-License-Identifier: Apache-2.0
//
// Code without tables for unwinding beside the debug information: each frame is there.
//
// all flags: -fomit-frame-pointer -fno-asynchronous-unwind-tables
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN __attribute__((noinline)) static

static volatile long sink;
static long *volatile nothing;

OWN long deep(long *at, int depth)
{
    volatile char room[64];
    room[0] = (char)depth;
    return depth == 0 ? at[2] : deep(at, depth - 1) + room[0];
}

OWN int compare(const void *a, const void *b)
{
    sink = deep(nothing, 3);
    return *(const int *)a - *(const int *)b;
}

// case within_qsort
//   kind: null-dereference
//   says: Read from 0x10, through a null pointer
//   access: read 8 0x10
//   cause: null-offset
OWN void within_qsort(void)
{
    int numbers[4] = { 3, 1, 2, 0 };
    qsort(numbers, 4, sizeof(numbers[0]), compare);
    sink = numbers[0];
}

// case aborts
//   signal: ABRT
//   kind: abort
//   says: The program aborted
OWN void aborts(void)
{
    volatile char room[200];
    room[7] = (char)sink;
    abort();
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "within_qsort") == 0)
        within_qsort();
    if (count > 1 && strcmp(arguments[1], "aborts") == 0)
        aborts();
    return 0;
}
