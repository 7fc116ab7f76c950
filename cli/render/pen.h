// SPDX-License-Identifier: Apache-2.0
//
// A pen writes text from strangers to a terminal or a file: pen_text escapes characters
// that could control a terminal or reorder a line (control characters, escape
// sequences, bidirectional marks), pen_plain writes our own words unchanged. Colour is
// a property of the pen, so that its users need not check for it.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"

enum pen_colour { PEN_PLAIN, PEN_BOLD, PEN_DIM, PEN_ALARM, PEN_NAME, PEN_PLACE };

struct pen {
    FILE *to;
    bool colour;
    unsigned width; // of a line; 0: any
};

// pen_set sets the colour of what follows.
void pen_set(const struct pen *pen, enum pen_colour colour);

// pen_plain writes our own words.
void pen_plain(const struct pen *pen, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// pen_text writes a string from outside, escaped; NULL writes nothing.
void pen_text(const struct pen *pen, const char *text);

// pen_lines writes the first lines of a text from outside, indented; NULL writes
// nothing.
void pen_lines(const struct pen *pen, const char *text, int lines_max);

// pen_bytes writes size bytes from outside, escaped; NUL is one of the characters.
void pen_bytes(const struct pen *pen, const char *bytes, size_t size);

// pen_escape appends text, escaped.
void pen_escape(const char *text, struct text *out);

// pen_columns is how many columns escaped text takes.
size_t pen_columns(const char *text);

// A pager between a command and a terminal, for output that may be longer than the
// screen: PAGER, or else less, which ends by itself where the output fits (LESS=FRX
// unless LESS is set). There is none if stdout is not a terminal, PAGER is empty or
// `cat`, or TERM is dumb.

// pager_begin sends what is written to stdout from now on through a pager, if there is
// to be one. The process waits for it when it ends.
void pager_begin(void);

// pager_descriptor is the descriptor that a stream's width and colours depend on: the
// terminal that a pager writes to, or the stream's own.
int pager_descriptor(FILE *to);

// A line on the terminal that shows how far something is, once it takes longer than a
// second; nothing if stderr is not a terminal. Users: upload, symbols upload.

struct progress {
    int64_t started_ms;
    int64_t written_ms;
    bool terminal;
    bool shown;
};

// progress_init starts to measure that second.
void progress_init(struct progress *progress);

// progress_show shows what is being done and, if it is large, how much of it is done.
void progress_show(struct progress *progress, const char *what, uint64_t done_bytes,
                   uint64_t size_bytes);

// progress_announce shows at once something that takes long and whose progress is not
// known.
void progress_announce(struct progress *progress, const char *what);

// progress_clear removes the line, before other lines are written.
void progress_clear(struct progress *progress);

// progress_now_ms is the time on CLOCK_MONOTONIC.
int64_t progress_now_ms(void);
