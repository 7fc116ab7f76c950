// SPDX-License-Identifier: Apache-2.0
//
// ELF, as far as a crash reporter needs it. Both classes, both byte orders.
//
// There are two entry points. From a process's memory come the header and the program
// header table, each copied out first (elf_read_header, elf_read_segment,
// elf_next_note). A whole file in memory is an elf_view, which also finds sections by
// name. Nothing is copied and nothing is allocated: results point into the bytes given.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

// ELF_HEADER_SIZE is enough bytes for the header of either class.
#define ELF_HEADER_SIZE 64

// ELF_SEGMENT_SIZE is enough bytes for one program header of either class.
#define ELF_SEGMENT_SIZE 56

enum elf_type { ELF_REL = 1, ELF_EXEC = 2, ELF_DYN = 3, ELF_CORE = 4 };

enum elf_machine {
    ELF_386 = 3,
    ELF_S390 = 22,
    ELF_ARM = 40,
    ELF_X86_64 = 62,
    ELF_AARCH64 = 183,
    ELF_RISCV = 243,
};

enum elf_segment_type {
    ELF_PT_LOAD = 1,
    ELF_PT_DYNAMIC = 2,
    ELF_PT_INTERP = 3,
    ELF_PT_NOTE = 4,
    ELF_PT_PHDR = 6,
    ELF_PT_TLS = 7,
    ELF_PT_AARCH64_MEMTAG_MTE = 0x70000002, // of cores
    ELF_PT_GNU_EH_FRAME = 0x6474e550,
    ELF_PT_GNU_SFRAME = 0x6474e554,
};

enum elf_segment_flag { ELF_PF_X = 1, ELF_PF_W = 2, ELF_PF_R = 4 };

enum elf_section_type {
    ELF_SHT_PROGBITS = 1,
    ELF_SHT_SYMTAB = 2,
    ELF_SHT_STRTAB = 3,
    ELF_SHT_RELA = 4,
    ELF_SHT_NOTE = 7,
    ELF_SHT_NOBITS = 8,
    ELF_SHT_REL = 9,
    ELF_SHT_DYNSYM = 11,
    ELF_SHT_GNU_SFRAME = 0x6ffffff4,
};

enum elf_section_flag {
    ELF_SHF_ALLOC = 2,
    ELF_SHF_EXECINSTR = 4,
    ELF_SHF_COMPRESSED = 0x800,
};

struct elf_header {
    bool is_64;
    bool big_endian;
    uint16_t type;    // enum elf_type
    uint16_t machine; // enum elf_machine
    uint64_t entry;   // vaddr
    uint64_t segment_offset;
    uint32_t segment_count; // 0xffff: more, and elf_view_init knows how many
    uint16_t segment_size;
    uint64_t section_offset;
    uint32_t section_count;
    uint16_t section_size;
    uint32_t section_names; // index of the section that holds the names
};

struct elf_segment {
    uint32_t type;  // enum elf_segment_type
    uint32_t flags; // enum elf_segment_flag, or-ed
    uint64_t offset;
    uint64_t vaddr;
    uint64_t file_size;
    uint64_t memory_size;
    uint64_t align;
};

struct elf_section {
    const char *name; // "" where it cannot be read
    uint32_t type;    // enum elf_section_type
    uint64_t flags;   // enum elf_section_flag, or-ed
    uint64_t vaddr;
    uint64_t offset;
    uint64_t size;
    uint32_t link;
    uint32_t info;
    uint64_t entry_size;
};

struct elf_note {
    uint32_t type;
    const char *name; // name_size bytes, its NUL among them
    size_t name_size;
    const uint8_t *description;
    size_t description_size;
};

struct elf_symbol {
    uint32_t name; // offset in the string table
    uint8_t info;  // binding << 4 | type
    uint16_t section;
    uint64_t value;
    uint64_t size;
};

