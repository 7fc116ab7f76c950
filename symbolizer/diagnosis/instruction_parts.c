// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/diagnosis/instruction_parts.h"

enum { RAX = 0 };

static bool is_register(const struct instruction_part *part)
{
    return part->kind == INSTRUCTION_PART_REGISTER;
}

// copy_effects stores the effects of a move between general registers, memory and
// constants.
static void copy_effects(const struct instruction_parts *parts,
                         struct instruction_effects *out)
{
    const struct instruction_part *to = &parts->part[0];
    const struct instruction_part *of = &parts->part[1];
    bool plain = parts->operation == INSTRUCTION_COPIES;
    out->bytes = (uint8_t)of->bytes;
    if (to->kind == INSTRUCTION_PART_MEMORY && is_register(of) && !of->high && plain)
        out->action = INSTRUCTION_STORES;
    // A write of less than four bytes leaves the rest of the register unchanged.
    if (!is_register(to) || to->bytes < 4)
        return;
    if (is_register(of) && !of->high)
        out->action = INSTRUCTION_MOVES;
    if (of->kind == INSTRUCTION_PART_MEMORY && !of->segmented)
        out->action = INSTRUCTION_LOADS;
    if (of->kind == INSTRUCTION_PART_CONSTANT) {
        out->action = INSTRUCTION_SETS;
        out->constant = to->bytes == 4 ? (int64_t)(uint32_t)of->constant : of->constant;
    }
}

// sum_effects stores that a constant or a register is added to a whole register.
static void sum_effects(const struct instruction_parts *parts,
                        struct instruction_effects *out)
{
    const struct instruction_part *of = &parts->part[1];
    bool adds = parts->operation == INSTRUCTION_ADDITION;
    if (!is_register(&parts->part[0]) || parts->part[0].bytes != 8)
        return;
    if (is_register(of) && adds)
        out->action = INSTRUCTION_SUMS;
    if (of->kind != INSTRUCTION_PART_CONSTANT)
        return;
    out->action = INSTRUCTION_ADDS;
    out->constant = adds ? of->constant : (int64_t)(0 - (uint64_t)of->constant);
}

// is_zeroing recognizes the two instructions that clear a register (xor and sub).
static bool is_zeroing(const struct instruction_parts *parts)
{
    return is_register(&parts->part[0]) && is_register(&parts->part[1]) &&
           parts->part[0].reg == parts->part[1].reg && parts->part[0].bytes >= 4;
}

static void note_action(const struct instruction_parts *parts,
                        struct instruction_effects *out)
{
    bool whole = parts->part[0].bytes == 8;
    switch (parts->operation) {
    case INSTRUCTION_COPIES:
    case INSTRUCTION_EXTENDS:
        copy_effects(parts, out);
        return;
    case INSTRUCTION_EXTENDS_EAX:
        out->from = out->to = RAX;
        out->bytes = 4;
        out->action = INSTRUCTION_MOVES;
        return;
    case INSTRUCTION_ADDITION:
        sum_effects(parts, out);
        return;
    case INSTRUCTION_SUBTRACTION:
        sum_effects(parts, out);
        if (is_zeroing(parts))
            out->action = INSTRUCTION_SETS;
        return;
    case INSTRUCTION_XOR:
        if (is_zeroing(parts))
            out->action = INSTRUCTION_SETS;
        return;
    case INSTRUCTION_ADDRESS:
        if (whole)
            out->action = INSTRUCTION_ADDRESSES;
        return;
    case INSTRUCTION_PUSH:
    case INSTRUCTION_POP:
        // The first operand is the one pushed or popped.
        out->from = out->to;
        if (whole)
            out->action = parts->operation == INSTRUCTION_PUSH ? INSTRUCTION_PUSHES
                                                               : INSTRUCTION_POPS;
        return;
    case INSTRUCTION_LEAVE:
        out->action = INSTRUCTION_LEAVES;
        return;
    case INSTRUCTION_COMPUTES:
    case INSTRUCTION_READS:
    case INSTRUCTION_EXCHANGES:
        return;
    }
}

static bool writes_part(const struct instruction_parts *parts, uint8_t i,
                        enum instruction_flow flow)
{
    if (parts->operation == INSTRUCTION_EXCHANGES)
        return true;
    return i == 0 && parts->operation != INSTRUCTION_READS &&
           parts->operation != INSTRUCTION_PUSH &&
           (flow == INSTRUCTION_NEXT || flow == INSTRUCTION_ENDS);
}

void instruction_parts_effects(const struct instruction_parts *parts,
                               struct instruction_effects *out)
{
    uint8_t numbers[INSTRUCTION_OPERANDS_MAX] = { INSTRUCTION_NO_REGISTER,
                                                  INSTRUCTION_NO_REGISTER };
    for (uint8_t i = 0; i < parts->count; i++) {
        if (!is_register(&parts->part[i]))
            continue;
        uint16_t bit = (uint16_t)(1u << parts->part[i].reg);
        numbers[i] = parts->part[i].reg;
        out->named |= bit;
        if (writes_part(parts, i, out->flow))
            out->written |= bit;
    }
    out->to = numbers[0];
    out->from = numbers[1];
    note_action(parts, out);
}
