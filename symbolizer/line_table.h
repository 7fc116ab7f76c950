// SPDX-License-Identifier: Apache-2.0
//
// A line_table is what one unit's line program says: for each address a file, a line
// and a column. DWARF 2 to 5.
//
// The program is run once; rows are kept in 16 bytes and found by binary search. It
// is read with cursors from bytes alone: rows are no more than bytes of the program,
// sequences of code the linker dropped are left out, strings stay in their sections.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "symbolizer/address_map.h"

// A line_source is where a table is and what its strings refer to. All of it must
// outlive the table.
struct line_source {
    struct cursor lines;        // .debug_line
    struct cursor line_strings; // .debug_line_str
    struct cursor strings;      // .debug_str
    uint64_t offset;            // of the unit's table
    const char *directory;      // the unit's; NULL: not known
    uint64_t text[2];           // first and one past the last address of code
    bool files_only;            // the program is not run
};

struct line_row {
    uint64_t address;
    uint32_t line;   // 0: not of a line
    uint16_t column; // 0: not known
    uint16_t file;
};

struct line_file {
    const char *name;
    uint64_t directory;
    char *path; // joined; NULL: not yet
};

struct line_table {
    uint16_t version;
    const char *directory;
    const char **directories;
    size_t directory_count;
    size_t directory_capacity;
    struct line_file *files;
    size_t file_count;
    size_t file_capacity;
    struct line_row *rows;
    size_t row_count;
    size_t row_capacity;
    struct line_sequence *sequences;
    size_t sequence_count;
    size_t sequence_capacity;
    struct address_map map; // owner: index of the sequence
};

// line_table_read reads the table at source. A damaged program keeps the rows before
// the damage. On failure nothing is held.
CH_CHECKED enum ch_status line_table_read(struct line_table *out,
                                          const struct line_source *source);

// line_table_deinit frees what table holds; a zeroed one is empty.
void line_table_deinit(struct line_table *table);

// line_table_find is the row that has vaddr, or NULL.
const struct line_row *line_table_find(const struct line_table *table, uint64_t vaddr);

// line_table_file is the path of the file of that number, or NULL. It lives as long as
// table.
const char *line_table_file(struct line_table *table, uint64_t number);
