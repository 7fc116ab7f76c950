// SPDX-License-Identifier: Apache-2.0
#include "unwind/compiled_cfi.h"

#include <stdlib.h>

#include "unwind/image_cfi.h"

void compiled_cfi_init(struct compiled_cfi *cfi, const struct unwind_arch *arch,
                       const struct memory_reader *memory)
{
    *cfi = (struct compiled_cfi){ .processor = image_cfi_processor(arch),
                                  .big_endian = memory->big_endian,
                                  .narrow = memory->narrow };
}

void compiled_cfi_deinit(struct compiled_cfi *cfi)
{
    for (size_t i = 0; i < cfi->count; i++)
        cfi_index_deinit(&cfi->indexes[i]);
    free(cfi->indexes);
    *cfi = (struct compiled_cfi){ 0 };
}

void compiled_cfi_set_sections(struct compiled_cfi *cfi, unwind_sections_fn *find,
                               void *context)
{
    cfi->find = find;
    cfi->context = context;
}

static void index_compiled(struct compiled_cfi *cfi, const struct unwind_section *from,
                           size_t *entries)
{
    const struct cfi_section section = {
        .kind = from->debug_frame ? CFI_DEBUG_FRAME : CFI_EH_FRAME,
        .big_endian = cfi->big_endian,
        .narrow = cfi->narrow,
        .address = from->debug_frame ? 0 : from->address,
        .text = from->text,
    };
    struct cfi_index *index = &cfi->indexes[cfi->count];
    if (*entries >= COMPILED_CFI_ENTRIES ||
        cfi_index_init(index, &section, from->bytes, from->size) != CH_OK)
        return;
    *entries += index->count;
    if (index->count != 0)
        cfi->count++;
    else
        cfi_index_deinit(index);
}

// ask_for_sections indexes all sections.
static void ask_for_sections(struct compiled_cfi *cfi)
{
    const struct unwind_section *sections;
    size_t entries = 0;
    size_t count = cfi->find(cfi->context, &sections);
    cfi->find = NULL;
    cfi->indexes = calloc(count + 1, sizeof(*cfi->indexes));
    for (size_t i = 0; cfi->indexes != NULL && i < count; i++)
        index_compiled(cfi, &sections[i], &entries);
}

enum ch_status compiled_cfi_find(struct compiled_cfi *cfi, uint64_t pc,
                                 struct unwind_row *out)
{
    enum ch_status status = CH_ERR_NOT_FOUND;
    if (cfi->find != NULL)
        ask_for_sections(cfi);
    for (size_t i = 0; status == CH_ERR_NOT_FOUND && i < cfi->count; i++)
        status = cfi_index_find(&cfi->indexes[i], &cfi->processor, pc, out);
    return status;
}
