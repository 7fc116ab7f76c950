// SPDX-License-Identifier: Apache-2.0
//
// The dynamic linker's list of objects, in memory that is the input.
#include "fuzz/fuzz.h"
#include "images/link_map.h"
#include "support/fake_memory.h"

enum { MEMORY = 0x10000, TAGS = 64 };

static enum ch_status visit_entry(void *context, const struct link_map_entry *entry)
{
    const struct memory_reader *reader = context;
    char name[256];
    (void)!memory_read_string(reader, entry->name, name, sizeof(name));
    return CH_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct fake_region region = { MEMORY, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    reader.narrow = size % 2 != 0; // of a 32-bit program
    (void)!link_map_walk(&reader, MEMORY, visit_entry, &reader);
    for (unsigned i = 0; i < TAGS; i++) {
        uint64_t tag;
        uint64_t value;
        if (link_map_dynamic(&reader, MEMORY, i, &tag, &value) != CH_OK)
            break;
    }
    return 0;
}
