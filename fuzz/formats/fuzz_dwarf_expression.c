// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"
#include "unwind/row_step.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct fake_region region = { 0x1000, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    const struct dwarf_expression expression = { bytes, size };
    struct unwind_state state = { .known = UINT64_MAX };
    uint64_t out = 0x1000;
    unwind_state_set(&state, 7, 0x1000);
    (void)!dwarf_expression_run(&expression, &reader, &state, &out, &out);
    return 0;
}
