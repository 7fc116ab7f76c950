// SPDX-License-Identifier: Apache-2.0
//
// A list of goroutines, and a thread that runs one, in memory that is the input.
#include "fuzz/fuzz.h"
#include "languages/go_runtime.h"
#include "languages/goroutines.h"
#include "support/fake_memory.h"

enum { MEMORY = 0x10000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct fake_region region = { MEMORY, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    bool whole;
    struct go_layout layout;
    if (!go_layout_of_version("go1.19", &layout, &whole))
        return -1;
    struct goroutines list = { .layout = layout,
                               .reader = &reader,
                               .list = MEMORY,
                               .count = 64,
                               .reasons = MEMORY + size / 2 };
    struct goroutine one;
    struct go_switch change;
    while (goroutines_next(&list, &one))
        continue;
    if (go_switch_find(&reader, MEMORY + size / 2, &change))
        (void)go_switch_is_at(&reader, &change, change.scheduler_sp - 64);
    return 0;
}
