// SPDX-License-Identifier: Apache-2.0
//
// What is masked in a command line: what is masked in any string, and the values of
// options, which may be in the next argument.
//
// Users: the raw report's writer.
#pragma once
#include "base/text.h"
#include "report/secrets/secret_option.h"

// sanitize_arguments is a command line being masked; it starts with home set and
// everything else zero. Its arguments must stay valid until the last one was passed.
struct sanitize_arguments {
    const char *home;          // may be NULL
    const char *program;       // the first argument
    struct secret_option next; // what the next argument is
};

// sanitize_argument appends the next argument; the first is the program's own name.
void sanitize_argument(struct sanitize_arguments *line, const char *argument,
                       struct text *out);
