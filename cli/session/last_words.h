// SPDX-License-Identifier: Apache-2.0
//
// What a program wrote on standard error before it exited with a failure, read for the
// end of a runtime: a panic of Rust or Go, a sanitizer's report, an exception that
// nobody caught in Python or Node.
//
// The text is whatever the program chose to write, so what is found here is what it
// says of itself. Users: supervisor.
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct last_words {
    const char *kind; // of crash_kind; NULL: nothing was found
    const char *text; // the message's beginning, in the text that was read
    size_t size;      // of the message: to the end of its first paragraph
};

// last_words_find finds the last such message in text, which ends with a NUL.
void last_words_find(const char *text, int exit_status, struct last_words *out);
