// SPDX-License-Identifier: Apache-2.0
//
// A text is a growing run of bytes: what writers append to when the size is not known.
//
// It is sticky like the cursor: after a failed allocation, or past its limit, appends
// do nothing and text_ok() is false, so a writer appends freely and asks once.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// A text holds size bytes and always a NUL behind them once anything was appended.
struct text {
    char *bytes;
    size_t size;
    size_t capacity;
    size_t limit_bytes; // 0: no limit
    bool failed;
};

// text_deinit frees what text holds; a zeroed text is empty and ready for use.
void text_deinit(struct text *text);

// text_ok is true while every append so far has been kept.
bool text_ok(const struct text *text);

// text_clear empties text and keeps its memory.
void text_clear(struct text *text);

// text_append adds size bytes.
void text_append(struct text *text, const void *bytes, size_t size);

// text_append_string adds a string without its NUL.
void text_append_string(struct text *text, const char *string);

// text_appendf adds what printf would print.
void text_appendf(struct text *text, const char *format, ...) CH_PRINTF(2, 3);

// text_read appends what fd has up to its end, at most limit_bytes of it.
// CH_ERR_LIMIT: there is more, the first limit_bytes are in text. CH_ERR_IO: errno says
// why. CH_ERR_NO_MEMORY: text did not keep all.
CH_CHECKED enum ch_status text_read(struct text *text, int fd, size_t limit_bytes);
