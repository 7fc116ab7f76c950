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

enum ch_status fdr_functions_next_sled(struct fdr_functions *functions,
                                       struct fdr_sled *out)
{
    if (cursor_left(&functions->entries) == 0)
        return CH_END;
    struct cursor entry = cursor_child(&functions->entries, ENTRY_SIZE);
    struct fdr_sled sled = { .vaddr = cursor_u64(&entry) };
    sled.function = cursor_u64(&entry);
    sled.kind = cursor_u8(&entry);
    sled.always = cursor_u8(&entry) != 0;
    sled.version = cursor_u8(&entry);
    if (!cursor_ok(&entry))
        return CH_ERR_TRUNCATED;
    if (sled.version < VERSION_RELATIVE && functions->relocated)
        return CH_ERR_UNSUPPORTED;
    if (sled.version >= VERSION_RELATIVE) {
        sled.vaddr += functions->vaddr;
        sled.function += functions->vaddr + FUNCTION_OFFSET;
    }
    functions->vaddr += ENTRY_SIZE;
    if (functions->count == 0 || sled.function != functions->previous)
        functions->count++;
    functions->previous = sled.function;
    sled.id = functions->count;
    *out = sled;
    return CH_OK;
}

const char *fdr_sled_name(const struct fdr_sled *sled)
{
    static const char *const names[] = { "function-enter", "function-exit",
                                         "tail-exit",      "log-args-enter",
                                         "custom-event",   "typed-event" };
    return sled->kind < sizeof(names) / sizeof(names[0]) ? names[sled->kind]
                                                         : "unknown";
}

enum ch_status fdr_functions_next(struct fdr_functions *functions, uint64_t *out_vaddr)
{
    uint32_t before = functions->count;
    struct fdr_sled sled;
    enum ch_status status;
    do {
        status = fdr_functions_next_sled(functions, &sled);
    } while (status == CH_OK && functions->count == before);
    if (status == CH_OK)
        *out_vaddr = sled.function;
    return status;
}
