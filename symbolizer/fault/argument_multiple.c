// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_multiple.h"

enum { WORD_BYTES = 8 };

// multiple_spread makes the multiples of registers whose sum is known after a step
// those before it. False: it computes no such sum.
static bool multiple_spread(const struct instruction_effects *effects,
                            uint64_t times[static ARGUMENT_GENERAL_REGISTERS])
{
    const struct instruction_memory *memory = &effects->memory;
    uint8_t to = effects->to;
    uint64_t count = times[to];
    bool adds = effects->action == INSTRUCTION_SUMS;
    bool copies = effects->action == INSTRUCTION_MOVES && effects->bytes == WORD_BYTES;
    if (adds || copies) {
        times[to] = adds ? count : 0;
        times[effects->from] += count;
        return true;
    }
    if (effects->action != INSTRUCTION_ADDRESSES || memory->displacement != 0 ||
        memory->index >= ARGUMENT_GENERAL_REGISTERS || memory->index_word ||
        memory->base == INSTRUCTION_PC)
        return false;
    times[to] = 0;
    times[memory->index] += count * memory->scale;
    if (memory->base < ARGUMENT_GENERAL_REGISTERS)
        times[memory->base] += count;
    return true;
}

// multiple_written gives which of the registers in use a step writes.
static uint32_t
multiple_written(const struct argument_scan *scan,
                 const struct instruction_effects *effects,
                 const uint64_t times[static ARGUMENT_GENERAL_REGISTERS])
{
    uint32_t used = 0;
    for (unsigned i = 0; i < ARGUMENT_GENERAL_REGISTERS; i++)
        used |= (uint32_t)(times[i] != 0) << i;
    uint32_t clobbered =
        effects->flow == INSTRUCTION_CALLS ? scan->code.machine->call_writes : 0;
    return used & (effects->written | clobbered);
}

// multiple_only gives the register in use. NO_REGISTER: there are several.
static uint8_t multiple_only(const uint64_t times[static ARGUMENT_GENERAL_REGISTERS])
{
    uint8_t only = INSTRUCTION_NO_REGISTER;
    for (unsigned i = 0; i < ARGUMENT_GENERAL_REGISTERS; i++) {
        if (times[i] != 0 && only != INSTRUCTION_NO_REGISTER)
            return INSTRUCTION_NO_REGISTER;
        if (times[i] != 0)
            only = (uint8_t)i;
    }
    return only;
}

bool argument_multiple_find(const struct argument_scan *scan, size_t *at, uint8_t *reg,
                            uint64_t *scale)
{
    uint64_t times[ARGUMENT_GENERAL_REGISTERS] = { 0 };
    times[*reg] = 1;
    for (size_t i = *at; !argument_scan_is_joined(scan, i);) {
        const struct instruction_effects *effects = &scan->code.steps[--i].effects;
        uint32_t written = multiple_written(scan, effects, times);
        if (written == 0)
            continue;
        if (effects->to >= ARGUMENT_GENERAL_REGISTERS ||
            written != UINT32_C(1) << effects->to || !multiple_spread(effects, times))
            return false;
        uint8_t only = multiple_only(times);
        if (only == INSTRUCTION_NO_REGISTER)
            continue;
        *scale *= times[only];
        *reg = only;
        *at = i;
        return true;
    }
    return false;
}
