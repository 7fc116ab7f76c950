// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/sframe_file.h"

// The alignment of concatenated sections.
enum { SECTION_ALIGN = 8 };

// find_sframe_section finds the section by its name or, as version 3 allows, by its
// type.
static enum ch_status find_sframe_section(const struct elf_view *elf,
                                          struct elf_section *out, uint32_t *out_index)
{
    enum ch_status status = elf_view_find_section(elf, ".sframe", out, out_index);
    if (status == CH_OK)
        return CH_OK;
    for (uint32_t i = 0; elf_view_section(elf, i, out) == CH_OK; i++) {
        *out_index = i;
        if (out->type == ELF_SHT_GNU_SFRAME)
            return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

// find_relocations finds the relocations that apply to section index, and their
// symbols.
static void find_relocations(struct sframe_file *file, uint32_t index)
{
    struct elf_section section;
    for (uint32_t i = 0; elf_view_section(&file->elf, i, &section) == CH_OK; i++) {
        bool has_addends = section.type == ELF_SHT_RELA;
        if (section.info != index || (!has_addends && section.type != ELF_SHT_REL))
            continue;
        if (elf_view_section(&file->elf, section.link, &file->symbols) != CH_OK)
            return;
        size_t entry = has_addends ? sizeof(uint64_t) * 3 : sizeof(uint64_t) * 2;
        entry = file->elf.header.is_64 ? entry : entry / 2;
        file->has_addends = has_addends;
        file->relocations = elf_section_cursor(&file->elf, &section);
        file->relocation_count = (uint32_t)(cursor_left(&file->relocations) / entry);
        return;
    }
}

// sframe_take_segment finds the section by the program header, for files without
// section headers.
static enum ch_status sframe_take_segment(struct sframe_file *file)
{
    struct elf_segment segment;
    enum ch_status status =
        elf_view_find_segment(&file->elf, ELF_PT_GNU_SFRAME, &segment);
    if (status != CH_OK)
        return CH_ERR_NOT_FOUND;
    file->bytes = elf_view_cursor(&file->elf, segment.offset, segment.file_size);
    file->vaddr = segment.vaddr;
    return cursor_ok(&file->bytes) ? CH_OK : CH_ERR_TRUNCATED;
}

enum ch_status sframe_file_init(struct sframe_file *file, const void *bytes,
                                size_t size)
{
    *file = (struct sframe_file){ .bytes = cursor_over(bytes, size) };
    struct sframe_section bare;
    if (sframe_section_init(&bare, bytes, size, 0) == CH_OK)
        return CH_OK;

    enum ch_status status = elf_view_init(&file->elf, bytes, size);
    if (status != CH_OK)
        return status;
    struct elf_section section;
    uint32_t index;
    if (find_sframe_section(&file->elf, &section, &index) != CH_OK ||
        section.type == ELF_SHT_NOBITS)
        return sframe_take_segment(file);

    file->bytes = elf_section_cursor(&file->elf, &section);
    file->vaddr = section.vaddr;
    file->relocatable = file->elf.header.type == ELF_REL;
    if (file->relocatable)
        find_relocations(file, index);
    return cursor_ok(&file->bytes) ? CH_OK : CH_ERR_TRUNCATED;
}

// sframe_is_code returns true if size bytes at vaddr lie in one executable segment.
static bool sframe_is_code(const struct elf_view *elf, uint64_t vaddr, uint32_t size)
{
    struct elf_segment segment;
    for (uint32_t i = 0; elf_view_segment(elf, i, &segment) == CH_OK; i++) {
        if (segment.type != ELF_PT_LOAD || !(segment.flags & ELF_PF_X) ||
            vaddr < segment.vaddr)
            continue;
        uint64_t offset = vaddr - segment.vaddr;
        if (offset <= segment.memory_size && size <= segment.memory_size - offset)
            return true;
    }
    return false;
}

// all_in_code returns true if every function lies in code if starts are relative to
// their fields.
static bool all_in_code(const struct sframe_file *file,
                        const struct sframe_section *section)
{
    enum { SEGMENTS_MAX = 64 }; // keeps functions times segments small
    if (file->elf.header.segment_count > SEGMENTS_MAX)
        return false;
    for (uint32_t i = 0; i < section->function_count; i++) {
        struct sframe_function function;
        if (sframe_read_function(section, i, &function) != CH_OK ||
            !sframe_is_code(&file->elf, function.start, function.size))
            return false;
    }
    return true;
}

enum ch_status sframe_file_next(const struct sframe_file *file, size_t *offset,
                                struct sframe_section *out)
{
    size_t size = (size_t)(file->bytes.end - file->bytes.begin);
    if (*offset >= size)
        return CH_END;

    struct sframe_section section;
    enum ch_status status = sframe_section_init(&section, file->bytes.begin + *offset,
                                                size - *offset, file->vaddr + *offset);
    if (status != CH_OK)
        return *offset == 0 ? status
                            : CH_END; // padding, or what the segment has too much
    bool linked = file->elf.bytes != NULL && !file->relocatable;
    if (linked && !sframe_section_usable(&section)) {
        section.field_starts = true;
        if (!all_in_code(file, &section))
            return CH_ERR_UNSUPPORTED;
    }
    size_t end = *offset + sframe_section_size(&section);
    *offset = (end + SECTION_ALIGN - 1) / SECTION_ALIGN * SECTION_ALIGN;
    *out = section;
    return CH_OK;
}

// relocation_at reads relocation index of the object.
static enum ch_status relocation_at(const struct sframe_file *file, uint32_t index,
                                    struct elf_relocation *out)
{
    struct cursor c = file->relocations;
    size_t entry = (size_t)(file->has_addends ? 3 : 2) *
                   (file->elf.header.is_64 ? sizeof(uint64_t) : sizeof(uint32_t));
    cursor_seek(&c, index * entry);
    return elf_next_relocation(&file->elf, file->has_addends, &c, out);
}

// find_relocation finds the relocation of the start field at offset, which is that of
// function index (UINT32_MAX: compare offsets only). They are sorted by offset. `ld -r`
// of binutils 2.40 leaves wrong offsets in them, but keeps one for each function, in
// the functions' order.
static enum ch_status find_relocation(const struct sframe_file *file, uint64_t offset,
                                      uint32_t index, struct elf_relocation *out)
{
    uint32_t low = 0;
    uint32_t high = file->relocation_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        enum ch_status status = relocation_at(file, middle, out);
        if (status != CH_OK || out->offset == offset)
            return status;
        if (out->offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (index >= file->relocation_count)
        return CH_ERR_NOT_FOUND;
    return relocation_at(file, index, out);
}

void sframe_file_start(const struct sframe_file *file,
                       const struct sframe_section *section, uint32_t index,
                       const struct sframe_function *function, struct sframe_start *out)
{
    *out = (struct sframe_start){ .known = true, .vaddr = function->start };
    if (!file->relocatable)
        return;

    struct elf_relocation relocation;
    struct elf_symbol symbol;
    struct elf_section code;
    out->known = false;
    uint64_t field = section->vaddr - file->vaddr + function->field_offset;
    bool one_each = file->relocation_count == section->function_count;
    if (find_relocation(file, field, one_each ? index : UINT32_MAX, &relocation) !=
        CH_OK)
        return;
    size_t entry = file->elf.header.is_64 ? 24 : 16;
    struct cursor symbols = elf_section_cursor(&file->elf, &file->symbols);
    cursor_seek(&symbols, relocation.symbol * entry);
    if (elf_next_symbol(&file->elf, &symbols, &symbol) != CH_OK ||
        elf_view_section(&file->elf, symbol.section, &code) != CH_OK)
        return;
    out->known = true;
    out->vaddr = symbol.value + (uint64_t)relocation.addend;
    out->section = code.name;
}
