// SPDX-License-Identifier: Apache-2.0
//
// Code whose every instruction the stepping harness stands at: prologues, epilogues,
// calls through the PLT, leaves, alloca, realigned stacks, cold parts, tail calls.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stepping.h"

static volatile int sink;

KEEP int leaf(int a)
{
    return a * 3 + 1;
}

KEEP int sum(int count, ...)
{
    va_list list;
    int total = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        total += va_arg(list, int);
    va_end(list);
    return total + leaf(total);
}

KEEP int on_stack(size_t size)
{
    char *bytes = __builtin_alloca(size);
    memset(bytes, 7, size);
    sink = bytes[size / 2];
    return leaf(bytes[0]) + sink;
}

KEEP int realigned(int a)
{
    __attribute__((aligned(64))) char block[128];
    memset(block, a, sizeof(block));
    sink = (int)((size_t)block % 64);
    return block[5] + leaf(a);
}

KEEP int realigned_alloca(int a, size_t size)
{
    __attribute__((aligned(32))) char block[64];
    char *bytes = __builtin_alloca(size);
    memset(block, a, sizeof(block));
    memcpy(bytes, block, size < sizeof(block) ? size : sizeof(block));
    sink = bytes[1];
    return realigned(bytes[0]) + block[3];
}

__attribute__((cold, noinline)) int cold_part(int a)
{
    sink = leaf(a);
    return sum(3, a, sink, 9);
}

KEEP int with_cold_part(int a)
{
    int result = leaf(a);
    if (__builtin_expect(a > 2, 0))
        result += cold_part(result) + sum(2, a, result);
    return result + leaf(result);
}

KEEP int many(int a, int b, int c, int d, int e, const int *rest)
{
    int f = leaf(a) + b;
    int g = leaf(b) + c;
    int h = leaf(c) + d;
    int i = leaf(d) + e;
    int j = leaf(e) + rest[0];
    return sum(10, a, b, c, d, e, f, g, h, i, j) + f * g + h * i + j;
}

KEEP int tail(int a)
{
    sink = a;
    return with_cold_part(a + 1);
}

KEEP int recurse(int depth)
{
    if (depth == 0)
        return on_stack(40);
    return recurse(depth - 1) + leaf(depth);
}

static int by_value(const void *a, const void *b)
{
    int one = *(const int *)a;
    int other = *(const int *)b;
    return (one > other) - (one < other);
}

KEEP int through_the_library(void)
{
    int values[] = { 5, 3, 9, 1, 7 };
    char text[64];
    struct timespec now;
    qsort(values, sizeof(values) / sizeof(values[0]), sizeof(values[0]), by_value);
    snprintf(text, sizeof(text), "%d %s %ld", values[0], "text", (long)values[1]);
    char *copy = strdup(text);
    sink = copy != NULL ? (int)strlen(copy) : 0;
    free(copy);
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return sink;
}

KEEP int pick(int which, int a)
{
    switch (which) {
    case 0:
        return leaf(a);
    case 1:
        return sum(2, a, a);
    case 2:
        return tail(a);
    case 3:
        return recurse(a);
    case 4:
        return realigned(a);
    default:
        return with_cold_part(a);
    }
}

int main(void)
{
    const int rest[] = { 11, 12 };
    int total = 0;
    stepping_begin();
    for (int i = 0; i < 6; i++)
        total += pick(i, i);
    total += many(1, 2, 3, 4, 5, rest);
    total += realigned_alloca(3, 24);
    total += through_the_library();
    stepping_end();
    return total == 0;
}
