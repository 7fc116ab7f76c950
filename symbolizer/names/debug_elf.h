// SPDX-License-Identifier: Apache-2.0
//
// A debug_elf is an ELF file opened by libelf, from disk or from memory, and the few
// facts of it that finding names needs: its build ID, where it is linked to, where its
// code lies. Only regular files are opened: a path in a report may name anything.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gelf.h>

#include "base/status.h"
#include "symbolizer/names/debug_search.h"

struct debug_elf {
    Elf *elf;    // NULL: not open
    int fd;      // -1: it is in memory
    void *bytes; // what it reads when it is in memory, owned
};

// debug_elf_open opens the ELF file at path. CH_ERR_NOT_FOUND: there is no such regular
// file. CH_ERR_MALFORMED: it is no ELF file of this machine's kind.
CH_CHECKED enum ch_status debug_elf_open(struct debug_elf *out, const char *path);

// debug_elf_adopt opens the ELF file that fd is open on, and takes that over, also on
// failure.
CH_CHECKED enum ch_status debug_elf_adopt(struct debug_elf *out, int fd);

// debug_elf_over opens the size bytes at bytes, which it takes over and frees, also on
// failure.
CH_CHECKED enum ch_status debug_elf_over(struct debug_elf *out, void *bytes,
                                         size_t size);

// debug_elf_close closes file; a zeroed one is closed.
void debug_elf_close(struct debug_elf *file);

// debug_elf_build_id is the build ID of file, of size 0 when it has none.
struct build_id debug_elf_build_id(const struct debug_elf *file);

// debug_elf_layout stores the lowest page-aligned address file is linked to, and the
// first and one past the last address of its code. CH_ERR_MALFORMED: it loads nothing.
CH_CHECKED enum ch_status debug_elf_layout(const struct debug_elf *file,
                                           uint64_t *out_base, uint64_t out_text[2]);

// debug_elf_find_section finds the section called name, and gives its header. NULL:
// there is none.
Elf_Scn *debug_elf_find_section(const struct debug_elf *file, const char *name,
                                GElf_Shdr *out);

// debug_elf_section is the data of the section called name, or NULL.
Elf_Data *debug_elf_section(const struct debug_elf *file, const char *name);

// debug_elf_has_dwarf is true when file carries entries of debug information itself.
bool debug_elf_has_dwarf(const struct debug_elf *file);

// debug_elf_hide_locations keeps the places of variables from libdw, which decompresses
// every section that it finds: they are large, and no name depends on them.
void debug_elf_hide_locations(const struct debug_elf *file);
