// SPDX-License-Identifier: Apache-2.0
//
// A debug_elf is an ELF file opened by libelf, from disk or from memory, and the few
// facts of it that symbolization needs: its build ID, its link address, the extent of
// its code. Only regular files are opened, as a path in a report may name anything.
#pragma once
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "symbolizer/search/debug_search.h"

struct debug_elf {
    Elf *elf;    // NULL: not open
    int fd;      // -1: it is in memory
    void *bytes; // owned; the file if it is in memory
};

// debug_elf_open opens the ELF file at path. CH_ERR_NOT_FOUND: there is no such regular
// file. CH_ERR_MALFORMED: not an ELF file of this machine's class and byte order.
CH_CHECKED enum ch_status debug_elf_open(struct debug_elf *out, const char *path);

// debug_elf_adopt opens the ELF file that fd is open on, which refers to no other
// files. It takes over fd, also on failure.
CH_CHECKED enum ch_status debug_elf_adopt(struct debug_elf *out, int fd);

// debug_elf_over opens the size bytes at bytes. It takes them over and frees them, also
// on failure.
CH_CHECKED enum ch_status debug_elf_over(struct debug_elf *out, void *bytes,
                                         size_t size);

// debug_elf_drop_pages unmaps the pages of file that were read, which are read again
// when they are used. It does nothing to a file that is not mapped.
void debug_elf_drop_pages(const struct debug_elf *file);

// debug_elf_detach closes the descriptor of file, which stays mapped.
void debug_elf_detach(struct debug_elf *file);

// debug_elf_close closes file; a zeroed one is closed.
void debug_elf_close(struct debug_elf *file);

// debug_elf_build_id gives the build ID of file, of size 0 if it has none.
struct build_id debug_elf_build_id(const struct debug_elf *file);

// debug_elf_layout stores the lowest page-aligned vaddr of file, and the first and one
// past the last vaddr of its code. CH_ERR_MALFORMED: it has nothing to load.
CH_CHECKED enum ch_status debug_elf_layout(const struct debug_elf *file,
                                           uint64_t *out_base, uint64_t out_text[2]);

// debug_elf_find_section finds the section called name, and gives its header. NULL:
// there is none.
Elf_Scn *debug_elf_find_section(const struct debug_elf *file, const char *name,
                                GElf_Shdr *out);

// debug_elf_section gives the data of the section called name, or NULL.
Elf_Data *debug_elf_section(const struct debug_elf *file, const char *name);

// debug_elf_has_dwarf returns true if file itself contains debug information entries.
bool debug_elf_has_dwarf(const struct debug_elf *file);

// debug_elf_hide_alternate hides from libdw which file has more debug information.
void debug_elf_hide_alternate(const struct debug_elf *file);

// debug_elf_hide_locations hides location lists from libdw, which decompresses every
// section it finds: they are large, and names do not depend on them.
void debug_elf_hide_locations(const struct debug_elf *file);

// The bytes of a debug file's sections, decompressed by libdw, as cursors: for the two
// parts of DWARF that are read here instead of by libdw, entries and line tables.

// dwarf_section gives the section of dwarf called name, such as `debug_line`; of a
// split file the `.dwo` one. If there is none, the cursor is empty.
struct cursor dwarf_section(Dwarf *dwarf, const char *name);

// dwarf_section_end gives the end of the section of entries that at points into, NULL
// if it points into none.
const uint8_t *dwarf_section_end(Dwarf *dwarf, const uint8_t *at);
