// SPDX-License-Identifier: Apache-2.0
//
// C types out of DWARF: entries that are asked for become part of a table, with all
// that they refer to.
//
// Nothing is read that is not asked for: debug information of a large program has
// millions of types. An entry that contradicts itself becomes the unknown type by its
// name, and the others stay.
#pragma once
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/status.h"
#include "symbolizer/types/type_table.h"

// A type_dwarf_entry says which type an entry, known by where it is, became.
struct type_dwarf_entry {
    void *die; // NULL: none
    uint32_t type;
};

struct type_dwarf {
    Dwarf *dwarf;
    struct type_table *table;
    struct type_dwarf_entry *entries; // open addressing, by hash of die
    size_t entry_count;
    size_t entry_capacity;
    Dwarf_Die *waiting; // entries that have a place in the table and nothing else
    uint32_t *waiting_types;
    size_t waiting_count;
    size_t waiting_capacity;
    uint32_t void_type; // TYPE_UNKNOWN_INDEX: not made yet
};

// type_dwarf_init makes dwarf ready to fill table; both must outlive it.
void type_dwarf_init(struct type_dwarf *types, Dwarf *dwarf, struct type_table *table);

// type_dwarf_deinit frees what types holds, and not the table.
void type_dwarf_deinit(struct type_dwarf *types);

// type_dwarf_add adds the type that the entry die is, or the one of the function it is.
CH_CHECKED enum ch_status type_dwarf_add(struct type_dwarf *types, Dwarf_Die *die,
                                         uint32_t *out_index);

// type_dwarf_add_type_of adds the type that die has, void where it has none.
CH_CHECKED enum ch_status type_dwarf_add_type_of(struct type_dwarf *types,
                                                 Dwarf_Die *die, uint32_t *out_index);

// type_dwarf_add_unit adds the types, functions and variables of one unit; where name
// is not NULL, those alone that have it, written without `struct` and the like.
CH_CHECKED enum ch_status type_dwarf_add_unit(struct type_dwarf *types, Dwarf_Die *unit,
                                              const char *name);

// type_dwarf_add_all adds the types, functions and variables of all units; where name
// is not NULL, those alone that have it, written without `struct` and the like.
CH_CHECKED enum ch_status type_dwarf_add_all(struct type_dwarf *types,
                                             const char *name);
