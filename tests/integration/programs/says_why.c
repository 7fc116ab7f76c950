// SPDX-License-Identifier: Apache-2.0
//
// says_why HOW: ends in one of the ways in which glibc says why it aborts.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What the compiler must not know.
static volatile size_t more_than_fits = 64;

static void fail_assert(void)
{
    assert(more_than_fits < 10);
}

__attribute__((noinline)) static void smash_stack(void)
{
    volatile char name[16];
    volatile char *at = name;
    for (size_t i = 0; i < more_than_fits; i++)
        at[i] = 'x';
}

static void overflow_fortified(void)
{
    char name[16];
    memset(name, 'x', more_than_fits);
    puts(name);
}

static void free_twice(void)
{
    void *volatile block = malloc(24);
    free(block);
    free(block); // the mistake that is tested
}

static void free_wild(void)
{
    static char not_from_the_heap[64];
    char *volatile pointer = not_from_the_heap + 16;
    free(pointer); // the mistake that is tested
}

static void abort_wordless(void)
{
    abort();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*end)(void);
    } ways[] = {
        { "assert", fail_assert },         { "smash", smash_stack },
        { "fortify", overflow_fortified }, { "double_free", free_twice },
        { "wild_free", free_wild },        { "abort", abort_wordless },
    };
    for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(argv[1], ways[i].name) == 0)
            ways[i].end();
    }
    return 2;
}
