// SPDX-License-Identifier: Apache-2.0
//
// Where V8 keeps what its frames and objects have, by the metadata that it exports for
// debuggers: numbers in symbols that begin with v8dbg_. What they do not say is the
// same in V8 10 and 11, and is only believed of objects of the right types.
#pragma once
#include "images/images.h"

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
