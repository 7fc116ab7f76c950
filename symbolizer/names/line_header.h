// SPDX-License-Identifier: Apache-2.0
//
// The header of a unit's line table: how its program is encoded, its directories and
// its files (DWARF 5, section 6.2.4, and the equivalent in versions 2 to 4).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

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

// line_header_read reads the header of the table at source and adds its directories and
// files to files.
CH_CHECKED enum ch_status line_header_read(struct line_header *out,
                                           struct line_files *files,
                                           const struct line_source *source);
