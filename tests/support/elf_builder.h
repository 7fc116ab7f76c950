// SPDX-License-Identifier: Apache-2.0
//
// A small ELF file of either class and order: one note segment with a build ID and, if
// wanted, a package note; sections for it, for names, and for one of the test's own.
#pragma once
#include <stdio.h>
#include <string.h>

#include "support/byte_builder.h"

struct elf_builder {
    bool is_64;
    bool big_endian;
    uint16_t type;
    const char *section; // the name of the test's section
    uint32_t section_type;
    const void *bytes; // of the test's section
    size_t size;
    const char *package; // the JSON of its package note; NULL: it has none
    struct byte_builder out;
};

static inline void elf_builder_word(struct elf_builder *e, uint64_t value)
{
    byte_builder_uint(&e->out, value, e->is_64 ? 8 : 4);
}

static inline void elf_builder_section(struct elf_builder *e, uint32_t name,
                                       uint32_t type, size_t offset, size_t size)
{
    byte_builder_uint(&e->out, name, 4);
    byte_builder_uint(&e->out, type, 4);
    elf_builder_word(e, 0);               // flags
    elf_builder_word(e, 0x1000 + offset); // vaddr
    elf_builder_word(e, offset);
    elf_builder_word(e, size);
    byte_builder_uint(&e->out, 0, 4); // link
    byte_builder_uint(&e->out, 0, 4); // info
    elf_builder_word(e, 1);           // alignment
    elf_builder_word(e, 0);           // entry size
}

static inline void elf_builder_header(struct elf_builder *e, size_t sections_at)
{
    const uint8_t ident[16] = {
        0x7f, 'E', 'L', 'F', e->is_64 ? 2 : 1, e->big_endian ? 2 : 1, 1
    };
    e->out.size = 0;
    e->out.big_endian = e->big_endian;
    byte_builder_bytes(&e->out, ident, sizeof(ident));
    byte_builder_uint(&e->out, e->type, 2);
    byte_builder_uint(&e->out, 62, 2); // x86-64
    byte_builder_uint(&e->out, 1, 4);
    elf_builder_word(e, 0x1234); // entry
    elf_builder_word(e, e->is_64 ? 64 : 52);
    elf_builder_word(e, sections_at);
    byte_builder_uint(&e->out, 0, 4);
    byte_builder_uint(&e->out, e->is_64 ? 64 : 52, 2);
    byte_builder_uint(&e->out, e->is_64 ? 56 : 32, 2);
    byte_builder_uint(&e->out, 1, 2); // segments
    byte_builder_uint(&e->out, e->is_64 ? 64 : 40, 2);
    byte_builder_uint(&e->out, 4, 2); // sections
    byte_builder_uint(&e->out, 2, 2); // the names' section
}

static inline void elf_builder_segment(struct elf_builder *e, size_t offset,
                                       size_t size)
{
    byte_builder_uint(&e->out, 4, 4); // PT_NOTE
    if (e->is_64)
        byte_builder_uint(&e->out, 4, 4);
    elf_builder_word(e, offset);
    elf_builder_word(e, 0x1000 + offset);
    elf_builder_word(e, 0);
    elf_builder_word(e, size);
    elf_builder_word(e, size);
    if (!e->is_64)
        byte_builder_uint(&e->out, 4, 4);
    elf_builder_word(e, 4);
}

// elf_builder_build makes the file in e->out. Its build ID is 01 02 03 04.
static inline void elf_builder_build(struct elf_builder *e)
{
    char names[64] = "\0.note\0.names\0";
    const size_t own_name = 14;
    snprintf(names + own_name, sizeof(names) - own_name, "%s", e->section);
    size_t note_at = e->is_64 ? 64 + 56 : 52 + 32;
    size_t package_size = e->package != NULL ? (strlen(e->package) + 4) / 4 * 4 : 0;
    size_t note_size = 20 + (package_size != 0 ? 16 + package_size : 0);
    size_t names_at = note_at + note_size;
    size_t own_at = names_at + sizeof(names);

    elf_builder_header(e, own_at + e->size);
    elf_builder_segment(e, note_at, note_size);
    byte_builder_uint(&e->out, 4, 4);
    byte_builder_uint(&e->out, 4, 4);
    byte_builder_uint(&e->out, 3, 4); // NT_GNU_BUILD_ID
    byte_builder_bytes(&e->out, "GNU\0\1\2\3\4", 8);
    if (package_size != 0) {
        static const uint8_t padding[4];
        byte_builder_uint(&e->out, 4, 4);
        byte_builder_uint(&e->out, strlen(e->package) + 1, 4);
        byte_builder_uint(&e->out, 0xcafe1a7e, 4); // of FDO: a package
        byte_builder_bytes(&e->out, "FDO", 4);
        byte_builder_bytes(&e->out, e->package, strlen(e->package));
        byte_builder_bytes(&e->out, padding, package_size - strlen(e->package));
    }
    byte_builder_bytes(&e->out, names, sizeof(names));
    byte_builder_bytes(&e->out, e->bytes, e->size);
    elf_builder_section(e, 0, 0, 0, 0);
    elf_builder_section(e, 1, 7, note_at, note_size);
    elf_builder_section(e, 7, 3, names_at, sizeof(names));
    elf_builder_section(e, own_name, e->section_type, own_at, e->size);
}
