// SPDX-License-Identifier: Apache-2.0
//
// Where a bad value came from (crash.provenance), as facts and in words.
//
// The report has the facts; the words are made of them whenever it is read, for the
// sentence and for the member `detail`.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

// A crash_origin points into the report. What its kind does not have is 0 or NULL.
struct crash_origin {
    const char *kind; // NULL: not known
    const char *register_name;
    const char *address; // as the report has it, like the next ones
    const char *next;
    const char *text;
    const char *filler;
    const char *holder;
    const char *image;
    const char *member; // null-offset: what the pointer was followed to
    int64_t bit;
    int64_t thread;
    int64_t offset;
};

// crash_origin_append appends the words: "rax is the link that malloc left ...". False:
// there are none.
bool crash_origin_append(const struct crash_origin *origin, struct text *out);

// crash_origin_is_said returns true if the sentence says as much without these words.
bool crash_origin_is_said(const struct crash_origin *origin);
