// SPDX-License-Identifier: Apache-2.0
//
// A die_scan passes once over the entries of one DWARF unit and stops at those that may
// have code: functions and inlined calls. Everything else is skipped by sizes that are
// computed once per abbreviation, which makes reading a whole unit fast enough to index
// it when its first address is looked up.
//
// libdw finds the unit. Its abbreviations and entries are read here, with a cursor:
// without recursion, without trust in sibling offsets, and with a limit on the nesting.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/cursor.h"
#include "base/status.h"

// DIE_DEPTH_MAX limits the nesting of entries, DIE_SCOPES_MAX that of scopes of
// members.
enum { DIE_DEPTH_MAX = 4096, DIE_SCOPES_MAX = 64 };

// A die_code is an entry that has code.
struct die_code {
    uint64_t offset; // in the section, as dwarf_offdie expects it
    uint32_t depth;  // the number of entries that enclose it
    bool inlined;    // an inlined call, else a function
    bool exact;      // low and high are known; else libdw has to be asked
    uint64_t low;
    uint64_t high;
};

// A die_member is a scope, which is a namespace, a class, a structure or a union, or a
// function.
struct die_member {
    uint64_t offset; // in the section
    uint32_t depth;  // the number of entries that enclose it
    bool scope;
};

// die_scan_reach is which of the entries with code a scan stops at.
enum die_scan_reach {
    DIE_SCAN_ALL,
    // Functions outside of types and of other functions, where entries say where they
    // end: to pass over the others takes a fraction of the time. Those that are nested
    // in C of GNU, or that a compiler puts into types, may be left out.
    DIE_SCAN_OUTER,
};

struct die_scan {
    enum die_scan_reach reach;
    bool refers_out;      // an abbreviation refers to other units, or to another file
    struct cursor input;  // the unit's entries
    uint64_t base;        // section offset of the input's first byte
    uint64_t header_size; // of the unit, before the input
    uint32_t depth;
    uint32_t hidden; // from this depth on, not only scopes enclose entries; 0: they do
    uint8_t address_size;
    uint8_t offset_size;
    uint16_t version;
    struct die_abbrev *abbrevs; // by code
    size_t abbrev_count;
    size_t abbrev_capacity;
    struct die_field *fields; // of all abbreviations
    size_t field_count;
    size_t field_capacity;
};

// die_scan_init starts at unit's first entry. On failure nothing is held.
CH_CHECKED enum ch_status die_scan_init(struct die_scan *scan, Dwarf_Die *unit,
                                        enum die_scan_reach reach);

// die_scan_deinit frees what scan holds.
void die_scan_deinit(struct die_scan *scan);

// die_scan_next finds the next entry that has code. out_closed receives the smallest
// depth that was left on the way: entries at that depth or deeper enclose nothing any
// more. CH_END: the end of the unit.
CH_CHECKED enum ch_status die_scan_next(struct die_scan *scan, struct die_code *out,
                                        uint32_t *out_closed);

// die_scan_next_member finds the next scope or function that only scopes enclose, at
// most DIE_SCOPES_MAX of them, or that nothing does but the unit. A scan is for members
// or for code. CH_END: the end of the unit.
CH_CHECKED enum ch_status die_scan_next_member(struct die_scan *scan,
                                               struct die_member *out);
