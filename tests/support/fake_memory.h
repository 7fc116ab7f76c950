// SPDX-License-Identifier: Apache-2.0
//
// A memory_reader over arrays of the test: the only stand-in for a target's memory.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memory_reader.h"

struct fake_region {
    uint64_t address;
    const void *bytes;
    size_t size;
};

struct fake_memory {
    const struct fake_region *regions;
    size_t region_count;
    size_t read_count; // how often the source was called
};

static inline size_t fake_memory_read(void *source, uint64_t address, void *to,
                                      size_t length)
{
    struct fake_memory *memory = source;
    memory->read_count++;
    for (size_t i = 0; i < memory->region_count; i++) {
        const struct fake_region *region = &memory->regions[i];
        if (address < region->address || address - region->address >= region->size)
            continue;
        size_t offset = (size_t)(address - region->address);
        size_t count = region->size - offset < length ? region->size - offset : length;
        memcpy(to, (const char *)region->bytes + offset, count);
        return count;
    }
    return 0;
}

static inline struct memory_reader fake_memory_reader(struct fake_memory *memory)
{
    return (struct memory_reader){ .read = fake_memory_read, .source = memory };
}
