// SPDX-License-Identifier: Apache-2.0
//
// A symbol_table is the functions of ELF symbol tables, sorted by address. Several
// tables are merged: the symbols that a stripped library still exports, and those of
// its minidebuginfo. Where several names share an address, the one that people use is
// kept: the fewest leading underscores, then global before weak before local.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/names/address_list.h"
#include "symbolizer/names/debug_elf.h"

struct symbol {
    uint64_t vaddr;
    const char *name;    // the linker's name; lives as long as its ELF file
    uint64_t reach : 61; // bytes it covers, unless another symbol begins before
    uint64_t sized : 1;  // they are from its table
    uint64_t rank : 2;   // global, weak, local
};

// symbol_size gives the bytes that the file's table has for the symbol; 0: not known.
static inline uint64_t symbol_size(const struct symbol *symbol)
{
    return symbol->sized ? symbol->reach : 0;
}

struct symbol_table {
    struct symbol *symbols;
    size_t count;
    size_t capacity;
    uint64_t text[2];
};

// symbol_table_add adds the functions of file's .symtab or .dynsym. symbol_table_sort
// has to be called before the first lookup.
CH_CHECKED enum ch_status symbol_table_add(struct symbol_table *table,
                                           const struct debug_elf *file, uint32_t type);

// symbol_table_sort sorts the symbols and keeps one for each address.
void symbol_table_sort(struct symbol_table *table);

// symbol_table_find gives the function that contains vaddr, or NULL.
const struct symbol *symbol_table_find(const struct symbol_table *table,
                                       uint64_t vaddr);

// symbol_table_has says whether a function of that name, of a size that is known,
// contains vaddr. It reads the file's symbols through and needs no table.
bool symbol_table_has(const struct debug_elf *file, uint64_t vaddr, const char *name);

// symbol_table_edges adds the starts of symbols and the ends of what they cover.
CH_CHECKED enum ch_status symbol_table_edges(const struct symbol_table *table,
                                             struct address_list *out);

// symbol_table_deinit frees what table holds; a zeroed one is empty.
void symbol_table_deinit(struct symbol_table *table);
