// SPDX-License-Identifier: Apache-2.0
//
// A thread of a Rust program: its stack is the input, and so are the program's
// constants.
#include "agent/messages/panics.h"
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"

enum { CONSTANTS = 0x20000000, STACK = 0x70000000 };

static bool is_constant(void *context, uint64_t address)
{
    (void)context;
    return address < STACK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct fake_region regions[] = { { CONSTANTS, bytes, size },
                                           { STACK, bytes, size } };
    struct fake_memory memory = { .regions = regions, .region_count = 2 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    char text[ABORT_MESSAGE_MAX] = "";
    const struct panic_search search = { .sp = STACK,
                                         .thread = "main",
                                         .is_constant = is_constant };
    (void)!panic_hook_read(&reader, &search, text);
    return 0;
}
