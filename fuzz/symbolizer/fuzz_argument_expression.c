// SPDX-License-Identifier: Apache-2.0
//
// Ten bytes are an operation: its code, an operand as it is, the second one as a byte.
#include "fuzz/fuzz.h"
#include "support/fake_memory.h"
#include "symbolizer/arguments/argument_expression.h"

enum { OPERATION_BYTES = 10, OPERATIONS_MAX = 512 };

static enum ch_status entry_is(const struct argument_context *context, unsigned reg,
                               uint64_t *out)
{
    *out = context->frame->cfa + reg;
    return CH_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static Dwarf_Op ops[OPERATIONS_MAX];
    const struct fake_region region = { 0x1000, bytes, size };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    struct argument_frame frame = { .known = UINT32_MAX, .cfa = 0x1000 };
    const struct argument_context context = { .frame = &frame,
                                              .memory = &reader,
                                              .has_frame_base = true,
                                              .frame_base = 0x1010,
                                              .entry = entry_is };
    struct argument_location at;
    uint8_t value[ARGUMENT_PIECES_BYTES];
    size_t count = 0;
    frame.registers.value[7] = 0x1008;
    for (; count < OPERATIONS_MAX && size >= OPERATION_BYTES; count++) {
        ops[count] = (Dwarf_Op){ .atom = bytes[0], .offset = 3 * count };
        memcpy(&ops[count].number, bytes + 1, sizeof(ops[count].number));
        ops[count].number2 = bytes[OPERATION_BYTES - 1];
        bytes += OPERATION_BYTES;
        size -= OPERATION_BYTES;
    }
    if (argument_expression_evaluate(&context, ops, count, &at) == CH_OK)
        (void)!argument_location_bytes(&at, &frame, &reader, value, sizeof(value));
    return 0;
}
