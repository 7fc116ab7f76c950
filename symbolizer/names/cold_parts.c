// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/cold_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "symbolizer/names/demangle.h"

// Limits of the .eh_frame that is read, and of the code that is scanned for jumps.
enum { FRAMES_BYTES_MAX = 4 << 20, SCAN_BYTES_MAX = 64 << 20 };

static const struct cfi_processor amd64 = { .register_count = 17,
                                            .fp = UNWIND_AMD64_FP };

// index_frames reads .eh_frame when it is first needed. Without it there are no parts.
static void index_frames(struct cold_parts *parts, const struct debug_elf *file)
{
    GElf_Ehdr header;
    GElf_Shdr section;
    parts->indexed = true;
    if (gelf_getehdr(file->elf, &header) == NULL || header.e_machine != EM_X86_64)
        return;
    Elf_Scn *scn = debug_elf_find_section(file, ".eh_frame", &section);
    const Elf_Data *data = scn != NULL ? elf_rawdata(scn, NULL) : NULL;
    if (data == NULL || data->d_buf == NULL || data->d_size > FRAMES_BYTES_MAX)
        return;
    const struct cfi_section frames = { .kind = CFI_EH_FRAME,
                                        .address = section.sh_addr };
    (void)!cfi_index_init(&parts->frames, &frames, data->d_buf, data->d_size);
}

// begins_inside returns true if the stack is not as a call leaves it where a part
// begins.
static bool begins_inside(const struct cfi_index *frames, uint64_t start)
{
    struct unwind_row row;
    return cfi_index_find(frames, &amd64, start, &row) == CH_OK &&
           row.cfa.kind == UNWIND_REGISTER_PLUS &&
           (row.cfa.reg != UNWIND_AMD64_SP || row.cfa.offset > 8);
}

// A branch is what may be a call or a jump in the bytes of a section.
struct branch {
    uint64_t from;
    uint64_t to;
    bool is_call;
};

// read_branch decodes the size bytes at code, of which from is the address, as call,
// jmp or a conditional jump to a distant place.
static bool read_branch(const uint8_t *code, size_t size, uint64_t from,
                        struct branch *out)
{
    int32_t distance;
    size_t opcode = code[0] == 0x0f && size > 1 && code[1] >> 4 == 8 ? 2 : 1;
    if (size < opcode + sizeof(distance) ||
        (opcode == 1 && code[0] != 0xe8 && code[0] != 0xe9))
        return false;
    memcpy(&distance, code + opcode, sizeof(distance));
    *out = (struct branch){ .from = from,
                            .to = from + opcode + sizeof(distance) +
                                  (uint64_t)(int64_t)distance,
                            .is_call = code[0] == 0xe8 };
    return true;
}

// find_jumping finds the one function in a section of code that jumps to a part. False:
// somebody else jumps there as well, or calls it.
static bool find_jumping(const struct cold_part *part, const struct symbol_table *table,
                         const Elf_Data *code, uint64_t address,
                         const struct symbol **out)
{
    const uint8_t *bytes = code->d_buf;
    struct branch branch;
    for (size_t i = 0; i < code->d_size; i++) {
        if (!read_branch(bytes + i, code->d_size - i, address + i, &branch) ||
            branch.to - part->start >= part->end - part->start ||
            branch.from - part->start < part->end - part->start)
            continue;
        const struct symbol *from = symbol_table_find(table, branch.from);
        if (branch.is_call || from == NULL || !from->sized ||
            (*out != NULL && *out != from))
            return false;
        *out = from;
    }
    return true;
}

// find_part_owner scans all code of file. NULL: it is not known whose the part is.
static const struct symbol *find_part_owner(struct cold_parts *parts,
                                            const struct cold_part *part,
                                            const struct debug_elf *file,
                                            const struct symbol_table *table)
{
    const struct symbol *owner = NULL;
    GElf_Shdr section;
    for (Elf_Scn *scn = elf_nextscn(file->elf, NULL); scn != NULL;
         scn = elf_nextscn(file->elf, scn)) {
        if (gelf_getshdr(scn, &section) == NULL || section.sh_type != SHT_PROGBITS ||
            !(section.sh_flags & SHF_EXECINSTR))
            continue;
        const Elf_Data *code = elf_rawdata(scn, NULL);
        if (code == NULL || code->d_buf == NULL)
            return NULL;
        parts->scanned_bytes += code->d_size;
        if (parts->scanned_bytes > SCAN_BYTES_MAX ||
            !find_jumping(part, table, code, section.sh_addr, &owner))
            return NULL;
    }
    return owner;
}

static void name_part(struct cold_parts *parts, struct cold_part *part,
                      const struct debug_elf *file, const struct symbol_table *table)
{
    const struct symbol *owner = begins_inside(&parts->frames, part->start)
                                     ? find_part_owner(parts, part, file, table)
                                     : NULL;
    if (owner == NULL || strlen(owner->name) > DEMANGLE_INPUT_MAX ||
        asprintf(&part->raw_name, "%s.cold", owner->name) < 0) {
        part->raw_name = NULL;
        return;
    }
    part->entry = owner->vaddr;
    part->function = demangle_name(part->raw_name);
}

const struct cold_part *cold_parts_find(struct cold_parts *parts,
                                        const struct debug_elf *file,
                                        const struct symbol_table *table,
                                        uint64_t vaddr)
{
    if (!parts->indexed)
        index_frames(parts, file);
    const struct cfi_index *frames = &parts->frames;
    size_t after = SORTED_UP_TO(frames->entries, frames->count, start, vaddr);
    if (after == 0 || vaddr >= frames->entries[after - 1].end)
        return NULL;
    struct cold_part part = { .start = frames->entries[after - 1].start,
                              .end = frames->entries[after - 1].end };
    for (size_t i = 0; i < parts->count; i++)
        if (parts->parts[i].start == part.start)
            return parts->parts[i].raw_name != NULL ? &parts->parts[i] : NULL;
    if (!array_reserve(&parts->parts, &parts->capacity, parts->count,
                       sizeof(parts->parts[0])))
        return NULL;
    name_part(parts, &part, file, table);
    parts->parts[parts->count++] = part;
    return part.raw_name != NULL ? &parts->parts[parts->count - 1] : NULL;
}

void cold_parts_deinit(struct cold_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        free(parts->parts[i].raw_name);
        free(parts->parts[i].function);
    }
    free(parts->parts);
    cfi_index_deinit(&parts->frames);
    *parts = (struct cold_parts){ 0 };
}
