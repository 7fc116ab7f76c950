// SPDX-License-Identifier: Apache-2.0
//
// A thread of a Go program, in memory that is the input.
#include "agent/messages/panics.h"
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"

enum { MEMORY = 0x10000, THREAD = MEMORY + 0x80 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct fake_region region = { MEMORY, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    char text[ABORT_MESSAGE_MAX] = "";
    (void)!go_panic_read(&reader, THREAD, text);
    return 0;
}
