// SPDX-License-Identifier: Apache-2.0
//
// A text is a growing run of bytes, for writers that do not know the size in advance.
//
// It is sticky like the cursor: after a failed allocation, or past its limit, appends
// do nothing and text_ok() is false, so a writer appends freely and checks once.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// A text holds size bytes, followed by a NUL once anything was appended.
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

// text_string is what text holds as a string: "" unless every append was kept.
static inline const char *text_string(const struct text *text)
{
    return text->size != 0 && text_ok(text) ? text->bytes : "";
}

// text_clear empties text but keeps its memory.
void text_clear(struct text *text);

// text_append adds size bytes.
void text_append(struct text *text, const void *bytes, size_t size);

// text_append_string adds a string without its NUL.
void text_append_string(struct text *text, const char *string);

// text_appendf adds what printf would print.
void text_appendf(struct text *text, const char *format, ...) CH_PRINTF(2, 3);

// text_read appends the contents of fd up to its end, at most limit_bytes.
// CH_ERR_LIMIT: there is more; the first limit_bytes are in text. CH_ERR_IO: errno has
// the reason. CH_ERR_NO_MEMORY: text could not hold all of it.
CH_CHECKED enum ch_status text_read(struct text *text, int fd, size_t limit_bytes);

// Numbers as the little-endian bytes of a file's record, written as the format's
// description lists them. Users: writers of minidumps, cores, ELF files and protobuf.

// PACK appends numbers. Each character of form is for one of them: a digit is its size
// in bytes, 1 to 8; u and s are unsigned and signed LEB128, and u is also a varint of
// protobuf; z appends as many zeros as the number says.
#define PACK(out, form, ...) pack_numbers(out, form, (const uint64_t[]){ __VA_ARGS__ })
void pack_numbers(struct text *out, const char *form, const uint64_t *numbers);

// pack_align appends zeros until the size is a multiple of size, and returns it.
uint32_t pack_align(struct text *out, size_t size);

// How far a name is from another one: for suggestions after a typing mistake. Names
// longer than EDIT_DISTANCE_BYTES are far from any other.

enum { EDIT_DISTANCE_BYTES = 32 }; // longest name that is compared

// edit_distance is the edit distance of two names: how many letters must be inserted,
// deleted or replaced to turn a into b. SIZE_MAX: b is longer than EDIT_DISTANCE_BYTES.
size_t edit_distance(const char *a, const char *b);
