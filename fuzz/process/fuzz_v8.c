// SPDX-License-Identifier: Apache-2.0
//
// Memory of a process that runs V8 11.3, in which frames are at known places.
#include "fuzz/fuzz.h"
#include "languages/v8.h"
#include "support/fake_memory.h"
#include "support/v8_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const struct target_image image;
    static const uint64_t frames[] = { V8_FP_INTERPRETED, V8_FP_OPTIMIZED, V8_FP_EXIT };
    const struct fake_region region = { V8_MEMORY, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    struct interpreted table = { 0 };
    struct v8 v8 = v8_of(&reader, &image);
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        const struct v8_frame frame = { V8_MEMORY + frames[i], V8_PC_OPTIMIZED,
                                        i == 1 };
        (void)v8_collect(&v8, &frame, &table);
    }
    for (size_t i = 0; i < table.frame_count; i++) {
        struct v8_place place;
        v8_describe(&v8, &table.frames[i], &place);
        v8_place_deinit(&place);
    }
    interpreted_deinit(&table);
    return 0;
}
