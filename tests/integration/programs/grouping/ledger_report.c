// SPDX-License-Identifier: Apache-2.0
//
// A second file with functions that have the names of others.
#include "ledger.h"

volatile uintptr_t bad_value;
volatile long zero;
FILE *volatile journal;

static long printed;

__attribute__((noinline)) static long parse(const char *text)
{
    return text[2] + 1L;
}

static void other_parse(void)
{
    printed += parse(BAD(const char *));
}

static inline void column_add(long *column, long amount)
{
    *column += amount;
}

__attribute__((noinline)) static void table_add(long *const *table, long amount)
{
    column_add(table[0], amount);
}

static void inlined_twice(void)
{
    long *table[] = { BAD(long *) };
    table_add(table, 4);
}

static void descend(int depth, void (*run)(void))
{
    volatile int here = depth;
    if (here > 0)
        descend(here - 1, run);
    else
        run();
    printed += here;
}

const struct bug report_bugs[] = {
    { "other_parse:parse", other_parse },
    { "inlined_twice:column_add", inlined_twice },
    { NULL, NULL },
};

static void *wait_here(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void run_named(const struct bug *bugs, const char *name, int depth)
{
    size_t length = strlen(name);
    for (; bugs->name != NULL; bugs++) {
        if (strncmp(bugs->name, name, length) == 0 && bugs->name[length] == ':')
            descend(depth, bugs->run);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        for (const struct bug *bug = ledger_bugs; bug->name != NULL; bug++)
            puts(bug->name);
        for (const struct bug *bug = report_bugs; bug->name != NULL; bug++)
            puts(bug->name);
        return 0;
    }
    int depth = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    int threads = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
    bad_value = argc > 4 ? strtoull(argv[4], NULL, 0) : 0;
    journal = fopen("/dev/null", "w");
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, wait_here, NULL);
    }
    run_named(ledger_bugs, argv[1], depth);
    run_named(report_bugs, argv[1], depth);
    return 3;
}
