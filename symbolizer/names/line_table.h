// SPDX-License-Identifier: Apache-2.0
//
// A line_table is the result of one unit's line number program: for each address a
// file, a line and a column. DWARF 2 to 5.
//
// The program is executed once; rows take 16 bytes each and are found by binary search.
// It is read from bytes with cursors: there are at most as many rows as bytes of the
// program, sequences of code that the linker dropped are left out, and strings stay in
// their sections.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/names/address_map.h"
#include "symbolizer/names/line_header.h"

struct line_row {
    uint64_t address;
    uint32_t line;   // 0: no line
    uint16_t column; // 0: not known
    uint16_t file;
};

struct line_table {
    struct line_files files;
    struct line_row *rows;
    size_t row_count;
    size_t row_capacity;
    struct line_sequence *sequences;
    size_t sequence_count;
    size_t sequence_capacity;
    struct address_map map; // owner: index of the sequence
};

// line_table_read reads the table at source. Of a damaged program, the rows before the
// damage are kept. On failure nothing is held.
CH_CHECKED enum ch_status line_table_read(struct line_table *out,
                                          const struct line_source *source);

// line_table_deinit frees what table holds; a zeroed one is empty.
void line_table_deinit(struct line_table *table);

// line_table_find gives the row of vaddr, or NULL.
const struct line_row *line_table_find(const struct line_table *table, uint64_t vaddr);

// line_table_file gives the path of the file of that number, or NULL. It lives as long
// as table.
const char *line_table_file(struct line_table *table, uint64_t number);

// line_table_md5 gives the MD5 of the contents of the file of that number, MD5_SIZE
// bytes, or NULL. It lives as long as what the table was read from.
const uint8_t *line_table_md5(const struct line_table *table, uint64_t number);
