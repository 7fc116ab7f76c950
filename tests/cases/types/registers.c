// SPDX-License-Identifier: Apache-2.0
//
// Functions that keep values in registers which they preserve for their callers, and
// crash three calls deep.
#include <stdlib.h>

static int *volatile nowhere;
volatile long sink;

__attribute__((noinline)) static long inner(long depth, long other)
{
    static __thread int counted = 7;
    counted++;
    depth++;
    sink += depth + counted;
    return *nowhere + depth * other + sink;
}

__attribute__((noinline)) static long outer(long a, long b, long c)
{
    long kept[3] = { a * 3, b * 5, c * 7 };
    long one = sink + a;
    long two = sink - b;
    long three = sink ^ c;
    long found = inner(a + 1, one);
    sink = found + one + two + three;
    return found + kept[0] + kept[1] + kept[2] + one * two - three;
}

int main(int argc, char **argv)
{
    long gone = strtol(argv[0], NULL, 10) + argc;
    long after = outer(argc, argc * 17, gone) + argc;
    return (int)after;
}
