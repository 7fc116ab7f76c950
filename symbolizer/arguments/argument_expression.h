// SPDX-License-Identifier: Apache-2.0
//
// DWARF location expressions as decoded by libdw, executed by the unwinder's stack
// machine (unwind/dwarf_machine.h) with the registers of one frame and the held memory.
//
// The operations that only locations of variables have are added to that machine. What
// cannot be evaluated (thread locals of libraries, implicit pointers) is reported as
// such, and not guessed.
#pragma once
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/memory_reader.h"
#include "base/status.h"
#include "symbolizer/arguments/argument_frame.h"

// ARGUMENT_PIECES_BYTES is the greatest size of a value that is in several pieces.
enum { ARGUMENT_PIECES_BYTES = 64 };

enum argument_place {
    ARGUMENT_IN_MEMORY,   // at address value
    ARGUMENT_IN_REGISTER, // in register value
    ARGUMENT_IS_VALUE,    // value itself
    ARGUMENT_IS_BYTES,    // in bytes, value of them
    ARGUMENT_IS_PIECES,   // in pieces, value bytes in all
};

struct argument_location {
    enum argument_place kind;
    uint64_t value;
    const uint8_t *bytes;
    uint8_t pieces[ARGUMENT_PIECES_BYTES];
    bool entered; // it depends on an entry value
};

struct argument_context;

// An argument_entry_fn gives the value of a register at the entry of the frame's
// function. CH_ERR_NOT_FOUND: it is not known.
typedef enum ch_status argument_entry_fn(const struct argument_context *context,
                                         unsigned reg, uint64_t *out);

// An argument_passed_fn gives the value that was passed for a parameter of the frame's
// function. CH_ERR_NOT_FOUND: it is not known.
typedef enum ch_status argument_passed_fn(const struct argument_context *context,
                                          const Dwarf_Die *parameter, uint64_t *out);

// An argument_context is the frame in which an expression is evaluated.
struct argument_context {
    const struct argument_frame *frame;
    const struct memory_reader *memory;
    bool has_frame_base;
    uint64_t frame_base;
    uint64_t bias;              // address - vaddr of the frame's image
    uint64_t thread_block;      // its thread locals; 0: not known
    argument_entry_fn *entry;   // NULL: there are no entry values
    argument_passed_fn *passed; // NULL: there are no such values
    const void *entry_data;     // of entry and passed
    Dwarf_Attribute *attribute; // with the expression; NULL: it has no blocks
};

// argument_expression_evaluate evaluates count operations. CH_ERR_NOT_FOUND: a register
// or an entry value is not known. CH_ERR_UNSUPPORTED: part of the value was optimized
// away, or its location is of an unsupported kind.
CH_CHECKED enum ch_status
argument_expression_evaluate(const struct argument_context *context,
                             const Dwarf_Op *ops, size_t count,
                             struct argument_location *out);

// argument_location_bytes copies the first size bytes at a location.
// CH_ERR_UNSUPPORTED: it is smaller. CH_ERR_FAULT: the memory was not held.
CH_CHECKED enum ch_status
argument_location_bytes(const struct argument_location *location,
                        const struct argument_frame *frame,
                        const struct memory_reader *memory, uint8_t *to, uint64_t size);
