// SPDX-License-Identifier: Apache-2.0
//
// An ELF file with a compressed symbol table inside, opened and its symbols read.
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "symbolizer/files/minidebug.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct debug_elf image;
    struct debug_elf inside;
    void *copy = malloc(size != 0 ? size : 1);
    if (copy == NULL)
        return 0;
    memcpy(copy, bytes, size);
    if (debug_elf_over(&image, copy, size) != CH_OK)
        return 0;
    if (minidebug_open(&inside, &image) == CH_OK) {
        (void)debug_elf_build_id(&inside);
        debug_elf_close(&inside);
    }
    debug_elf_close(&image);
    return 0;
}
