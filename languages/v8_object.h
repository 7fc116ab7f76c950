// SPDX-License-Identifier: Apache-2.0
//
// Objects of V8's heap, as far as names and lines need them. A word is a small number
// or refers to an object; nothing is believed of an object but by its map's type.
#pragma once
#include "base/text.h"
#include "images/images.h"

// Where V8 keeps what its frames and objects have, by the metadata that it exports for
// debuggers: numbers in symbols that begin with v8dbg_. What they do not say is the
// same in V8 10 and 11, and is only believed of objects of the right types.

// A v8_layout has the metadata's numbers: offsets in objects and from a frame pointer,
// numbers of types. Looking one up reads pages that the process may never have used, so
// nothing is looked up that follows from others.
struct v8_layout {
    int32_t tagged_size;
    int32_t frame_type; // from a frame pointer, as are the next three
    int32_t frame_function;
    int32_t frame_bytecode;
    int32_t frame_offset;
    int32_t builtin_exit; // the number of a type of frames
    int32_t map_type;
    int32_t function_shared;
    int32_t shared_data;
    int32_t shared_name;
    int32_t shared_script;
    int32_t script_name;
    int32_t script_source;
    int32_t script_line_ends;
    int32_t bytecode_data;
    int32_t scope_locals; // words after the map, as is the next
    int32_t scope_first;
    int32_t type_function; // the first of those of functions
    int32_t type_shared;
    int32_t type_script;
    int32_t type_bytecode;
    int32_t type_bytes;
    int32_t type_array;
    int32_t type_scope;
    int32_t type_code;
    int32_t first_not_string;
    int32_t code_start; // of instructions in code; 0: in a stream of their own, which
                        // begins with V8_STREAM_HEAD bytes
};

// v8_layout_read reads the layout that image exports. CH_ERR_NOT_FOUND: it exports
// none. CH_ERR_UNSUPPORTED: something that is needed is missing, or cannot be.
CH_CHECKED enum ch_status v8_layout_read(const struct memory_reader *reader,
                                         const struct target_image *image,
                                         struct v8_layout *out);

// A v8_number_fn gives the number in the symbol of the metadata called name; false:
// there is none.
typedef bool v8_number_fn(void *context, const char *name, int32_t *out);

// v8_layout_take is v8_layout_read for numbers that come from elsewhere.
CH_CHECKED enum ch_status v8_layout_take(v8_number_fn *number, void *context,
                                         struct v8_layout *out);

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
