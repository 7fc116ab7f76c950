// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/elf.h"

enum {
    CLASS_32 = 1,
    CLASS_64 = 2,
    ORDER_LITTLE = 1,
    ORDER_BIG = 2,
    VERSION = 1,
    IDENT_SIZE = 16,
    MANY_SEGMENTS = 0xffff,     // PN_XNUM: section 0 has the count
    SECTION_ELSEWHERE = 0xffff, // SHN_XINDEX: section 0 has the index
    SEGMENT_32_SIZE = 32,
    SECTION_32_SIZE = 40,
    SECTION_64_SIZE = 64,
    NAME_MAX_SIZE = 256,   // longer section names are not read
    NOTES_MAX = 4096,      // examined in one segment
    NOTE_SEGMENTS_MAX = 64 // examined in one file
};

static uint64_t elf_read_word(struct cursor *c, bool is_64)
{
    return is_64 ? cursor_u64(c) : cursor_u32(c);
}

enum ch_status elf_read_header(const void *bytes, size_t size, struct elf_header *out)
{
    static const uint8_t magic[4] = { 0x7f, 'E', 'L', 'F' };
    struct cursor c = cursor_over(bytes, size);
    const uint8_t *ident = cursor_take(&c, IDENT_SIZE);
    if (ident == NULL)
        return CH_ERR_TRUNCATED;
    if (memcmp(ident, magic, sizeof(magic)) != 0)
        return CH_ERR_MALFORMED;
    if ((ident[4] != CLASS_32 && ident[4] != CLASS_64) ||
        (ident[5] != ORDER_LITTLE && ident[5] != ORDER_BIG) || ident[6] != VERSION)
        return CH_ERR_UNSUPPORTED;

    struct elf_header header = { .is_64 = ident[4] == CLASS_64,
                                 .big_endian = ident[5] == ORDER_BIG };
    c.big_endian = header.big_endian;
    header.type = cursor_u16(&c);
    header.machine = cursor_u16(&c);
    cursor_skip(&c, 4); // e_version
    header.entry = elf_read_word(&c, header.is_64);
    header.segment_offset = elf_read_word(&c, header.is_64);
    header.section_offset = elf_read_word(&c, header.is_64);
    cursor_skip(&c, 6); // e_flags, e_ehsize
    header.segment_size = cursor_u16(&c);
    header.segment_count = cursor_u16(&c);
    header.section_size = cursor_u16(&c);
    header.section_count = cursor_u16(&c);
    header.section_names = cursor_u16(&c);
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;
    *out = header;
    return CH_OK;
}

static enum ch_status read_segment(struct cursor c, bool is_64, struct elf_segment *out)
{
    struct elf_segment segment = { .type = cursor_u32(&c) };
    if (is_64)
        segment.flags = cursor_u32(&c);
    segment.offset = elf_read_word(&c, is_64);
    segment.vaddr = elf_read_word(&c, is_64);
    (void)elf_read_word(&c, is_64); // p_paddr
    segment.file_size = elf_read_word(&c, is_64);
    segment.memory_size = elf_read_word(&c, is_64);
    if (!is_64)
        segment.flags = cursor_u32(&c);
    segment.align = elf_read_word(&c, is_64);
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;
    *out = segment;
    return CH_OK;
}

enum ch_status elf_read_segment(const struct elf_header *header, const void *table,
                                size_t size, uint32_t index, struct elf_segment *out)
{
    if (index >= header->segment_count)
        return CH_ERR_NOT_FOUND;
    struct cursor c = cursor_over(table, size);
    c.big_endian = header->big_endian;
    cursor_seek(&c, (size_t)index * header->segment_size);
    return read_segment(c, header->is_64, out);
}

// skip_padding moves to the next multiple of align from the cursor's first byte. The
// padding of the last note may be missing.
static void skip_padding(struct cursor *c, size_t align)
{
    size_t padding = (align - cursor_offset(c) % align) % align;
    cursor_skip(c, padding < cursor_left(c) ? padding : cursor_left(c));
}

enum ch_status elf_next_note(struct cursor *notes, uint64_t align, struct elf_note *out)
{
    if (cursor_ok(notes) && cursor_left(notes) == 0)
        return CH_END;

    size_t padding = align == 8 ? 8 : 4;
    uint32_t name_size = cursor_u32(notes);
    uint32_t description_size = cursor_u32(notes);
    struct elf_note note = { .type = cursor_u32(notes) };
    note.name = (const char *)cursor_take(notes, name_size);
    note.name_size = name_size;
    skip_padding(notes, padding);
    note.description = cursor_take(notes, description_size);
    note.description_size = description_size;
    skip_padding(notes, padding);
    if (!cursor_ok(notes))
        return CH_ERR_TRUNCATED;
    *out = note;
    return CH_OK;
}

