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
#include <stdint.h>

#include "base/text.h"
#include "shared/crash_kinds.h"

enum { EXIT_WORDS_FRAMES = 96 };

struct exit_words {
    struct text bytes; // of the file; the strings below are in it
    struct text found; // the message, where the head has none
    enum crash_kind kind;
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
    enum crash_kind kind; // CRASH_KIND_NONE: nothing was found
    const char *text;     // the message's beginning, in the text that was read
    size_t size;          // of the message: to the end of its first paragraph
};

// last_words_find finds the last such message in text, which ends with a NUL.
void last_words_find(const char *text, int exit_status, struct last_words *out);

// The last of what a program wrote on standard error, in memory that `crashhook run
// --stderr-tail` shares: its relay (run_preload.c) writes it, run itself reads it when
// the program exits, and `crashhook finish` when it crashed. finish finds it by a
// variable that the program inherits and passes on.
//
// finish maps what the variable names: the size is checked, and all of it is text of
// strangers. Children of the program share its standard error.

#define STDERR_RING_VARIABLE "_CRASHHOOK_STDERR"

enum { STDERR_RING_BYTES = 64 << 10 };

struct stderr_ring {
    uint64_t written; // bytes so far; the last STDERR_RING_BYTES are kept
    uint32_t busy;    // the relay has read what it has not written yet
    char bytes[STDERR_RING_BYTES];
};

// stderr_ring_create makes an empty ring and names it in the variable, for the program
// that is started next. NULL: it cannot.
struct stderr_ring *stderr_ring_create(void);

// stderr_ring_open maps the ring that the variable names; NULL: there is none.
const struct stderr_ring *stderr_ring_open(void);

// stderr_ring_keep adds what was written.
void stderr_ring_keep(struct stderr_ring *ring, const char *bytes, size_t size);

// stderr_ring_append appends up to most of the last bytes.
void stderr_ring_append(const struct stderr_ring *ring, size_t most, struct text *out);
