// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/ctf_file.h"

#include <stdlib.h>
#include <string.h>

#define ARCHIVE_MAGIC 0x8b47f2a4d7623eebull

enum {
    ARCHIVE_HEADER_SIZE = 40,
    MEMBER_SIZE = 16,
    MAGIC_4 = 0xeb9f, // that of BTF
    MAGIC_4_SWAPPED = 0x9feb,
};

// init_section reads the section's header.
static enum ch_status init_section(struct ctf_file *file)
{
    struct cursor c = file->section;
    file->is_archive = cursor_u64_at(&c, 0) == ARCHIVE_MAGIC;
    file->count = 1;
    if (!file->is_archive)
        return CH_OK;
    cursor_skip(&c, 16); // magic, data model
    file->count = cursor_u64(&c);
    file->names = cursor_u64(&c);
    file->dicts = cursor_u64(&c);
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;
    if (file->count == 0)
        return CH_ERR_MALFORMED;
    if (file->count > cursor_left(&c) / MEMBER_SIZE)
        return CH_ERR_TRUNCATED;
    return file->count <= CTF_FILE_DICTS_MAX ? CH_OK : CH_ERR_LIMIT;
}

// is_bare returns true if bytes begin as a section does.
static bool is_bare(const void *bytes, size_t size)
{
    struct cursor c = cursor_over(bytes, size);
    if (cursor_u64_at(&c, 0) == ARCHIVE_MAGIC)
        return true;
    uint16_t magic = cursor_u16(&c);
    return cursor_ok(&c) &&
           (magic == 0xdff2 || magic == 0xf2df || magic == 0xcff1 || magic == 0xf1cf ||
            magic == MAGIC_4 || magic == MAGIC_4_SWAPPED);
}

enum ch_status ctf_file_init(struct ctf_file *file, const void *bytes, size_t size)
{
    *file = (struct ctf_file){ .section = cursor_over(bytes, size) };
    if (is_bare(bytes, size))
        return init_section(file);

    enum ch_status status = elf_view_init(&file->elf, bytes, size);
    if (status != CH_OK)
        return status;
    file->is_elf = true;
    struct elf_section section;
    if ((elf_view_find_section(&file->elf, ".ctf", &section, NULL) != CH_OK &&
         elf_view_find_section(&file->elf, ".SUNW_ctf", &section, NULL) != CH_OK) ||
        section.type == ELF_SHT_NOBITS)
        return CH_ERR_NOT_FOUND;
    file->section = elf_section_cursor(&file->elf, &section);
    file->section.big_endian = false; // archives are little-endian on every machine
    return cursor_ok(&file->section) ? init_section(file) : CH_ERR_TRUNCATED;
}

enum ch_status ctf_file_member(const struct ctf_file *file, uint64_t index,
                               struct ctf_member *out)
{
    if (index >= file->count)
        return CH_END;
    struct ctf_member member = { .name = ".ctf", .bytes = file->section };
    if (!file->is_archive) {
        *out = member;
        return CH_OK;
    }
    struct cursor c = file->section;
    uint64_t name;
    uint64_t dict;
    cursor_seek(&c, ARCHIVE_HEADER_SIZE + (size_t)index * MEMBER_SIZE);
    if (__builtin_add_overflow(cursor_u64(&c), file->names, &name) ||
        __builtin_add_overflow(cursor_u64(&c), file->dicts, &dict))
        return CH_ERR_MALFORMED;
    cursor_seek(&c, name);
    member.name = cursor_string(&c);
    cursor_seek(&c, dict);
    uint64_t size = cursor_u64(&c);
    if (!cursor_ok(&c) || size > cursor_left(&c))
        return CH_ERR_TRUNCATED;
    member.bytes = cursor_child(&c, (size_t)size);
    *out = member;
    return CH_OK;
}

bool ctf_file_is_version_4(const struct ctf_file *file)
{
    struct ctf_member first;
    if (ctf_file_member(file, 0, &first) != CH_OK)
        return false;
    first.bytes.big_endian = false;
    uint16_t magic = cursor_u16(&first.bytes);
    return magic == MAGIC_4 || magic == MAGIC_4_SWAPPED;
}

void ctf_file_outside(const struct ctf_file *file, bool dynamic,
                      struct ctf_outside *out)
{
    struct elf_section symbols;
    struct elf_section strings;
    *out = (struct ctf_outside){ .elf = file->is_elf ? &file->elf : NULL };
    if (!file->is_elf ||
        elf_view_find_section(&file->elf, dynamic ? ".dynsym" : ".symtab", &symbols,
                              NULL) != CH_OK ||
        elf_view_section(&file->elf, symbols.link, &strings) != CH_OK)
        return;
    out->symbols = elf_section_cursor(&file->elf, &symbols);
    out->strings = elf_section_cursor(&file->elf, &strings);
}

// gcc_order gives the order that a compiler writes whose line in .comment is
// "GCC: (Debian 14.2.0-19) 14.2.0". The snapshots before 14.1 have either order (GCC's
// bug 114186).
static enum ctf_order gcc_order(const char *line)
{
    const char *version = strstr(line, ") ");
    char *end;
    while (version != NULL && (version[2] < '0' || version[2] > '9'))
        version = strstr(version + 1, ") ");
    if (version == NULL)
        return CTF_ORDER_UNKNOWN;
    unsigned long major = strtoul(version + 2, &end, 10);
    if (major == 0 || end[0] != '.' || (major == 14 && strncmp(end, ".0.", 3) == 0))
        return CTF_ORDER_UNKNOWN;
    return major < 14 ? CTF_ORDER_REVERSED : CTF_ORDER_OF_C;
}

enum ctf_order ctf_elf_order(const struct elf_view *elf, enum ctf_order otherwise)
{
    static const char gcc[] = "GCC: (";
    struct elf_section section;
    enum ctf_order order = otherwise;
    bool first = true;
    if (elf_view_find_section(elf, ".comment", &section, NULL) != CH_OK)
        return otherwise;
    struct cursor c = elf_section_cursor(elf, &section);
    while (cursor_left(&c) != 0) {
        const char *line = cursor_string(&c);
        if (!cursor_ok(&c))
            return CTF_ORDER_UNKNOWN;
        if (strncmp(line, gcc, strlen(gcc)) != 0)
            continue; // another compiler's or a linker's
        if (!first && gcc_order(line) != order)
            return CTF_ORDER_UNKNOWN;
        order = gcc_order(line);
        first = false;
    }
    return order;
}

enum ctf_order ctf_file_order(const struct ctf_file *file)
{
    // Other compilers write no CTF.
    return file->is_elf ? ctf_elf_order(&file->elf, CTF_ORDER_UNKNOWN)
                        : CTF_ORDER_UNKNOWN;
}
