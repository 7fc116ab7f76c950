// SPDX-License-Identifier: Apache-2.0
//
// mistakes HOW: makes a mistake that a sanitizer finds, if the program is built with
// the one that looks for it.
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int racy;
static volatile int sink;

__attribute__((noinline)) static void overrun(void)
{
    volatile char *block = malloc(8);
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): the mistake
    sink = (unsigned char)block[8 + (sink & 0)];
    free((void *)block);
}

__attribute__((noinline)) static void overflow_int(int more)
{
    sink = more + INT_MAX;
}

__attribute__((noinline)) static void write_null(void)
{
    int *volatile nothing = NULL;
    *nothing = 1; // NOLINT(clang-analyzer-core.NullDereference): the mistake
}

static void *count(void *unused)
{
    for (int i = 0; i < 100000; i++)
        racy++;
    return unused;
}

__attribute__((noinline)) static void race(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, count, NULL);
    count(NULL);
    pthread_join(thread, NULL);
}

__attribute__((noinline)) static void read_uninitialized(void)
{
    int *block = malloc(sizeof(*block));
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Branch): the mistake
    if (*block)
        puts("set");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "overrun") == 0)
        overrun();
    if (strcmp(how, "overflow_int") == 0)
        overflow_int(argc);
    if (strcmp(how, "write_null") == 0)
        write_null();
    if (strcmp(how, "race") == 0)
        race();
    if (strcmp(how, "read_uninitialized") == 0)
        read_uninitialized();
    if (strcmp(how, "abort") == 0)
        abort();
    return 0;
}
