// SPDX-License-Identifier: Apache-2.0
//
// A thrown object, its type and the code of its what(), in memory that is the input.
#include "agent/messages/thrown_text.h"
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"

enum { MEMORY = 0x10000, TYPE = MEMORY + 0x40 };

static bool is_code(void *context, uint64_t address)
{
    const size_t *size = context;
    return address - MEMORY < *size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct fake_region region = { MEMORY, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    const struct thrown_code code = { .is_code = is_code, .context = &size };
    const struct thrown_object thrown = { .type = TYPE, .object = MEMORY };
    char text[EXCEPTION_WHAT_MAX];
    thrown_text_read(&reader, &code, &thrown, text);
    return 0;
}
