// SPDX-License-Identifier: Apache-2.0
//
// A chain of calls, through a library's callback, to a write that fails. Compiled
// without unwind tables for its code.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    int id;
    double price;
    struct item *next;
};

__attribute__((noinline)) static int poke(struct item *item, long n)
{
    item->next->price = (double)n * 2.5;
    return item->id;
}

__attribute__((noinline)) static int label(struct item *item, const char *text,
                                           double ratio)
{
    char buffer[64];
    snprintf(buffer, sizeof(buffer), "%s-%f", text, ratio);
    int result = poke(item, (long)strlen(buffer));
    return result + buffer[0];
}

static int compare(const void *a, const void *b)
{
    static int calls;
    if (++calls == 20) {
        struct item item = { 7, 1.5, NULL };
        return label(&item, "label", 0.25) + *(const int *)a;
    }
    return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static int sort_all(int n)
{
    int *values = malloc((size_t)n * sizeof(*values));
    for (int i = 0; i < n; i++)
        values[i] = i * 7919 % 1000;
    qsort(values, (size_t)n, sizeof(*values), compare);
    return values[0];
}

__attribute__((noinline)) static int deeper(int depth, int n)
{
    volatile char room[40];
    room[depth] = (char)n;
    return depth == 0 ? sort_all(n) : deeper(depth - 1, n) + room[depth];
}

int main(int count, char **arguments)
{
    (void)arguments;
    return deeper(9, 63 + count) & 1;
}
