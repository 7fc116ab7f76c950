// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/elf.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct elf_view file;
    struct elf_section section;
    struct elf_symbol symbol;
    const uint8_t *id;
    size_t id_size;
    if (elf_view_init(&file, bytes, size) != CH_OK)
        return 0;
    (void)!elf_view_build_id(&file, &id, &id_size);
    if (elf_view_find_section(&file, ".symtab", &section, NULL) != CH_OK)
        return 0;
    struct cursor symbols = elf_section_cursor(&file, &section);
    while (elf_next_symbol(&file, &symbols, &symbol) == CH_OK)
        ;
    return 0;
}
