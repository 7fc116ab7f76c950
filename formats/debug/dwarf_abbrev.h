// SPDX-License-Identifier: Apache-2.0
//
// The tables of .debug_abbrev, and how values of their forms are stored: DWARF 2 to 5
// (sections 7.5.3 and 7.5.6) with the extensions of GNU.
//
// A table is read forward: dwarf_abbrev_next reads the head of an abbreviation, then
// dwarf_abbrev_attribute its attributes until CH_END. Users: dwarf_members.c in the
// agent, die_scan.c in the symbolizer.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

// DWARF_FORM_IMPLICIT has its value in the abbreviation.
enum { DWARF_FORM_IMPLICIT = 0x21 };

struct dwarf_abbrev {
    uint64_t code;
    uint64_t tag;
    bool children;
};

struct dwarf_attribute {
    uint64_t name;
    uint64_t form;
    int64_t implicit; // of DWARF_FORM_IMPLICIT
};

// dwarf_field_kind is how a value is stored.
enum dwarf_field_kind {
    DWARF_FIELD_FIXED, // size bytes
    DWARF_FIELD_LEB,
    DWARF_FIELD_STRING,
    DWARF_FIELD_BLOCK,     // a length of size bytes, then as many bytes
    DWARF_FIELD_BLOCK_LEB, // a LEB128 length, then as many bytes
    DWARF_FIELD_INDIRECT,  // the form is in the entry
    DWARF_FIELD_UNKNOWN,
};

struct dwarf_field {
    enum dwarf_field_kind kind;
    uint32_t size;
};

// dwarf_sizes are the sizes of forms that differ between units.
struct dwarf_sizes {
    uint8_t address;
    uint8_t offset;
    uint16_t version;
};

// dwarf_abbrev_next reads the head of the next abbreviation. CH_END: the table ends.
CH_CHECKED enum ch_status dwarf_abbrev_next(struct cursor *table,
                                            struct dwarf_abbrev *out);

// dwarf_abbrev_attribute reads the next attribute. CH_END: there are no more.
CH_CHECKED enum ch_status dwarf_abbrev_attribute(struct cursor *table,
                                                 struct dwarf_attribute *out);

// dwarf_field_of returns how values of a form are stored in a unit.
struct dwarf_field dwarf_field_of(uint64_t form, struct dwarf_sizes sizes);

// dwarf_field_block reads the length of a block and gives its bytes.
struct cursor dwarf_field_block(struct cursor *c, const struct dwarf_field *field);

// dwarf_leb_skip skips a number of either sign: a large negative one has more bytes
// than the unsigned reader accepts.
static inline void dwarf_leb_skip(struct cursor *c)
{
    while (cursor_u8(c) & 0x80)
        ;
}
