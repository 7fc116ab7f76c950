// SPDX-License-Identifier: Apache-2.0
//
// A target whose memory is the input: both sections, code and stack lie in it.
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "support/fake_memory.h"
#include "unwind/unwind.h"

// seen is what a walk came to.
struct seen {
    unsigned count;
    uint64_t hash;
};

static bool visit_many(void *context, const struct unwind_frame *frames, size_t count,
                       const struct unwind_state *state)
{
    struct seen *seen = context;
    (void)state;
    for (size_t i = 0; i < count && seen->count < 4096; i++) {
        uint64_t frame = frames[i].address ^ (uint64_t)frames[i].kind << 62 ^
                         (uint64_t)frames[i].trust << 56;
        seen->hash = (seen->hash ^ frame) * UINT64_C(0x9e3779b97f4a7c15);
        seen->count++;
    }
    return seen->count < 4096;
}

static bool visit(void *context, const struct unwind_frame *frame,
                  const struct unwind_state *state)
{
    return visit_many(context, frame, 1, state);
}

// Steps are repeated where the reader has a window; the walk has to be the same.
static struct seen walk(const struct memory_reader *reader,
                        const struct unwind_image *image, enum setting_unwind how,
                        bool many)
{
    const uint64_t base = image->start;
    const struct unwind_registers registers = {
        .value = { [7] = base + image->sframe_size / 2, [16] = base + 64 }
    };
    struct seen seen = { 0 };
    struct unwind_space *space;
    if (unwind_space_create(&unwind_arch_amd64, reader, image, 1, &space) != CH_OK)
        return seen;
    if (many)
        (void)unwind_walk_frames(space, &registers, how, visit_many, &seen);
    else
        (void)unwind_walk(space, &registers, how, visit, &seen);
    unwind_space_destroy(space);
    return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const uint64_t base = 0x1000;
    const struct fake_region region = { base, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_window window = { bytes, base, size };
    const struct memory_reader by_rules = fake_memory_reader(&memory);
    struct memory_reader repeating = by_rules;
    repeating.window = &window;
    const struct unwind_image image = { .start = base,
                                        .end = base + size + 0x1000,
                                        .sframe = base,
                                        .sframe_size = size,
                                        .eh_frame_hdr = base + size / 4,
                                        .eh_frame_hdr_size = size / 4 };
    for (int how = SETTING_UNWIND_AUTO; how < SETTING_UNWIND_LIBUNWIND; how++) {
        struct seen one = walk(&by_rules, &image, (enum setting_unwind)how, false);
        struct seen again = walk(&repeating, &image, (enum setting_unwind)how, false);
        struct seen many = walk(&repeating, &image, (enum setting_unwind)how, true);
        if (one.count != again.count || one.hash != again.hash ||
            one.count != many.count || one.hash != many.hash)
            abort();
    }
    return 0;
}
