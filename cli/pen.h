// SPDX-License-Identifier: Apache-2.0
//
// A pen writes text of strangers to a terminal or a file: pen_text escapes what could
// steer a terminal or reorder a line (control characters, escapes, bidirectional
// marks), pen_plain writes our own words as they are. Colour is a property of the pen,
// so that who writes need not ask.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/text.h"

enum pen_colour { PEN_PLAIN, PEN_BOLD, PEN_DIM, PEN_ALARM, PEN_NAME, PEN_PLACE };

struct pen {
    FILE *to;
    bool colour;
    unsigned width; // of a line; 0: any
};

// pen_set changes the colour from here on.
void pen_set(const struct pen *pen, enum pen_colour colour);

// pen_plain writes our own words.
void pen_plain(const struct pen *pen, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// pen_text writes a stranger's string, escaped; NULL is nothing.
void pen_text(const struct pen *pen, const char *text);

// pen_escape appends text, escaped.
void pen_escape(const char *text, struct text *out);

// pen_columns is how many columns escaped text takes.
size_t pen_columns(const char *text);
