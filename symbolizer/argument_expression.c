// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/argument_expression.h"

#include <dwarf.h>
#include <string.h>

enum { STACK_MAX = 64, OPERATIONS_MAX = 10000 };

struct machine {
    const struct argument_context *context;
    uint64_t stack[STACK_MAX];
    unsigned depth;
    enum ch_status status; // the first failure
    struct argument_location result;
    bool done; // result is not the address on top of the stack
};

static void fail(struct machine *m, enum ch_status status)
{
    if (m->status == CH_OK)
        m->status = status;
}

static void push(struct machine *m, uint64_t value)
{
    if (m->depth == STACK_MAX)
        fail(m, CH_ERR_LIMIT);
    else
        m->stack[m->depth++] = value;
}

static uint64_t pop(struct machine *m)
{
    if (m->depth == 0) {
        fail(m, CH_ERR_MALFORMED);
        return 0;
    }
    return m->stack[--m->depth];
}

static void push_register(struct machine *m, uint64_t reg, uint64_t offset)
{
    if (reg >= ARGUMENT_REGISTERS ||
        !argument_frame_knows(m->context->frame, (unsigned)reg))
        fail(m, CH_ERR_NOT_FOUND);
    else
        push(m, m->context->frame->value[reg] + offset);
}

// finish says where the value is, other than at the address on top of the stack.
static void finish(struct machine *m, enum argument_place kind, uint64_t value)
{
    m->result.kind = kind;
    m->result.value = value;
    m->done = true;
}

static void in_register(struct machine *m, uint64_t reg)
{
    if (reg >= ARGUMENT_REGISTERS ||
        !argument_frame_knows(m->context->frame, (unsigned)reg))
        fail(m, CH_ERR_NOT_FOUND);
    finish(m, ARGUMENT_IN_REGISTER, reg);
}

static void read_memory(struct machine *m, uint64_t size)
{
    uint64_t address = pop(m);
    uint64_t value = 0;
    if (size == 0 || size > sizeof(value))
        fail(m, CH_ERR_MALFORMED);
    else if (memory_read(m->context->memory, address, &value, (size_t)size) != CH_OK)
        fail(m, CH_ERR_FAULT);
    push(m, value);
}

// push_entry gives what a register held when the function was entered: the expression
// within the operation names the register.
static void push_entry(struct machine *m, const Dwarf_Op *op)
{
    Dwarf_Attribute inner;
    Dwarf_Op *ops;
    size_t count;
    uint64_t value;
    const struct argument_context *context = m->context;
    if (context->entry == NULL || context->attribute == NULL) {
        fail(m, CH_ERR_NOT_FOUND);
        return;
    }
    if (dwarf_getlocation_attr(context->attribute, op, &inner) != 0 ||
        dwarf_getlocation(&inner, &ops, &count) != 0 || count != 1 ||
        ops[0].atom < DW_OP_reg0 || ops[0].atom > DW_OP_reg31) {
        fail(m, CH_ERR_UNSUPPORTED);
        return;
    }
    enum ch_status status = context->entry(context, ops[0].atom - DW_OP_reg0, &value);
    if (status != CH_OK)
        fail(m, status);
    m->result.entered = true;
    push(m, value);
}

static void push_block(struct machine *m, const Dwarf_Op *op)
{
    Dwarf_Block block;
    if (m->context->attribute == NULL ||
        dwarf_getlocation_implicit_value(m->context->attribute, op, &block) != 0) {
        fail(m, CH_ERR_UNSUPPORTED);
        return;
    }
    m->result.bytes = block.data;
    finish(m, ARGUMENT_IS_BYTES, block.length);
}

static uint64_t divide(struct machine *m, int64_t a, int64_t b)
{
    if (b != 0 && !(a == INT64_MIN && b == -1))
        return (uint64_t)(a / b);
    fail(m, CH_ERR_MALFORMED);
    return 0;
}

static uint64_t shift(uint8_t atom, uint64_t a, uint64_t by)
{
    if (atom == DW_OP_shra)
        return (uint64_t)((int64_t)a >> (by < 64 ? by : 63));
    if (by >= 64)
        return 0;
    return atom == DW_OP_shl ? a << by : a >> by;
}

