// SPDX-License-Identifier: Apache-2.0
//
// A virtual machine of Java in memory that is the input: its description of itself, its
// code, and a stack that is walked through it.
#include "fuzz/fuzz.h"
#include "languages/hotspot.h"
#include "support/fake_memory.h"
#include "support/hotspot_builder.h"
#include "unwind/unwind_state.h"

enum { STEPS = 64 };

static void fuzz_layout(const struct memory_reader *reader)
{
    const struct hotspot_table table = {
        .begin = HOTSPOT_MEMORY, .stride = 48, .field = 8, .value = 32, .address = 40
    };
    struct hotspot_layout layout = { 0 };
    if (hotspot_layout_take(reader, &table, &layout) == CH_OK &&
        hotspot_layout_check(reader, &layout) == CH_OK)
        return;
}

static void describe_all(struct hotspot *hotspot, const struct interpreted *table)
{
    for (size_t i = 0; i < table->frame_count && i < 256; i++) {
        struct hotspot_place place;
        hotspot_describe(hotspot, &table->frames[i], &place);
        hotspot_place_deinit(&place);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct fake_region region = { HOTSPOT_MEMORY, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    struct interpreted table = { 0 };
    struct hotspot hotspot = hotspot_of(&reader);
    struct unwind_state state = { .known = UINT64_MAX };
    fuzz_layout(&reader);
    if (hotspot_open_heaps(&hotspot) != CH_OK)
        return 0;
    const uint64_t begins[] = { HOTSPOT_AT_COMPILED + 0x840,
                                HOTSPOT_AT_INTERPRETER + 0xa00 };
    for (size_t k = 0; k < 2; k++) {
        struct unwind_frame frame = { .kind =
                                          k == 0 ? UNWIND_KIND_RA : UNWIND_KIND_PC };
        state.registers.value[UNWIND_PC] = HOTSPOT_MEMORY + begins[k];
        state.registers.value[UNWIND_SP] = HOTSPOT_MEMORY + HOTSPOT_AT_STACK;
        state.registers.value[UNWIND_FP] = HOTSPOT_MEMORY + HOTSPOT_AT_STACK + 0x80;
        for (size_t i = 0; i < STEPS; i++) {
            frame.address = state.registers.value[UNWIND_PC];
            (void)hotspot_collect(&hotspot, &frame, &state, &table);
            if (hotspot_step(&hotspot, &frame, &state) != CH_OK)
                break;
            frame.kind = UNWIND_KIND_RA;
        }
    }
    describe_all(&hotspot, &table);
    interpreted_deinit(&table);
    return 0;
}
