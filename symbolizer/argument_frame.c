// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/argument_frame.h"

#include <dwarf.h>
#include <stdlib.h>

#include "symbolizer/argument_expression.h"

// Calls keep rbx, rbp and r12 to r15.
enum { KEPT = 1u << 3 | 1u << 6 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15 };

static enum ch_status evaluate(const struct argument_frame *frame, const Dwarf_Op *ops,
                               size_t count, const struct memory_reader *memory,
                               struct argument_location *out)
{
    const struct argument_context context = { .frame = frame,
                                              .memory = memory,
                                              .cfa = frame->cfa };
    return argument_expression_evaluate(&context, ops, count, out);
}

static enum ch_status find_cfa(struct argument_frame *frame, Dwarf_Frame *rule,
                               const struct memory_reader *memory)
{
    Dwarf_Op *ops;
    size_t count;
    struct argument_location location;
    if (dwarf_frame_cfa(rule, &ops, &count) != 0 || count == 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = evaluate(frame, ops, count, memory, &location);
    if (status != CH_OK)
        return status;
    if (location.kind == ARGUMENT_IN_REGISTER)
        return CH_ERR_NOT_FOUND;
    frame->cfa = location.value;
    return CH_OK;
}

// restore works out one register of the caller.
static void restore(struct argument_frame *frame, Dwarf_Frame *rule, int reg,
                    const struct memory_reader *memory, struct argument_frame *caller)
{
    Dwarf_Op memory_for_ops[3];
    Dwarf_Op *ops;
    size_t count;
    struct argument_location location;
    uint64_t value;
    if (dwarf_frame_register(rule, reg, memory_for_ops, &ops, &count) != 0)
        return;
    if (count == 0) {
        // Same value; but what calls do not keep is not there any more.
        if (ops != NULL || !(KEPT >> reg & 1) ||
            !argument_frame_knows(frame, (unsigned)reg))
            return;
        caller->value[reg] = frame->value[reg];
        caller->known |= 1u << reg;
        return;
    }
    frame->saved |= 1u << reg;
    if (evaluate(frame, ops, count, memory, &location) != CH_OK ||
        argument_location_word(&location, frame, memory, &value) != CH_OK)
        return;
    caller->value[reg] = value;
    caller->known |= 1u << reg;
}

enum ch_status argument_frame_step(struct argument_frame *frame, Dwarf_CFI *cfi,
                                   uint64_t vaddr, const struct memory_reader *memory,
                                   struct argument_frame *out_caller)
{
    Dwarf_Frame *rule;
    bool signal = false;
    struct argument_frame caller = { 0 };
    if (dwarf_cfi_addrframe(cfi, vaddr, &rule) != 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = find_cfa(frame, rule, memory);
    if (status == CH_OK && dwarf_frame_info(rule, NULL, NULL, &signal) < 0)
        status = CH_ERR_NOT_FOUND;
    for (int i = 0; status == CH_OK && i < ARGUMENT_REGISTERS; i++)
        restore(frame, rule, i, memory, &caller);
    free(rule);
    if (status != CH_OK)
        return status;
    caller.activation = signal;
    if (!argument_frame_knows(&caller, ARGUMENT_SP)) {
        caller.value[ARGUMENT_SP] = frame->cfa;
        caller.known |= 1u << ARGUMENT_SP;
    }
    if (!argument_frame_knows(&caller, ARGUMENT_PC))
        return CH_END;
    *out_caller = caller;
    return CH_OK;
}
