// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi_index.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"

// cfi_index_read_at reads the entry at offset.
static enum ch_status cfi_index_read_at(const struct cfi_index *index, uint64_t offset,
                                        struct cfi_entry *out)
{
    struct cursor c = cursor_over(index->bytes, index->size);
    c.big_endian = index->section.big_endian;
    if (offset > index->size)
        return CH_ERR_MALFORMED;
    cursor_seek(&c, (size_t)offset);
    return cfi_next_entry(&index->section, &c, index->section.address + offset, out);
}

// read_cie reads the CIE at address, which is inside the section.
static enum ch_status read_cie(const struct cfi_index *index, uint64_t address,
                               struct cfi_cie *out)
{
    struct cfi_entry entry;
    enum ch_status status =
        cfi_index_read_at(index, address - index->section.address, &entry);
    if (status == CH_END)
        return CH_ERR_MALFORMED;
    return status == CH_OK ? cfi_read_cie(&index->section, &entry, out) : status;
}

static bool cfi_index_add(struct cfi_index *index, const struct cfi_fde *fde,
                          uint64_t address)
{
    if (!array_reserve(&index->entries, &index->capacity, index->count,
                       sizeof(index->entries[0])))
        return false;
    index->entries[index->count++] =
        (struct cfi_index_entry){ fde->start, fde->end,
                                  address - index->section.address };
    return true;
}

static int cfi_index_by_start(const void *a, const void *b)
{
    const struct cfi_index_entry *one = a;
    const struct cfi_index_entry *other = b;
    return (one->start > other->start) - (one->start < other->start);
}

// index_entries adds every FDE that can be read. The last CIE is cached, because
// neighbouring FDEs mostly share theirs.
static enum ch_status index_entries(struct cfi_index *index)
{
    struct cursor c = cursor_over(index->bytes, index->size);
    struct cfi_entry entry;
    struct cfi_cie cie;
    struct cfi_fde fde;
    uint64_t cie_address = 0;
    bool have_cie = false;
    c.big_endian = index->section.big_endian;

    for (;;) {
        uint64_t address = index->section.address + cursor_offset(&c);
        enum ch_status status = cfi_next_entry(&index->section, &c, address, &entry);
        // A section linked from several objects may have terminators in its middle.
        if (status == CH_END && cursor_left(&c) != 0)
            continue;
        if (status != CH_OK)
            return CH_OK;
        if (entry.is_cie)
            continue;
        if (!have_cie || cie_address != entry.cie)
            have_cie = read_cie(index, entry.cie, &cie) == CH_OK;
        cie_address = entry.cie;
        if (have_cie && cfi_read_fde(&index->section, &entry, &cie, &fde) == CH_OK &&
            fde.start < fde.end && !cfi_index_add(index, &fde, address))
            return CH_ERR_NO_MEMORY;
    }
}

enum ch_status cfi_index_init(struct cfi_index *index,
                              const struct cfi_section *section, const void *bytes,
                              size_t size)
{
    *index = (struct cfi_index){ .section = *section, .bytes = bytes, .size = size };
    enum ch_status status = index_entries(index);
    if (status != CH_OK) {
        cfi_index_deinit(index);
        return status;
    }
    if (index->count != 0)
        qsort(index->entries, index->count, sizeof(*index->entries),
              cfi_index_by_start);
    return CH_OK;
}

void cfi_index_deinit(struct cfi_index *index)
{
    free(index->entries);
    *index = (struct cfi_index){ 0 };
}

enum ch_status cfi_index_find(const struct cfi_index *index,
                              const struct cfi_processor *processor, uint64_t pc,
                              struct unwind_row *out)
{
    struct cfi_entry entry;
    struct cfi_cie cie;
    struct cfi_fde fde;
    size_t after = SORTED_UP_TO(index->entries, index->count, start, pc);
    if (after == 0 || pc >= index->entries[after - 1].end)
        return CH_ERR_NOT_FOUND;

    enum ch_status status =
        cfi_index_read_at(index, index->entries[after - 1].offset, &entry);
    if (status == CH_OK)
        status = read_cie(index, entry.cie, &cie);
    if (status == CH_OK)
        status = cfi_read_fde(&index->section, &entry, &cie, &fde);
    if (status == CH_OK)
        status = cfi_find_row(&index->section, processor, &cie, &fde, pc, out);
    return status;
}
