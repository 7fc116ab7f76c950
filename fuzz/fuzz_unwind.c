// SPDX-License-Identifier: Apache-2.0
//
// A target whose memory is the input: both sections, code and stack lie in it.
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"
#include "unwind/unwind.h"

static bool visit(void *context, const struct unwind_frame *frame,
                  const struct unwind_state *state)
{
    (void)state;
    (void)frame;
    return --*(unsigned *)context != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const uint64_t base = 0x1000;
    const struct fake_region region = { base, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    const struct unwind_image image = { .start = base,
                                        .end = base + size + 0x1000,
                                        .sframe = base,
                                        .sframe_size = size,
                                        .eh_frame_hdr = base + size / 4,
                                        .eh_frame_hdr_size = size / 4 };
    struct unwind_registers registers = {
        .value = { [7] = base + size / 2, [16] = base + 64 }
    };
    struct unwind_space *space;
    if (unwind_space_create(&unwind_arch_amd64, &reader, &image, 1, &space) != CH_OK)
        return 0;
    for (int how = SETTING_UNWIND_AUTO; how < SETTING_UNWIND_LIBUNWIND; how++)
        (void)unwind_walk(space, &registers, (enum setting_unwind)how, visit,
                          &(unsigned){ 4096 });
    unwind_space_destroy(space);
    return 0;
}
