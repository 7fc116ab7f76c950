// SPDX-License-Identifier: Apache-2.0
//
// A heap of glibc's malloc that is the input, after malloc reported that it is damaged.
#include "agent/facts/malloc_chunks.h"
#include "formats/debug/maps.h"
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"

enum { HEAP = 0x10000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct fake_region region = { HEAP, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    struct target_mapping mapping = { .start = HEAP,
                                      .end = HEAP + size,
                                      .permissions = MAPS_READ | MAPS_WRITE,
                                      .path = "[heap]",
                                      .path_size = 6 };
    static struct capture capture;
    struct malloc_chunks found;
    capture.reader = fake_memory_reader(&memory);
    capture.images.mappings = &mapping;
    capture.images.mapping_count = 1;
    malloc_chunks_find(&capture, true, &found);
    return 0;
}
