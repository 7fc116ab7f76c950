// SPDX-License-Identifier: Apache-2.0
//
// The units of a file by address, as .debug_aranges lists them (DWARF 5, section
// 6.1.2). libdw makes an entry of the heap of each of a C library's 12,000 ranges, and
// sorts them, before it answers the first question, which takes longer than the rest of
// a report's values.
#pragma once
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "symbolizer/files/debug_elf.h"
#include "symbolizer/names/address_map.h"

// An address_unit is a unit that was looked up, in a view of its own.
struct address_unit {
    uint64_t offset;
    Dwarf *view;
    Dwarf_Die die;
};

struct address_table {
    Dwarf *dwarf;                 // borrowed
    const struct debug_elf *file; // that dwarf was opened on
    bool whole;                   // units refer to each other: none has a view
    struct address_unit *viewed;
    size_t viewed_count;
    size_t viewed_capacity;
    uint64_t passed;          // libdw knows the units up to this offset at least
    unsigned reads;           // lookups that read the table through
    struct address_map units; // for later ones: their offsets by address
};

// address_sets are the sets of ranges from a place in the section on.
struct address_sets {
    struct cursor sets;
    struct cursor ranges; // of the set at hand
    uint64_t unit;        // its unit's offset in .debug_info
};

// address_table_sets gives all of them.
struct address_sets address_table_sets(struct cursor section);

// address_table_next takes the next range that is not empty, and its unit. False: there
// are no more. Sets of forms that no compiler here writes are passed over.
bool address_table_next(struct address_sets *at, uint64_t *out_low, uint64_t *out_size);

// address_table_find finds the set whose ranges contain vaddr, and gives the offset of
// its unit in .debug_info.
bool address_table_find(struct cursor section, uint64_t vaddr, uint64_t *out_unit);

// address_table_unit gives the entry of the unit that the table has for vaddr: at first
// by reading the table, then, for many addresses, in a sorted copy. Unless the table is
// whole, the entry is of a view, which the table owns.
bool address_table_unit(struct address_table *table, uint64_t vaddr, Dwarf_Die *out);

// address_table_view gives the entry of the unit whose header is at that offset of
// .debug_info, in a view, which the table owns, unless it is the first one. False: it
// cannot be had so.
bool address_table_view(struct address_table *table, uint64_t offset, Dwarf_Die *out);

// address_table_deinit frees what table holds.
void address_table_deinit(struct address_table *table);

// One unit of a debug file, for libdw alone. Before libdw gives a unit, it reads the
// headers of all units before it, each of which is in another page of the file: of a
// Java virtual machine's 2,142 units, that takes longer than the values of a report.
// For a view, all that is before the unit is one unit to libdw, of which nothing can be
// read.
//
// Entries have the addresses and offsets that they have in the file. Whatever refers to
// entries of other units finds nothing right in a view: who uses one checks that the
// unit refers to itself alone (die_scan.h).

// unit_view_open opens a view of the unit whose header is at that offset of file's
// .debug_info, and gives the unit's entry. The caller ends the view (dwarf_end) before
// it closes file. NULL: there is none, as of a section that libdw has not decompressed.
Dwarf *unit_view_open(const struct debug_elf *file, uint64_t unit, Dwarf_Die *out);
