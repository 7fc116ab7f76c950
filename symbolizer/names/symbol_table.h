// SPDX-License-Identifier: Apache-2.0
//
// A symbol_table is the functions of ELF symbol tables, sorted by address once. Several
// tables are merged: what a stripped library still exports, and what its minidebuginfo
// adds. Where names share an address, the one a person would call it by is kept: the
// fewest leading underscores, then global before weak before local.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/names/address_list.h"
#include "symbolizer/names/debug_elf.h"

struct symbol {
    uint64_t vaddr;
    uint64_t size;    // as its table says; 0: not known
    uint64_t reach;   // bytes it is believed for, unless another symbol comes before
    const char *name; // as the linker knows it; lives as long as its ELF file
    uint8_t binding;
};

struct symbol_table {
    struct symbol *symbols;
    size_t count;
    size_t capacity;
    uint64_t text[2];
};

// symbol_table_add takes in the functions of file's .symtab, or .dynsym. It must be
// followed by symbol_table_sort before anything is looked up.
CH_CHECKED enum ch_status symbol_table_add(struct symbol_table *table,
                                           const struct debug_elf *file, uint32_t type);

// symbol_table_sort orders the symbols and keeps one for each address.
void symbol_table_sort(struct symbol_table *table);

// symbol_table_find is the function that has vaddr, or NULL.
const struct symbol *symbol_table_find(const struct symbol_table *table,
                                       uint64_t vaddr);

// symbol_table_edges adds where symbols begin and where they stop being believed.
CH_CHECKED enum ch_status symbol_table_edges(const struct symbol_table *table,
                                             struct address_list *out);

// symbol_table_deinit frees what table holds; a zeroed one is empty.
void symbol_table_deinit(struct symbol_table *table);
