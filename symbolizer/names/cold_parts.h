// SPDX-License-Identifier: Apache-2.0
//
// Names for code that a compiler split off a function because it is rarely executed.
// gcc calls it `f.cold`, by a local symbol, which a stripped library lacks.
//
// Such a part has call frame information of its own, by which the stack is not as it is
// at a function's entry when the part begins: it is jumped to. It gets its name where
// all jumps to it are in one function that has a name. x86-64 only.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/files/debug_elf.h"
#include "symbolizer/names/symbol_table.h"
#include "unwind/cfi_index.h"

struct cold_part {
    uint64_t start;
    uint64_t end;
    uint64_t entry; // of its function
    char *raw_name; // NULL: not known whose it is
    char *function; // demangled; NULL: raw_name is not mangled
};

// A cold_parts is the parts of one file that were looked up so far.
struct cold_parts {
    struct cfi_index frames;
    bool indexed;
    uint64_t scanned_bytes; // of code, in all
    struct cold_part *parts;
    size_t count;
    size_t capacity;
};

// cold_parts_find gives the part of file at vaddr, which no symbol of table covers.
// NULL: there is none whose function is known. It is valid until the next call.
const struct cold_part *cold_parts_find(struct cold_parts *parts,
                                        const struct debug_elf *file,
                                        const struct symbol_table *table,
                                        uint64_t vaddr);

// cold_parts_deinit frees what parts holds; a zeroed one is empty.
void cold_parts_deinit(struct cold_parts *parts);
