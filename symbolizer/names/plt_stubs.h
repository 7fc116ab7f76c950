// SPDX-License-Identifier: Apache-2.0
//
// The stubs of a procedure linkage table (PLT): each jumps to a function of another
// image, or to one that is chosen at the start, through a slot of the global offset
// table. Linkers write no symbols for them, so a stub is named after the relocation of
// its slot: `strtol@plt`, as objdump and gdb do. x86-64 and AArch64; any linker.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/files/debug_elf.h"
#include "symbolizer/names/symbol_table.h"

struct plt_stub {
    uint64_t start;
    uint64_t end;
    char *raw_name; // the linker's name of the function, and "@plt"
    char *function; // demangled; NULL: raw_name is not mangled
};

struct plt_stubs {
    struct plt_stub *items; // by start
    size_t count;
    size_t capacity;
};

// plt_stubs_read finds the stubs of file. table names functions that are chosen at the
// start. Stubs that cannot be decoded, and all if memory is short, are left out.
void plt_stubs_read(struct plt_stubs *out, const struct debug_elf *file,
                    const struct symbol_table *table);

// plt_stubs_find gives the stub that contains vaddr, or NULL.
const struct plt_stub *plt_stubs_find(const struct plt_stubs *stubs, uint64_t vaddr);

// plt_stubs_deinit frees what stubs holds; zeroed ones are empty.
void plt_stubs_deinit(struct plt_stubs *stubs);
