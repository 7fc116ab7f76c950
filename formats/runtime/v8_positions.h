// SPDX-License-Identifier: Apache-2.0
//
// V8's tables from code to places in the source, as its sources of versions 10 and 11
// have them for source positions, for offsets of bytecodes and for safepoints.
//
// A table of positions is pairs of differences, each a number of 7 bits a byte, lowest
// first, with its sign in the lowest bit: of the code's offset (made negative where no
// statement begins) and of the position. A position is a character of the script, and
// for optimized code also which function that was inlined it is in.
//
// A table of baseline code has the size of what was made of each bytecode, in its
// order, after the size of the prologue. A table of safepoints has a head with the
// sizes of an entry's members, and an entry for each call. Nothing is read past a
// table's end.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// A v8_position is a place in the source.
struct v8_position {
    int32_t offset;  // of the character in its script; negative: none
    int32_t inlined; // number of the inlined function; negative: the code's own
};

// v8_position_unpack takes apart a position as V8 keeps it in a word.
struct v8_position v8_position_unpack(uint64_t word);

// v8_positions_find gives the position of the code at offset: that of the last entry up
// to it. CH_ERR_NOT_FOUND: there is none. CH_ERR_MALFORMED: the table is damaged.
CH_CHECKED enum ch_status v8_positions_find(const void *bytes, size_t size,
                                            int64_t offset, struct v8_position *out);

enum { V8_BYTECODES_MAX = 256, V8_BYTECODE_SCALES = 3 };

// A v8_baseline is the table of baseline code with the bytecodes that it was made of.
struct v8_baseline {
    const uint8_t *table;
    size_t table_size;
    const uint8_t *bytecodes;
    size_t bytecodes_size;
    const uint8_t *sizes; // of each bytecode, for each of the scales of its operands
    size_t count;         // of kinds of bytecodes
};

// v8_baseline_find gives the offset of the bytecode that the code up to pc, which
// counts from the code's start, was made of; -1: it is the prologue.
CH_CHECKED enum ch_status v8_baseline_find(const struct v8_baseline *baseline,
                                           uint64_t pc, int64_t *out);

enum { V8_SAFEPOINTS_HEAD = 8 };

// v8_safepoints_size gives how long a table of safepoints is that begins with these
// V8_SAFEPOINTS_HEAD bytes.
uint64_t v8_safepoints_size(const uint8_t head[static V8_SAFEPOINTS_HEAD]);

// v8_safepoints_find gives where a call returns to whose return address was replaced by
// trampoline, because its code is not to be used any more. Both count from the code's
// start. CH_ERR_NOT_FOUND: none was.
CH_CHECKED enum ch_status v8_safepoints_find(const void *bytes, size_t size,
                                             uint64_t trampoline, uint64_t *out);
