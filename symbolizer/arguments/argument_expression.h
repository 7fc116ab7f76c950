// SPDX-License-Identifier: Apache-2.0
//
// DWARF expressions that say where a value is, as libdw decoded them, done by the
// unwinder's stack machine (unwind/dwarf_machine.h) with the registers of one frame and
// the memory that was held.
//
// Added to that machine are the operations that only places of variables have. What
// cannot be done (thread-local storage, values that an optimizer made imaginary) is
// said, not guessed.
#pragma once
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/memory_reader.h"
#include "base/status.h"
#include "symbolizer/arguments/argument_frame.h"

// ARGUMENT_PIECES_BYTES is how large a value may be that is in several places.
enum { ARGUMENT_PIECES_BYTES = 64 };

enum argument_place {
    ARGUMENT_IN_MEMORY,   // at value
    ARGUMENT_IN_REGISTER, // number value
    ARGUMENT_IS_VALUE,    // value itself
    ARGUMENT_IS_BYTES,    // bytes, of size value
    ARGUMENT_IS_PIECES,   // put together, of size value
};

struct argument_location {
    enum argument_place kind;
    uint64_t value;
    const uint8_t *bytes;
    uint8_t pieces[ARGUMENT_PIECES_BYTES];
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
    bool has_frame_base;
    uint64_t frame_base;
    uint64_t bias;            // address - vaddr, of the frame's image
    argument_entry_fn *entry; // NULL: there are no entry values
    const void *entry_data;
    Dwarf_Attribute *attribute; // of the expression; NULL: without blocks in it
};

// argument_expression_evaluate evaluates count operations. CH_ERR_NOT_FOUND: a register
// or an entry value is not known. CH_ERR_UNSUPPORTED: part of it is in no place, or its
// place is none that is understood.
CH_CHECKED enum ch_status
argument_expression_evaluate(const struct argument_context *context,
                             const Dwarf_Op *ops, size_t count,
                             struct argument_location *out);

// argument_location_bytes copies the first size bytes of what is at a location.
// CH_ERR_UNSUPPORTED: it is smaller. CH_ERR_FAULT: the memory is not there.
CH_CHECKED enum ch_status
argument_location_bytes(const struct argument_location *location,
                        const struct argument_frame *frame,
                        const struct memory_reader *memory, uint8_t *to, uint64_t size);
