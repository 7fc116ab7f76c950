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

#include "base/cursor.h"
#include "base/status.h"
#include "symbolizer/names/address_map.h"

// The header of a unit's line table: how its program is encoded, its directories and
// its files (DWARF 5, section 6.2.4, and the equivalent in versions 2 to 4).

// A line_source is where a table is, and what its strings refer to. All of it must
// outlive the table.
struct line_source {
    struct cursor lines;        // .debug_line
    struct cursor line_strings; // .debug_line_str
    struct cursor strings;      // .debug_str
    uint64_t offset;            // of the unit's table
    const char *directory;      // the unit's; NULL: not known
    uint64_t text[2];           // first and one past the last address of code
    bool files_only;            // the line number program is not executed
};

struct line_file {
    const char *name;
    uint64_t directory;
    char *path;         // with its directory; NULL: not made yet
    const uint8_t *md5; // of its contents, MD5_SIZE bytes; NULL: not known
};

// line_files are the directories and files that rows refer to by number.
struct line_files {
    uint16_t version;
    const char *directory; // the unit's
    const char **directories;
    size_t directory_count;
    size_t directory_capacity;
    struct line_file *items;
    size_t count;
    size_t capacity;
};

struct line_header {
    struct cursor program;
    uint8_t instruction_length;
    int8_t line_base;
    uint8_t line_range; // never 0
    uint8_t opcode_base;
    uint8_t operand_counts[256]; // by opcode
};

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
