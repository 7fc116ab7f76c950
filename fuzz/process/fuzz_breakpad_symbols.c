// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/elf.h"
#include "formats/interchange/breakpad_symbols.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint8_t build_id[20];
    struct text file = { 0 };
    (void)!breakpad_symbols_to_elf(cursor_over(bytes, size), ELF_X86_64, build_id,
                                   sizeof(build_id), &file);
    text_deinit(&file);
    (void)breakpad_symbols_are_of(cursor_over(bytes, size), "0");
    return 0;
}
