// SPDX-License-Identifier: Apache-2.0
//
// What names jitted code; the first byte chooses: a perf map, a jitdump, or a file of
// GDB's JIT interface.
#include <stdlib.h>
#include <string.h>

#include "base/memory_reader.h"
#include "fuzz/fuzz.h"
#include "languages/jit_descriptor.h"
#include "unwind/rule_cache.h"

struct fuzzed_file {
    void *bytes;
    size_t size;
    struct unwind_section sections[JIT_FILE_SECTIONS];
};

// find_sections is an unwind_sections_fn.
static size_t find_sections(void *context, const struct unwind_section **out)
{
    struct fuzzed_file *file = context;
    *out = file->sections;
    return jit_file_sections(file->bytes, file->size, file->sections);
}

static void find_rules(const uint8_t *bytes, size_t size)
{
    const struct memory_reader nothing = { 0 };
    struct fuzzed_file file = { .bytes = malloc(size != 0 ? size : 1), .size = size };
    struct compiled_cfi cfi;
    struct unwind_row row;
    if (file.bytes == NULL)
        return;
    memcpy(file.bytes, bytes, size);
    compiled_cfi_init(&cfi, &unwind_arch_amd64, &nothing);
    compiled_cfi_set_sections(&cfi, find_sections, &file);
    for (uint64_t i = 0; i < 64; i++)
        (void)!compiled_cfi_find(&cfi, i << (i % 48), &row);
    compiled_cfi_deinit(&cfi);
    free(file.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct jitted jitted = { 0 };
    if (size == 0)
        return 0;
    for (uint64_t i = 0; i < 64; i++)
        jitted_want(&jitted, i << (i % 48));
    jitted_sort(&jitted);
    if (bytes[0] % 3 == 0)
        jitted_read_map(&jitted, bytes + 1, size - 1);
    if (bytes[0] % 3 == 1)
        jitted_read_dump(&jitted, bytes + 1, size - 1);
    if (bytes[0] % 3 == 2)
        jit_file_name(bytes + 1, size - 1, &jitted);
    if (bytes[0] % 3 == 2)
        find_rules(bytes + 1, size - 1);
    for (size_t i = 0; i < jitted.count; i++)
        if (jitted.codes[i].source != NULL)
            (void)jitted_name_split(jitted.codes[i].name.bytes,
                                    jitted.codes[i].name.size, i % 2 != 0);
    jitted_deinit(&jitted);
    return 0;
}
