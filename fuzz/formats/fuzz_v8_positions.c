// SPDX-License-Identifier: Apache-2.0
//
// A table of V8's: of positions, of safepoints, or of baseline code with bytecodes. The
// first byte says where the bytecodes begin, the next two are the offset.
#include "formats/runtime/v8_positions.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint8_t sizes[] = { 1, 1, 1, 1, 1, 2, 4, 1, 1, 1, 1,
                                     1, 3, 7, 1, 1, 1, 1, 1, 5, 13 };
    struct v8_position position;
    int64_t bytecode;
    uint64_t pc;
    if (size < 3)
        return 0;
    size_t table = bytes[0] < size - 3 ? bytes[0] : size - 3;
    int64_t offset = (int16_t)(bytes[1] | bytes[2] << 8);
    const struct v8_baseline baseline = { .table = bytes + 3,
                                          .table_size = table,
                                          .bytecodes = bytes + 3 + table,
                                          .bytecodes_size = size - 3 - table,
                                          .sizes = sizes,
                                          .count = sizeof(sizes) / V8_BYTECODE_SCALES };
    (void)!v8_positions_find(bytes + 3, size - 3, offset, &position);
    (void)!v8_baseline_find(&baseline, (uint64_t)offset, &bytecode);
    (void)!v8_safepoints_find(bytes + 3, size - 3, (uint64_t)offset, &pc);
    return 0;
}
