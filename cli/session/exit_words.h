// SPDX-License-Identifier: Apache-2.0
//
// The last words of a program whose language ends it by an exit, as a hook of that
// language left them in the spool (bindings/): a panic, a fatal error, an exception
// that nobody caught. docs/formats/exit_words.md has the file.
//
// The file is whatever the program wrote: it is read up to a limit, every value is
// optional, and a kind that is none of these becomes one. Users: crash_records.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/text.h"

enum { EXIT_WORDS_FRAMES = 96 };

struct exit_words {
    struct text bytes; // of the file; the strings below are in it
    struct text found; // the message, where the head has none
    const char *kind;  // of crash_kind
    const char *message;
    const char *said; // what the program or its runtime wrote; empty: nothing yet
    int64_t pid;
    int64_t status; // of the exit; -1: a thread ended, and not the program
    const char *executable;
    const char *home;
    const char *release;
    const char *environment;
    const char *tags;
    const char *kills;    // CRASHHOOK_KILLS of the program; NULL: not set
    const char *type;     // of the exception
    const char *language; // of the frames, as in reports
    const char *frames[EXIT_WORDS_FRAMES]; // FUNCTION at FILE:LINE, innermost first
    size_t frame_count;
};

// exit_words_add adds the exception with its frames to a report of these words, which
// has their message already. home is masked in paths; NULL: nothing is.
void exit_words_add(const struct exit_words *words, const char *home, json_t *report);

// exit_words_read reads the file open as fd. CH_ERR_MALFORMED: it is something else.
CH_CHECKED enum ch_status exit_words_read(int fd, struct exit_words *out);
void exit_words_deinit(struct exit_words *words);

// What a program wrote on standard error before it exited with a failure, read for the
// end of a runtime: a panic of Rust or Go, a sanitizer's report, an exception that
// nobody caught in Python or Node.
//
// The text is whatever the program chose to write, so what is found here is what it
// says of itself.

struct last_words {
    const char *kind; // of crash_kind; NULL: nothing was found
    const char *text; // the message's beginning, in the text that was read
    size_t size;      // of the message: to the end of its first paragraph
};

// last_words_find finds the last such message in text, which ends with a NUL.
void last_words_find(const char *text, int exit_status, struct last_words *out);
