// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/elf.h"
#include "formats/interchange/fdr_functions.h"
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
    struct fdr_functions functions;
    struct fdr_sled sled;
    if (fdr_functions_init(&functions, &file) == CH_OK) {
        while (fdr_functions_next_sled(&functions, &sled) == CH_OK)
            (void)fdr_sled_name(&sled);
    }
    if (elf_view_find_section(&file, ".symtab", &section, NULL) != CH_OK)
        return 0;
    struct cursor symbols = elf_section_cursor(&file, &section);
    while (elf_next_symbol(&file, &symbols, &symbol) == CH_OK)
        ;
    return 0;
}
