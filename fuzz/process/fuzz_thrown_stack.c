// SPDX-License-Identifier: Apache-2.0
//
// The rings of throws in memory that is the input.
#include "agent/messages/exception.h"
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"

enum { STATE = 0x10000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct thrown_stack found;
    const struct fake_region region = { STATE, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    uint64_t object = 0;
    if (size >= 40)
        memcpy(&object, bytes + 32, sizeof(object));
    found.size = 0;
    thrown_stack_read(&reader, STATE, object, &found);
    return 0;
}
