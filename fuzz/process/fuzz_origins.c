// SPDX-License-Identifier: Apache-2.0
//
// A crash whose heap and stack are the input, which begins with the values of
// registers.
#include "agent/raw/origins.h"

#include <string.h>

#include "formats/debug/maps.h"
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"

enum { HEAP = 0x20000000, STACK = 0x70000000, PAGE_BYTES = 4096, WORDS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct fake_region regions[] = { { HEAP, bytes, size },
                                           { STACK, bytes, size } };
    struct fake_memory memory = { .regions = regions, .region_count = 2 };
    uint64_t end = (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    struct target_mapping mappings[] = {
        { .start = HEAP,
          .end = HEAP + end,
          .permissions = MAPS_READ | MAPS_WRITE,
          .path = "[heap]",
          .path_size = 6 },
        { .start = STACK,
          .end = STACK + end,
          .permissions = MAPS_READ | MAPS_WRITE,
          .path = "",
          .path_size = 0 },
    };
    struct target_crash crash = { .tid = 1 };
    struct capture capture = { .arch = &unwind_arch_amd64,
                               .crash = &crash,
                               .reader = fake_memory_reader(&memory) };
    struct origins found;
    if (size < WORDS * sizeof(uint64_t))
        return 0;
    memcpy(crash.registers.value, bytes, WORDS * sizeof(uint64_t));
    crash.registers.value[capture.arch->sp] = STACK;
    crash.registers.value[capture.arch->pc] = crash.registers.value[0];
    capture.images.mappings = mappings;
    capture.images.mapping_count = sizeof(mappings) / sizeof(mappings[0]);
    origins_find(&capture, crash.registers.value[1], &found);
    origins_find_unloaded(&capture, crash.registers.value[1], &found);
    return 0;
}
