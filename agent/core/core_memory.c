// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"

enum ch_status core_memory_init(struct core_memory *memory,
                                const struct core_file *core)
{
    *memory = (struct core_memory){ .core = core };
    return file_blocks_init(&memory->blocks);
}

void core_memory_deinit(struct core_memory *memory)
{
    file_blocks_deinit(&memory->blocks);
    free(memory->regions);
    *memory = (struct core_memory){ 0 };
}

// place_segment is the index of the first region that starts after address.
static size_t place_segment(const struct core_memory *memory, uint64_t address)
{
    return SORTED_UP_TO(memory->regions, memory->count, start, address);
}

enum ch_status core_memory_add(struct core_memory *memory,
                               const struct core_region *region)
{
    if (!array_reserve(&memory->regions, &memory->capacity, memory->count,
                       sizeof(*memory->regions)))
        return CH_ERR_NO_MEMORY;
    size_t at = place_segment(memory, region->start);
    struct core_region *to = &memory->regions[at];
    memmove(to + 1, to, (memory->count - at) * sizeof(*to));
    *to = *region;
    memory->count++;
    return CH_OK;
}

static size_t read_core_region(struct core_memory *memory, uint64_t address, void *to,
                               size_t length)
{
    size_t at = place_segment(memory, address);
    if (at == 0 || address >= memory->regions[at - 1].end)
        return 0;
    const struct core_region *region = &memory->regions[at - 1];
    uint64_t left = region->end - address;
    return file_blocks_read(&memory->blocks, region->fd,
                            region->offset + (address - region->start), to,
                            left < length ? (size_t)left : length);
}

static size_t read_core_memory(void *source, uint64_t address, void *to, size_t length)
{
    struct core_memory *memory = source;
    size_t count = core_file_read(memory->core, &memory->blocks, address, to, length);
    return count != 0 ? count : read_core_region(memory, address, to, length);
}

struct memory_reader core_memory_reader(struct core_memory *memory)
{
    return (struct memory_reader){ .read = read_core_memory,
                                   .source = memory,
                                   .big_endian = memory->core->big_endian };
}
