// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/fdr_functions.h"

enum {
    ENTRY_SIZE = 32,
    FUNCTION_OFFSET = 8,
    VERSION_RELATIVE = 2, // addresses are relative to their own fields
};

enum ch_status fdr_functions_init(struct fdr_functions *functions,
                                  const struct elf_view *elf)
{
    struct elf_section section;
    if (!elf->header.is_64)
        return CH_ERR_UNSUPPORTED;
    enum ch_status status =
        elf_view_find_section(elf, "xray_instr_map", &section, NULL);
    if (status != CH_OK)
        return status;
    *functions = (struct fdr_functions){
        .entries = elf_section_cursor(elf, &section),
        .vaddr = section.vaddr,
        .relocated = elf->header.type != ELF_EXEC,
    };
    return cursor_ok(&functions->entries) ? CH_OK : CH_ERR_TRUNCATED;
}

// functions_read_entry reads one entry and gives the address of its function.
static enum ch_status functions_read_entry(struct fdr_functions *functions,
                                           uint64_t *out)
{
    struct cursor entry = cursor_child(&functions->entries, ENTRY_SIZE);
    cursor_skip(&entry, FUNCTION_OFFSET);
    uint64_t function = cursor_u64(&entry);
    cursor_skip(&entry, 2); // the sled's kind, and whether it is always instrumented
    uint8_t version = cursor_u8(&entry);
    if (!cursor_ok(&entry))
        return CH_ERR_TRUNCATED;
    if (version < VERSION_RELATIVE && functions->relocated)
        return CH_ERR_UNSUPPORTED;
    if (version >= VERSION_RELATIVE)
        function += functions->vaddr + FUNCTION_OFFSET;
    functions->vaddr += ENTRY_SIZE;
    *out = function;
    return CH_OK;
}

enum ch_status fdr_functions_next(struct fdr_functions *functions, uint64_t *out_vaddr)
{
    while (cursor_left(&functions->entries) != 0) {
        uint64_t function = 0;
        enum ch_status status = functions_read_entry(functions, &function);
        if (status != CH_OK)
            return status;
        if (functions->count != 0 && function == functions->previous)
            continue;
        functions->count++;
        functions->previous = function;
        *out_vaddr = function;
        return CH_OK;
    }
    return CH_END;
}
