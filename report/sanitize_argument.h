// SPDX-License-Identifier: Apache-2.0
//
// What is masked in a command line: what is masked in any string, and the values of
// options, which may stand in the next argument.
//
// Users: the raw report's writer.
#pragma once
#include "base/text.h"
#include "report/secret_option.h"

// A command line being masked; it starts with its home set and all else zero. Its
// arguments stay where they are until the last one was handed over.
struct sanitize_arguments {
    const char *home;          // may be NULL
    const char *program;       // the first argument
    struct secret_option next; // what the next argument is for
};

// sanitize_argument appends the next argument, the program's own name first.
void sanitize_argument(struct sanitize_arguments *line, const char *argument,
                       struct text *out);
