// SPDX-License-Identifier: Apache-2.0
//
// Objects of V8's heap, as far as names and lines need them. A word is a small number
// or refers to an object; nothing is believed of an object but by its map's type.
#pragma once
#include "base/text.h"
#include "languages/v8_layout.h"

// Where words have 8 bytes: what every object has, and every array, and every text;
// what the words of references end in. The limits of a source that is searched for ends
// of lines, and of the characters of a name.
enum {
    V8_TAG = 1,
    V8_TAG_MASK = 3,
    V8_MAP = 0,
    V8_LENGTH = 8,
    V8_TEXT_LENGTH = 12,
    V8_DATA = 16, // of an array, and of a text, or what it has instead
    V8_SOURCE_MAX = 4 << 20,
    V8_NAME_MAX = 1024,
};

struct v8_heap {
    const struct memory_reader *reader;
    struct v8_layout layout;
};

// v8_field reads a word of an object. False: it cannot be read.
bool v8_field(const struct v8_heap *heap, uint64_t object, int64_t offset,
              uint64_t *out);

// v8_type is the number of the type of what word refers to; negative: nothing that can
// be read.
int32_t v8_type(const struct v8_heap *heap, uint64_t word);

// v8_small reads a small number out of a word. False: it is none.
bool v8_small(uint64_t word, int32_t *out);

// v8_bytes reads an array of bytes, of at most limit. The caller frees them; NULL: it
// is none, or cannot be read.
uint8_t *v8_bytes(const struct v8_heap *heap, uint64_t word, size_t limit,
                  size_t *out_size);

// v8_line gives the line of a character of a function's script, from 1; 0: not known.
uint32_t v8_line(const struct v8_heap *heap, uint64_t shared, int32_t offset);

// v8_function_name appends the name of a function, by what all its closures share.
void v8_function_name(const struct v8_heap *heap, uint64_t shared, struct text *out);

// v8_script_name appends the name of its script. False: it has none.
bool v8_script_name(const struct v8_heap *heap, uint64_t shared, struct text *out);
