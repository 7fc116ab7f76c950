// SPDX-License-Identifier: Apache-2.0
//
// A row_block says what holds at each of ROW_BLOCK_SPAN addresses: rows, of which each
// holds up to the next one's address. It is packed by columns with the fewest bits that
// do, so that one row is found and read without decoding the others
// (docs/formats/symbol-cache.md).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "base/text.h"

enum {
    ROW_BLOCK_SHIFT = 8,
    ROW_BLOCK_SPAN = 1 << ROW_BLOCK_SHIFT,
    ROW_BLOCK_HEADER_SIZE = 12,
    ROW_BLOCK_AFTER = 8, // bytes that follow the last block
};

struct row_block_row {
    uint32_t node; // 0: none
    uint32_t line;
    uint32_t column;
    uint8_t at; // its address, from the block's first
};

// row_block_write appends the block of count rows, in the order of their addresses; the
// first is at the block's first address. CH_ERR_LIMIT: a column is too large.
CH_CHECKED enum ch_status row_block_write(const struct row_block_row *rows,
                                          size_t count, struct text *out);

// row_block_size gives the size of a block with that header, and of what is read after
// it.
size_t row_block_size(const uint8_t header[ROW_BLOCK_HEADER_SIZE]);

// row_block_find stores the row that holds at an address of the block at c.
// CH_ERR_MALFORMED: there is none.
CH_CHECKED enum ch_status row_block_find(struct cursor *c, uint8_t at,
                                         struct row_block_row *out);