enum ch_status elf_find_build_id(struct cursor notes, uint64_t align,
                                 const uint8_t **out, size_t *out_size)
{
    enum { NT_GNU_BUILD_ID = 3 };
    struct elf_note note;
    for (int i = 0; i < NOTES_MAX; i++) {
        if (elf_next_note(&notes, align, &note) != CH_OK)
            return CH_ERR_NOT_FOUND;
        if (note.type != NT_GNU_BUILD_ID || note.name_size != 4 || note.name == NULL ||
            memcmp(note.name, "GNU", 4) != 0 || note.description_size == 0)
            continue;
        *out = note.description;
        *out_size = note.description_size;
        return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

struct cursor elf_view_cursor(const struct elf_view *file, uint64_t offset,
                              uint64_t size)
{
    struct cursor c = cursor_over(file->bytes, file->size);
    c.big_endian = file->header.big_endian;
    if (offset > file->size || size > file->size - offset) {
        cursor_poison(&c);
        return c;
    }
    cursor_seek(&c, (size_t)offset);
    return cursor_child(&c, (size_t)size);
}

enum ch_status elf_view_segment(const struct elf_view *file, uint32_t index,
                                struct elf_segment *out)
{
    const struct elf_header *header = &file->header;
    if (index >= header->segment_count)
        return CH_ERR_NOT_FOUND;
    size_t size = header->is_64 ? ELF_SEGMENT_SIZE : SEGMENT_32_SIZE;
    if (header->segment_size < size)
        return CH_ERR_MALFORMED;
    // The product is exact, because both factors are small. A sum that wraps is at
    // worst another offset inside the file.
    uint64_t offset = header->segment_offset + (uint64_t)index * header->segment_size;
    struct cursor c = elf_view_cursor(file, offset, size);
    return read_segment(c, header->is_64, out);
}

enum ch_status elf_view_find_segment(const struct elf_view *file, uint32_t type,
                                     struct elf_segment *out)
{
    struct elf_segment segment;
    for (uint32_t i = 0; i < file->header.segment_count; i++) {
        enum ch_status status = elf_view_segment(file, i, &segment);
        if (status != CH_OK)
            return status;
        if (segment.type != type)
            continue;
        *out = segment;
        return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

// elf_read_section reads a section header; out_name is the offset of its name.
static enum ch_status elf_read_section(const struct elf_view *file, uint32_t index,
                                       struct elf_section *out, uint32_t *out_name)
{
    const struct elf_header *header = &file->header;
    bool is_64 = header->is_64;
    size_t size = is_64 ? SECTION_64_SIZE : SECTION_32_SIZE;
    if (header->section_size < size)
        return CH_ERR_MALFORMED;
    uint64_t offset = header->section_offset + (uint64_t)index * header->section_size;
    struct cursor c = elf_view_cursor(file, offset, size);

    uint32_t name = cursor_u32(&c);
    struct elf_section section = { .name = "", .type = cursor_u32(&c) };
    section.flags = elf_read_word(&c, is_64);
    section.vaddr = elf_read_word(&c, is_64);
    section.offset = elf_read_word(&c, is_64);
    section.size = elf_read_word(&c, is_64);
    section.link = cursor_u32(&c);
    section.info = cursor_u32(&c);
    (void)elf_read_word(&c, is_64); // sh_addralign
    section.entry_size = elf_read_word(&c, is_64);
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;
    *out = section;
    *out_name = name;
    return CH_OK;
}

// read_large_counts takes the counts that do not fit the header's 16 bits from section
// 0.
static void read_large_counts(struct elf_view *file)
{
    struct elf_header *header = &file->header;
    struct elf_section zero;
    uint32_t name;
    if (header->section_offset == 0 || elf_read_section(file, 0, &zero, &name) != CH_OK)
        return;
    if (header->segment_count == MANY_SEGMENTS)
        header->segment_count = zero.info;
    if (header->section_count == 0 && zero.size <= UINT32_MAX)
        header->section_count = (uint32_t)zero.size;
    if (header->section_names == SECTION_ELSEWHERE)
        header->section_names = zero.link;
}

enum ch_status elf_view_init(struct elf_view *file, const void *bytes, size_t size)
{
    *file = (struct elf_view){ .bytes = bytes, .size = size };
    enum ch_status status = elf_read_header(bytes, size, &file->header);
    if (status != CH_OK)
        return status;
    read_large_counts(file);
    return CH_OK;
}

static const char *section_name(const struct elf_view *file, uint32_t offset)
{
    struct elf_section names;
    uint32_t unused;
    uint32_t index = file->header.section_names;
    if (index >= file->header.section_count ||
        elf_read_section(file, index, &names, &unused) != CH_OK)
        return "";
    struct cursor c = elf_section_cursor(file, &names);
    cursor_seek(&c, offset);
    size_t left = cursor_left(&c);
    c = cursor_child(&c, left < NAME_MAX_SIZE ? left : NAME_MAX_SIZE);
    const char *name = cursor_string(&c);
    return name != NULL ? name : "";
}

enum ch_status elf_view_section(const struct elf_view *file, uint32_t index,
                                struct elf_section *out)
{
    if (index >= file->header.section_count)
        return CH_ERR_NOT_FOUND;
    uint32_t name;
    enum ch_status status = elf_read_section(file, index, out, &name);
    if (status != CH_OK)
        return status;
    out->name = section_name(file, name);
    return CH_OK;
}

enum ch_status elf_view_find_section(const struct elf_view *file, const char *name,
                                     struct elf_section *out, uint32_t *out_index)
{
    struct elf_section section;
    for (uint32_t i = 0; i < file->header.section_count; i++) {
        enum ch_status status = elf_view_section(file, i, &section);
        if (status != CH_OK)
            return status;
        if (strcmp(section.name, name) != 0)
            continue;
        *out = section;
        if (out_index != NULL)
            *out_index = i;
        return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

struct cursor elf_section_cursor(const struct elf_view *file,
                                 const struct elf_section *section)
{
    if (section->type == ELF_SHT_NOBITS)
        return elf_view_cursor(file, 0, 0);
    return elf_view_cursor(file, section->offset, section->size);
}

static enum ch_status build_id_of_sections(const struct elf_view *file,
                                           const uint8_t **out, size_t *out_size)
{
    struct elf_section section;
    int tried = 0;
    for (uint32_t i = 0; elf_view_section(file, i, &section) == CH_OK; i++) {
        if (section.type != ELF_SHT_NOTE || tried++ >= NOTE_SEGMENTS_MAX)
            continue;
        struct cursor notes = elf_section_cursor(file, &section);
        if (elf_find_build_id(notes, 4, out, out_size) == CH_OK)
            return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

enum ch_status elf_view_loaded_build_id(const struct elf_view *file,
                                        const uint8_t **out, size_t *out_size)
{
    struct elf_segment segment;
    int tried = 0;
    for (uint32_t i = 0; elf_view_segment(file, i, &segment) == CH_OK; i++) {
        if (segment.type != ELF_PT_NOTE || tried++ >= NOTE_SEGMENTS_MAX)
            continue;
        struct cursor notes = elf_view_cursor(file, segment.offset, segment.file_size);
        if (elf_find_build_id(notes, segment.align, out, out_size) == CH_OK)
            return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

enum ch_status elf_view_build_id(const struct elf_view *file, const uint8_t **out,
                                 size_t *out_size)
{
    if (elf_view_loaded_build_id(file, out, out_size) == CH_OK)
        return CH_OK;
    return build_id_of_sections(file, out, out_size);
}

enum ch_status elf_next_symbol(const struct elf_view *file, struct cursor *symbols,
                               struct elf_symbol *out)
{
    if (cursor_ok(symbols) && cursor_left(symbols) == 0)
        return CH_END;

    struct elf_symbol symbol = { .name = cursor_u32(symbols) };
    bool is_64 = file->header.is_64;
    if (!is_64) {
        symbol.value = cursor_u32(symbols);
        symbol.size = cursor_u32(symbols);
    }
    symbol.info = cursor_u8(symbols);
    cursor_skip(symbols, 1); // st_other
    symbol.section = cursor_u16(symbols);
    if (is_64) {
        symbol.value = cursor_u64(symbols);
        symbol.size = cursor_u64(symbols);
    }
    if (!cursor_ok(symbols))
        return CH_ERR_TRUNCATED;
    *out = symbol;
    return CH_OK;
}

enum ch_status elf_next_relocation(const struct elf_view *file, bool has_addend,
                                   struct cursor *relocations,
                                   struct elf_relocation *out)
{
    if (cursor_ok(relocations) && cursor_left(relocations) == 0)
        return CH_END;

    bool is_64 = file->header.is_64;
    struct elf_relocation entry = { .offset = elf_read_word(relocations, is_64) };
    uint64_t info = elf_read_word(relocations, is_64);
    entry.symbol = (uint32_t)(is_64 ? info >> 32 : info >> 8);
    entry.type = (uint32_t)(is_64 ? info : info & 0xff);
    if (has_addend)
        entry.addend =
            is_64 ? (int64_t)cursor_u64(relocations) : (int32_t)cursor_u32(relocations);
    if (!cursor_ok(relocations))
        return CH_ERR_TRUNCATED;
    *out = entry;
    return CH_OK;
}