struct elf_relocation {
    uint64_t offset;
    uint32_t symbol;
    uint32_t type;
    int64_t addend; // 0 in a REL section
};

// An elf_view is a whole file's bytes, which must outlive it.
struct elf_view {
    const uint8_t *bytes;
    size_t size;
    struct elf_header header;
};

// elf_read_header reads the first bytes of a file or mapping. CH_ERR_MALFORMED: not
// ELF. CH_ERR_UNSUPPORTED: an unknown class, byte order or version.
CH_CHECKED enum ch_status elf_read_header(const void *bytes, size_t size,
                                          struct elf_header *out);

// elf_read_segment reads entry index of a program header table of size bytes, as loaded
// in a process's memory. CH_ERR_NOT_FOUND: the header counts no such entry.
CH_CHECKED enum ch_status elf_read_segment(const struct elf_header *header,
                                           const void *table, size_t size,
                                           uint32_t index, struct elf_segment *out);

// elf_next_note reads one note of a note segment or section, whose cursor has the
// file's byte order, and passes over it. align is the segment's alignment: 8 means 8,
// anything else 4. CH_END: there are no more.
CH_CHECKED enum ch_status elf_next_note(struct cursor *notes, uint64_t align,
                                        struct elf_note *out);

// elf_find_build_id looks for the GNU build ID among notes and gives its bytes.
CH_CHECKED enum ch_status elf_find_build_id(struct cursor notes, uint64_t align,
                                            const uint8_t **out, size_t *out_size);

// elf_view_init reads the header of a whole file.
CH_CHECKED enum ch_status elf_view_init(struct elf_view *file, const void *bytes,
                                        size_t size);

// elf_view_cursor gives a cursor in the file's byte order over size bytes at offset; it
// is poisoned where the file is shorter.
struct cursor elf_view_cursor(const struct elf_view *file, uint64_t offset,
                              uint64_t size);

// elf_view_segment gives program header index.
CH_CHECKED enum ch_status elf_view_segment(const struct elf_view *file, uint32_t index,
                                           struct elf_segment *out);

// elf_view_find_segment gives the first program header of the type.
CH_CHECKED enum ch_status elf_view_find_segment(const struct elf_view *file,
                                                uint32_t type, struct elf_segment *out);

// elf_view_section gives section header index.
CH_CHECKED enum ch_status elf_view_section(const struct elf_view *file, uint32_t index,
                                           struct elf_section *out);

// elf_view_find_section gives the first section called name and, where out_index is
// not NULL, its index.
CH_CHECKED enum ch_status elf_view_find_section(const struct elf_view *file,
                                                const char *name,
                                                struct elf_section *out,
                                                uint32_t *out_index);

// elf_section_cursor gives a cursor over a section's bytes: empty for NOBITS, poisoned
// where the file does not contain them.
struct cursor elf_section_cursor(const struct elf_view *file,
                                 const struct elf_section *section);

// elf_view_loaded_build_id finds the GNU build ID by program headers alone, as it is
// found in a process. Go 1.24 links programs whose ID only a section leads to.
CH_CHECKED enum ch_status elf_view_loaded_build_id(const struct elf_view *file,
                                                   const uint8_t **out,
                                                   size_t *out_size);

// elf_view_build_id finds the GNU build ID by program headers, else by sections.
CH_CHECKED enum ch_status elf_view_build_id(const struct elf_view *file,
                                            const uint8_t **out, size_t *out_size);

// elf_next_symbol reads one entry of a symbol table and passes over it.
CH_CHECKED enum ch_status elf_next_symbol(const struct elf_view *file,
                                          struct cursor *symbols,
                                          struct elf_symbol *out);

// elf_next_relocation reads one entry of a REL or RELA section and passes over it.
CH_CHECKED enum ch_status elf_next_relocation(const struct elf_view *file,
                                              bool has_addend,
                                              struct cursor *relocations,
                                              struct elf_relocation *out);
