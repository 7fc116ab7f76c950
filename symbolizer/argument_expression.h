// SPDX-License-Identifier: Apache-2.0
//
// DWARF expressions that say where a value is: a stack machine over what libdw decoded,
// with the registers of one frame and the memory that was held.
//
// What it cannot do (thread-local storage, pieces, values that an optimizer made
// imaginary) is said, not guessed. 64 values, 10,000 operations.
#pragma once
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/memory_reader.h"
#include "base/status.h"
#include "symbolizer/argument_frame.h"

enum argument_place {
    ARGUMENT_IN_MEMORY,   // at value
    ARGUMENT_IN_REGISTER, // number value
    ARGUMENT_IS_VALUE,    // value itself
    ARGUMENT_IS_BYTES,    // bytes, of size value
};

struct argument_location {
    enum argument_place kind;
    uint64_t value;
    const uint8_t *bytes;
    bool entered; // an entry value had a part in it
};

struct argument_context;

// An argument_entry_fn gives the value that a register had when the frame's function
// was entered. CH_ERR_NOT_FOUND: nobody says.
typedef enum ch_status argument_entry_fn(const struct argument_context *context,
                                         unsigned reg, uint64_t *out);

// An argument_context is the frame an expression is evaluated in.
struct argument_context {
    const struct argument_frame *frame;
    const struct memory_reader *memory;
    uint64_t cfa; // 0: not known
    bool has_frame_base;
    uint64_t frame_base;
    uint64_t bias;            // address - vaddr, of the frame's image
    argument_entry_fn *entry; // NULL: there are no entry values
    const void *entry_data;
    Dwarf_Attribute *attribute; // of the expression; NULL: without blocks in it
};

// argument_expression_evaluate evaluates count operations. CH_ERR_NOT_FOUND: a register
// or an entry value is not known. CH_ERR_UNSUPPORTED: it cannot be said in one place.
CH_CHECKED enum ch_status
argument_expression_evaluate(const struct argument_context *context,
                             const Dwarf_Op *ops, size_t count,
                             struct argument_location *out);

// argument_location_word gives the 8 bytes at a location.
CH_CHECKED enum ch_status
argument_location_word(const struct argument_location *location,
                       const struct argument_frame *frame,
                       const struct memory_reader *memory, uint64_t *out);
