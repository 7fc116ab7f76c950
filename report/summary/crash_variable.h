// SPDX-License-Identifier: Apache-2.0
//
// The variable at fault: which of the program's variables held the bad value
// (crash.variable), as a fact and in the words of the sentence.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

// A crash_variable points into the report.
struct crash_variable {
    const char *expression; // as in the source: `item->next`; NULL: not known
    const char *function;   // whose source says so; NULL: not known
    const char *role;    // "local", "argument", "global"; NULL: it is no plain variable
    const char *address; // the value of a pointer; NULL: null, or no pointer
    bool is_number;
    int64_t number;
    uint64_t elements; // of the array that the number is outside of; 0: none
    const char *array; // that array's name
};

// crash_variable_append appends the clause: "`p`, a local of f, is null".
void crash_variable_append(const struct crash_variable *variable, struct text *out);