// run_binary does the operations on two values.
static void run_binary(struct machine *m, uint8_t atom)
{
    uint64_t b = pop(m);
    uint64_t a = pop(m);
    switch (atom) {
    case DW_OP_and:
        push(m, a & b);
        return;
    case DW_OP_or:
        push(m, a | b);
        return;
    case DW_OP_xor:
        push(m, a ^ b);
        return;
    case DW_OP_plus:
        push(m, a + b);
        return;
    case DW_OP_minus:
        push(m, a - b);
        return;
    case DW_OP_mul:
        push(m, a * b);
        return;
    case DW_OP_div:
        push(m, divide(m, (int64_t)a, (int64_t)b));
        return;
    case DW_OP_shl:
    case DW_OP_shr:
    case DW_OP_shra:
        push(m, shift(atom, a, b));
        return;
    case DW_OP_eq:
        push(m, a == b);
        return;
    case DW_OP_ne:
        push(m, a != b);
        return;
    case DW_OP_lt:
        push(m, (int64_t)a < (int64_t)b);
        return;
    case DW_OP_le:
        push(m, (int64_t)a <= (int64_t)b);
        return;
    case DW_OP_gt:
        push(m, (int64_t)a > (int64_t)b);
        return;
    case DW_OP_ge:
        push(m, (int64_t)a >= (int64_t)b);
        return;
    default:
        fail(m, CH_ERR_UNSUPPORTED);
    }
}

static void run_stack(struct machine *m, const Dwarf_Op *op)
{
    uint64_t top = pop(m);
    switch (op->atom) {
    case DW_OP_dup:
        push(m, top);
        push(m, top);
        return;
    case DW_OP_drop:
        return;
    case DW_OP_swap: {
        uint64_t below = pop(m);
        push(m, top);
        push(m, below);
        return;
    }
    case DW_OP_neg:
        push(m, -top);
        return;
    case DW_OP_not:
        push(m, ~top);
        return;
    case DW_OP_plus_uconst:
        push(m, top + op->number);
        return;
    default:
        push(m, top);
        run_binary(m, op->atom);
    }
}

// run_source does the operations that bring something from outside the stack.
static void run_source(struct machine *m, const Dwarf_Op *op)
{
    const struct argument_context *context = m->context;
    switch (op->atom) {
    case DW_OP_addr:
        push(m, op->number + context->bias);
        return;
    case DW_OP_fbreg:
        if (!context->has_frame_base)
            fail(m, CH_ERR_NOT_FOUND);
        push(m, context->frame_base + op->number);
        return;
    case DW_OP_call_frame_cfa:
        if (context->cfa == 0)
            fail(m, CH_ERR_NOT_FOUND);
        push(m, context->cfa);
        return;
    case DW_OP_bregx:
        push_register(m, op->number, op->number2);
        return;
    case DW_OP_regx:
        in_register(m, op->number);
        return;
    case DW_OP_deref:
        read_memory(m, sizeof(uint64_t));
        return;
    case DW_OP_deref_size:
        read_memory(m, op->number);
        return;
    case DW_OP_stack_value:
        finish(m, ARGUMENT_IS_VALUE, pop(m));
        return;
    case DW_OP_implicit_value:
        push_block(m, op);
        return;
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        push_entry(m, op);
        return;
    case DW_OP_nop:
        return;
    default:
        run_stack(m, op);
    }
}

static void run(struct machine *m, const Dwarf_Op *op)
{
    uint8_t atom = op->atom;
    if (m->done) // a second place: the value is in pieces
        fail(m, CH_ERR_UNSUPPORTED);
    else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
        push(m, (uint64_t)(atom - DW_OP_lit0));
    else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
        push_register(m, (uint64_t)(atom - DW_OP_breg0), op->number);
    else if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
        in_register(m, (uint64_t)(atom - DW_OP_reg0));
    else if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
        push(m, op->number); // libdw has extended its sign
    else
        run_source(m, op);
}

enum ch_status argument_expression_evaluate(const struct argument_context *context,
                                            const Dwarf_Op *ops, size_t count,
                                            struct argument_location *out)
{
    struct machine m = { .context = context, .status = CH_OK };
    if (count > OPERATIONS_MAX)
        return CH_ERR_LIMIT;
    for (size_t i = 0; i < count && m.status == CH_OK; i++)
        run(&m, &ops[i]);
    if (m.status == CH_OK && !m.done)
        finish(&m, ARGUMENT_IN_MEMORY, pop(&m));
    if (m.status != CH_OK)
        return m.status;
    *out = m.result;
    return CH_OK;
}

enum ch_status argument_location_word(const struct argument_location *location,
                                      const struct argument_frame *frame,
                                      const struct memory_reader *memory, uint64_t *out)
{
    switch (location->kind) {
    case ARGUMENT_IN_MEMORY:
        return memory_read_word(memory, location->value, out);
    case ARGUMENT_IN_REGISTER:
        *out = frame->value[location->value];
        return CH_OK;
    case ARGUMENT_IS_VALUE:
        *out = location->value;
        return CH_OK;
    default:
        return CH_ERR_UNSUPPORTED;
    }
}
