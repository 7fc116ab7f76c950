// SPDX-License-Identifier: Apache-2.0
//
// A function that is followed: its code, and the object that it is called for.
#include "agent/follow/code_walk.h"
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"

enum { CODE = 0x401000 };

static bool is_code(void *context, uint64_t address)
{
    const size_t *size = context;
    return address - CODE < *size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct fake_region region = { CODE, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    struct code_walk walk = { .memory = &reader, .is_code = is_code, .context = &size };
    uint64_t result;
    walk.arch = UNWIND_ARCH_AMD64;
    (void)!code_walk_call(&walk, CODE, CODE + size / 2, &result);
    walk.arch = UNWIND_ARCH_AARCH64;
    (void)!code_walk_call(&walk, CODE, CODE + size / 2, &result);
    return 0;
}
