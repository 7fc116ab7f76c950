// SPDX-License-Identifier: Apache-2.0
//
// An interpreter of Python in memory that is the input, but for its first byte, which
// chooses the version; from 3.13 on the offsets are part of the memory.
#include "base/settings/settings.h"
#include "fuzz/fuzz.h"
#include "languages/python.h"
#include "support/fake_memory.h"
#include "support/python_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint32_t versions[] = { 0x0308, 0x030a, 0x030b, 0x030c };
    if (size == 0)
        return 0;
    const struct fake_region region = { PYTHON_MEMORY, bytes + 1, size - 1 };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    struct interpreted table = { .limit = 64, .top = 16 };
    struct python_layout layout = { 0 };
    if (bytes[0] % 5 == 4) {
        if (python_layout_read(&reader, PYTHON_MEMORY, &layout) != CH_OK)
            return 0;
    } else {
        layout = *python_layout_of_version(versions[bytes[0] % 5]);
    }
    struct python python = python_of(&layout, &reader);
    if (python_collect(&python, &table) == CH_OK) {
        for (size_t i = 0; i < table.frame_count && i < 256; i++) {
            struct python_place place;
            python_describe(&python, &table.frames[i], &place);
            python_place_deinit(&place);
        }
        for (size_t i = 0; i < table.run_count && i < 256; i++) {
            struct python_exception exception;
            uint64_t thread = 0;
            (void)interpreted_find(&table, table.runs[i].stack, UINT64_MAX, &thread);
            if (python_read_exception(&python, table.runs[i].thread, &exception))
                python_exception_deinit(&exception);
        }
    }
    interpreted_deinit(&table);
    return 0;
}
