// SPDX-License-Identifier: Apache-2.0
//
// The header of a unit's line table: how its program is encoded, its directories and
// its files (DWARF 5 section 6.2.4, and what versions 2 to 4 have in its place).
#pragma once
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "symbolizer/line_table.h"

struct line_header {
    struct cursor program;
    uint8_t instruction_length;
    int8_t line_base;
    uint8_t line_range; // never 0
    uint8_t opcode_base;
    uint8_t operand_counts[256]; // by opcode
};

// line_header_read reads the header of the table at source and adds directories and
// files to table.
CH_CHECKED enum ch_status line_header_read(struct line_header *out,
                                           struct line_table *table,
                                           const struct line_source *source);
