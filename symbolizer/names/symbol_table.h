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
#include "symbolizer/files/debug_elf.h"

// An address_list is a growing array of addresses, sorted once: every address at which
// the names in an image may change, collected from everything that was read of it.

struct address_list {
    uint64_t *items;
    size_t count;
    size_t capacity;
};

// address_list_add appends one address.
CH_CHECKED enum ch_status address_list_add(struct address_list *list, uint64_t address);

// address_list_sort sorts the addresses and removes duplicates.
void address_list_sort(struct address_list *list);

// address_list_deinit frees what list holds; a zeroed one is empty.
void address_list_deinit(struct address_list *list);

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

// symbol_table_has returns true if a function of that name, of a size that is known,
// contains vaddr. It reads the file's symbols through and needs no table.
bool symbol_table_has(const struct debug_elf *file, uint64_t vaddr, const char *name);

// symbol_table_edges adds the starts of symbols and the ends of what they cover.
CH_CHECKED enum ch_status symbol_table_edges(const struct symbol_table *table,
                                             struct address_list *out);

// symbol_table_deinit frees what table holds; a zeroed one is empty.
void symbol_table_deinit(struct symbol_table *table);

// SYMBOL_SLICES is into how many slices the text is cut at most.
enum { SYMBOL_SLICES = 4096 };

// symbol_names is the names of a section of symbols: to ask libelf for each of them
// takes longer than all the rest.
struct symbol_names {
    const char *bytes;
    size_t size; // up to the end of the last whole name
};

// A symbol_places finds the functions of one file at few addresses: to sort the symbols
// of a large library takes much longer. It keeps their numbers by slices of the text,
// and looks at the symbols and names of the slices that it needs.
struct symbol_places {
    Elf *elf;          // borrowed, like its bytes and names
    const char *bytes; // the symbols
    struct symbol_names names;
    uint64_t text[2];
    unsigned shift;    // the logarithm of a slice's bytes
    uint32_t *ends;    // of each slice, in numbers
    uint32_t *numbers; // of symbols
};

// symbol_places_read reads the functions in text of file's .symtab, of its .dynsym if
// that has none. CH_ERR_NOT_FOUND: neither has one.
CH_CHECKED enum ch_status symbol_places_read(struct symbol_places *out,
                                             const struct debug_elf *file,
                                             const uint64_t text[2]);

// symbol_places_find gives what symbol_table_find gives with the same symbols. False:
// no function contains vaddr.
bool symbol_places_find(const struct symbol_places *places, uint64_t vaddr,
                        struct symbol *out);

// symbol_places_deinit frees what places holds; a zeroed one is empty.
void symbol_places_deinit(struct symbol_places *places);
