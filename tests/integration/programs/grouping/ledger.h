// SPDX-License-Identifier: Apache-2.0
//
// What the C programs of the grouping harness share. A program is started with the name
// of a bug, how deep to recurse before it, how many threads to start, and the value of
// bad pointers.
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
    struct entry *next;
    long amount;
    char name[16];
};

extern volatile uintptr_t bad_value;
extern volatile long zero;
extern FILE *volatile journal;

// ledger_amount is in a header: an inlined function whose file is not the caller's.
static inline long ledger_amount(const struct entry *entry)
{
    return entry->amount + 1;
}

#define BAD(type) ((type)bad_value)

struct bug {
    const char *name;
    void (*run)(void);
};

extern const struct bug ledger_bugs[];
extern const struct bug report_bugs[];
void ledger_die(const char *why) __attribute__((noreturn));
