// SPDX-License-Identifier: Apache-2.0
//
// C types from DWARF: the requested entries become part of a table, with what they
// refer to, as far as that is asked for. What is asked for later is added.
//
// Only what is requested is read: debug information of a large program has millions of
// types. An entry that contradicts itself becomes the unknown type with its name, and
// the others stay.
#pragma once
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/status.h"
#include "symbolizer/types/type_table.h"

// type_dwarf_part is how much of an entry is read, and of what it refers to.
enum type_dwarf_part {
    TYPE_DWARF_NAME,  // what its name and size need: not its members
    TYPE_DWARF_VALUE, // what a value of it shows: of what a pointer leads to, its name
    TYPE_DWARF_WHOLE, // everything
};

// type_dwarf_basic is a type of C that may be needed where no debug information has it.
enum type_dwarf_basic {
    TYPE_DWARF_VOID,
    TYPE_DWARF_CHAR,
    TYPE_DWARF_NUMBER,  // unsigned int
    TYPE_DWARF_ADDRESS, // void *
    TYPE_DWARF_TEXT,    // char *
    TYPE_DWARF_BASICS
};

// A type_dwarf_entry maps an entry, by its address, to the type that it became.
struct type_dwarf_entry {
    void *die; // NULL: unused
    uint32_t type;
    enum type_dwarf_part part; // that was read, or is waiting to be
};

struct type_dwarf {
    Dwarf *dwarf;
    struct type_table *table;
    // find_definition finds the definition of a class in another unit than that which
    // declares it. NULL: none is looked for.
    bool (*find_definition)(void *context, const Dwarf_Die *declared, Dwarf_Die *out);
    void *context;
    struct type_dwarf_entry *entries; // open addressing, by hash of die
    size_t entry_count;
    size_t entry_capacity;
    struct type_dwarf_waiting {
        Dwarf_Die die;
        uint32_t index; // in the table
        enum type_dwarf_part part;
    } * waiting; // entries not read yet
    size_t waiting_count;
    size_t waiting_capacity;
    uint32_t *again; // those that had been read in part before
    size_t again_count;
    size_t again_capacity;
    uint32_t basics[TYPE_DWARF_BASICS]; // TYPE_UNKNOWN_INDEX: not created yet
    Dwarf_Die *dies;                    // by type: the entry that it was read from
    size_t die_count;
    size_t die_capacity;
    struct type_dwarf_go { // a type that Go describes at an offset from go_base
        uint64_t offset;
        Dwarf_Die die;
    } * go; // by offset; see type_runtime.h
    size_t go_count;
    size_t go_capacity;
    uint64_t go_base;
    bool go_read;
};

// type_dwarf_init prepares types to fill table from dwarf; both must outlive it.
void type_dwarf_init(struct type_dwarf *types, Dwarf *dwarf, struct type_table *table);

// type_dwarf_deinit frees what types holds, but not the table.
void type_dwarf_deinit(struct type_dwarf *types);

// type_dwarf_add_type_of adds a part of the type that die has, or void if it has none.
// In C++ a pointer to one class leads to hundreds of others.
CH_CHECKED enum ch_status type_dwarf_add_type_of(struct type_dwarf *types,
                                                 Dwarf_Die *die,
                                                 enum type_dwarf_part part,
                                                 uint32_t *out_index);

// type_dwarf_add_entry adds a part of the type that the entry die is, or of the type of
// the function that it is.
CH_CHECKED enum ch_status type_dwarf_add_entry(struct type_dwarf *types, Dwarf_Die *die,
                                               enum type_dwarf_part part,
                                               uint32_t *out_index);

// type_dwarf_add_basic adds a basic type of C, once.
CH_CHECKED enum ch_status type_dwarf_add_basic(struct type_dwarf *types,
                                               enum type_dwarf_basic basic,
                                               uint32_t *out_index);

// type_dwarf_complete reads what a value of a type in the table shows, if only its name
// was read so far. Types may move in the table.
void type_dwarf_complete(struct type_dwarf *types, uint32_t index);

// type_dwarf_add_unit adds the types, functions and variables of one unit; if name is
// not NULL, only those of that name, which has no keyword such as `struct`.
CH_CHECKED enum ch_status type_dwarf_add_unit(struct type_dwarf *types, Dwarf_Die *unit,
                                              const char *name);

// type_dwarf_add_all adds the types, functions and variables of all units; if name is
// not NULL, only those of that name, which has no keyword such as `struct`.
CH_CHECKED enum ch_status type_dwarf_add_all(struct type_dwarf *types,
                                             const char *name);
