// SPDX-License-Identifier: Apache-2.0
//
// The pool of guarded allocations in memory that is the input.
#include "agent/messages/heap_fault.h"
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"

enum { STATE = 0x10000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct heap_fault found;
    struct crash_heap facts;
    const struct fake_region region = { STATE, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    uint64_t address = 0;
    if (size >= sizeof(address))
        memcpy(&address, bytes + size - sizeof(address), sizeof(address));
    heap_fault_read(&reader, STATE, address, &found);
    heap_fault_facts(&found, UINT64_MAX, &facts);
    return 0;
}
