// SPDX-License-Identifier: Apache-2.0
//
// A thread that waits on a futex in memory that is the input.
#include "agent/facts/waits.h"
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"

enum { MEMORY = 0x10000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct waits waits;
    const struct fake_region region = { MEMORY, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    struct stopped_thread threads[2] = {
        { .tid = 1, .state = STOP_STOPPED, .call = 202, .thread_pointer = MEMORY },
        { .tid = 2, .state = STOP_STOPPED, .call = 202 },
    };
    static struct capture capture;
    uint32_t value = 0;
    if (size >= 32)
        memcpy(&value, bytes + size / 8 * 4, sizeof(value));
    for (size_t i = 0; i < 2; i++) {
        threads[i].registers.value[0] = (uint64_t)-512;
        threads[i].registers.value[1] = value;
        threads[i].registers.value[5] = MEMORY + size / 8 * 4;
    }
    capture = (struct capture){ .arch = &unwind_arch_amd64,
                                .reader = fake_memory_reader(&memory) };
    capture.stop.threads = threads;
    capture.stop.count = 2;
    waits_read(&capture, &waits);
    return 0;
}
