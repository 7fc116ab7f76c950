// SPDX-License-Identifier: Apache-2.0
//
// Tables that decode the Huffman codes of deflate (RFC 1951, section 3.2.2): the next
// bits of the stream are an index, and the entry there has the symbol's meaning and how
// many bits it took. Codes with more bits than the index continue in a table after it.
//
// An entry has, from the lowest bit on: (8) bits to drop, those of the code and of the
// number that follows it; (4) bits of the code alone, or the index bits of the further
// table; flags; and from bit 16 on the literal, the base of a length or distance, or
// where the further table begins.
#pragma once
#include <stdint.h>

#include "base/status.h"

enum inflate_alphabet {
    INFLATE_LITERALS,  // literals, the end of the block, lengths
    INFLATE_DISTANCES, // of repetitions
    INFLATE_LENGTHS,   // of the codes of the other two
};

// Bits of the index of each first table, and the entries that any code takes with its
// further tables: 286, 30 and 19 symbols of at most 15, 15 and 7 bits.
enum {
    INFLATE_LITERAL_BITS = 11,
    INFLATE_DISTANCE_BITS = 8,
    INFLATE_LENGTH_BITS = 7,
    INFLATE_LITERAL_ENTRIES = 2342,
    INFLATE_DISTANCE_ENTRIES = 402,
    INFLATE_LENGTH_ENTRIES = 1 << INFLATE_LENGTH_BITS,
    INFLATE_SYMBOLS_MAX = 288,
};

#define INFLATE_END (UINT32_C(1) << 13)     // of the block; SPECIAL too
#define INFLATE_FURTHER (UINT32_C(1) << 14) // another table has it; SPECIAL too
#define INFLATE_SPECIAL (UINT32_C(1) << 15) // neither: no symbol has this code
#define INFLATE_LITERAL (UINT32_C(1) << 31)

// inflate_table_build fills the table of the code in which symbol i has lengths[i]
// bits; 0: it is not used. CH_ERR_MALFORMED: there is no such code, or it leaves bits
// without a meaning; only a code of a single symbol may do so.
CH_CHECKED enum ch_status inflate_table_build(uint32_t *table,
                                              enum inflate_alphabet alphabet,
                                              const uint8_t *lengths, unsigned symbols);
