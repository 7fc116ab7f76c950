// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_expression.h"

#include <dwarf.h>
#include <string.h>

#include "unwind/dwarf_machine.h"

// evaluation is an expression being evaluated.
struct evaluation {
    const struct argument_context *context;
    struct dwarf_machine machine;
    struct argument_location result;
    bool done;       // result is set, and not the address on top of the stack
    uint64_t pieced; // bytes of result.pieces so far
};

// expression_finish sets a result other than the address on top of the stack.
static void expression_finish(struct evaluation *e, enum argument_place kind,
                              uint64_t value)
{
    e->result.kind = kind;
    e->result.value = value;
    e->done = true;
}

static void in_register(struct evaluation *e, uint64_t reg)
{
    const uint8_t *vector = argument_frame_vector(e->context->frame, reg);
    if (vector != NULL) {
        e->result.bytes = vector;
        expression_finish(e, ARGUMENT_IS_BYTES, ARGUMENT_VECTOR_BYTES);
        return;
    }
    if (!argument_frame_knows(e->context->frame, reg))
        dwarf_machine_fail(&e->machine, CH_ERR_NOT_FOUND);
    expression_finish(e, ARGUMENT_IN_REGISTER, reg);
}

// push_entry_value pushes the value of a register at the function's entry; the
// operation's inner expression names the register.
static void push_entry_value(struct evaluation *e, const Dwarf_Op *op)
{
    Dwarf_Attribute inner;
    Dwarf_Op *ops;
    size_t count;
    uint64_t value;
    const struct argument_context *context = e->context;
    if (context->entry == NULL || context->attribute == NULL) {
        dwarf_machine_fail(&e->machine, CH_ERR_NOT_FOUND);
        return;
    }
    if (dwarf_getlocation_attr(context->attribute, op, &inner) != 0 ||
        dwarf_getlocation(&inner, &ops, &count) != 0 || count != 1 ||
        ops[0].atom < DW_OP_reg0 || ops[0].atom > DW_OP_reg31) {
        dwarf_machine_fail(&e->machine, CH_ERR_UNSUPPORTED);
        return;
    }
    enum ch_status status = context->entry(context, ops[0].atom - DW_OP_reg0, &value);
    if (status != CH_OK)
        dwarf_machine_fail(&e->machine, status);
    e->result.entered = true;
    dwarf_machine_push(&e->machine, value);
}

// push_parameter pushes what was passed for a parameter that the code of this function
// no longer has.
static void push_parameter(struct evaluation *e, const Dwarf_Op *op)
{
    Dwarf_Die parameter;
    uint64_t value = 0;
    const struct argument_context *context = e->context;
    if (context->passed == NULL || context->attribute == NULL ||
        dwarf_getlocation_die(context->attribute, op, &parameter) != 0) {
        dwarf_machine_fail(&e->machine, CH_ERR_NOT_FOUND);
        return;
    }
    enum ch_status status = context->passed(context, &parameter, &value);
    if (status != CH_OK)
        dwarf_machine_fail(&e->machine, status);
    e->result.entered = true;
    dwarf_machine_push(&e->machine, value);
}

// push_indexed_address pushes an address from the unit's table of addresses.
static void push_indexed_address(struct evaluation *e, const Dwarf_Op *op)
{
    const struct argument_context *context = e->context;
    Dwarf_Attribute address;
    Dwarf_Addr vaddr;
    if (context->attribute == NULL ||
        dwarf_getlocation_attr(context->attribute, op, &address) != 0 ||
        dwarf_formaddr(&address, &vaddr) != 0)
        dwarf_machine_fail(&e->machine, CH_ERR_UNSUPPORTED);
    else
        dwarf_machine_push(&e->machine, vaddr + context->bias);
}

static void push_block(struct evaluation *e, const Dwarf_Op *op)
{
    Dwarf_Block block;
    if (e->context->attribute == NULL ||
        dwarf_getlocation_implicit_value(e->context->attribute, op, &block) != 0) {
        dwarf_machine_fail(&e->machine, CH_ERR_UNSUPPORTED);
        return;
    }
    e->result.bytes = block.data;
    expression_finish(e, ARGUMENT_IS_BYTES, block.length);
}

// expression_conclude makes the address on top of the stack the location, if no other
// was set.
static void expression_conclude(struct evaluation *e)
{
    if (!e->done && e->machine.status == CH_OK)
        expression_finish(e, ARGUMENT_IN_MEMORY, dwarf_machine_pop(&e->machine));
}

// expression_add_piece appends the bytes at the last location to those of the pieces
// before.
static void expression_add_piece(struct evaluation *e, uint64_t size)
{
    uint8_t *to = e->result.pieces + e->pieced;
    if ((!e->done && e->machine.depth == 0) || // this piece was optimized away
        size > sizeof(e->result.pieces) - e->pieced) {
        dwarf_machine_fail(&e->machine, CH_ERR_UNSUPPORTED);
        return;
    }
    expression_conclude(e);
    if (e->machine.status == CH_OK)
        e->machine.status = argument_location_bytes(&e->result, e->context->frame,
                                                    e->context->memory, to, size);
    e->pieced += size;
    e->done = false;
    e->machine.depth = 0;
}

// do_place executes the operations that only locations have. False: op is none of them.
static bool do_place(struct evaluation *e, const Dwarf_Op *op)
{
    switch (op->atom) {
    case DW_OP_regx:
        in_register(e, op->number);
        return true;
    case DW_OP_stack_value:
        expression_finish(e, ARGUMENT_IS_VALUE, dwarf_machine_pop(&e->machine));
        return true;
    case DW_OP_implicit_value:
        push_block(e, op);
        return true;
    case DW_OP_piece:
        expression_add_piece(e, op->number);
        return true;
    default:
        if (op->atom < DW_OP_reg0 || op->atom > DW_OP_reg31)
            return false;
        in_register(e, (uint64_t)(op->atom - DW_OP_reg0));
        return true;
    }
}

// do_source executes the operations that push something other than registers or memory.
// False: op is none of them.
static bool do_source(struct evaluation *e, const Dwarf_Op *op)
{
    const struct argument_context *context = e->context;
    switch (op->atom) {
    case DW_OP_addr:
        dwarf_machine_push(&e->machine, op->number + context->bias);
        return true;
    case DW_OP_fbreg:
        if (!context->has_frame_base)
            dwarf_machine_fail(&e->machine, CH_ERR_NOT_FOUND);
        dwarf_machine_push(&e->machine, context->frame_base + op->number);
        return true;
    case DW_OP_call_frame_cfa:
        if (context->frame->cfa == 0)
            dwarf_machine_fail(&e->machine, CH_ERR_NOT_FOUND);
        dwarf_machine_push(&e->machine, context->frame->cfa);
        return true;
    case DW_OP_form_tls_address:
    case DW_OP_GNU_push_tls_address:
        if (context->thread_block == 0)
            dwarf_machine_fail(&e->machine, CH_ERR_UNSUPPORTED);
        dwarf_machine_push(&e->machine,
                           context->thread_block + dwarf_machine_pop(&e->machine));
        return true;
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
        push_indexed_address(e, op);
        return true;
    case DW_OP_GNU_parameter_ref:
        push_parameter(e, op);
        return true;
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        push_entry_value(e, op);
        return true;
    default:
        return false;
    }
}

static void do_one(struct evaluation *e, const Dwarf_Op *op)
{
    const struct dwarf_operation plain = { op->atom, op->number, op->number2 };
    e->machine.jump = 0;
    if (e->done && op->atom != DW_OP_piece) // an operation after the end
        dwarf_machine_fail(&e->machine, CH_ERR_UNSUPPORTED);
    else if (!do_place(e, op) && !do_source(e, op))
        dwarf_machine_do(&e->machine, &plain);
}

// expression_find_next gives the index of the operation after i; count: there is none.
// Both operations that jump are three bytes long.
static size_t expression_find_next(struct evaluation *e, const Dwarf_Op *ops,
                                   size_t count, size_t i)
{
    enum { JUMP_BYTES = 3 };
    uint64_t target = ops[i].offset + JUMP_BYTES + (uint64_t)e->machine.jump;
    if (e->machine.jump == 0)
        return i + 1;
    for (size_t next = 0; next < count; next++)
        if (ops[next].offset == target)
            return next;
    dwarf_machine_fail(&e->machine, CH_ERR_MALFORMED);
    return count;
}

enum ch_status argument_expression_evaluate(const struct argument_context *context,
                                            const Dwarf_Op *ops, size_t count,
                                            struct argument_location *out)
{
    struct evaluation e = { .context = context,
                            .machine = { .memory = context->memory,
                                         .registers = &context->frame->registers,
                                         .known = context->frame->known,
                                         .status = CH_OK } };
    for (size_t i = 0; i < count && e.machine.status == CH_OK;
         i = expression_find_next(&e, ops, count, i))
        do_one(&e, &ops[i]);
    if (e.pieced == 0)
        expression_conclude(&e);
    else if (e.done || e.machine.depth != 0) // after the last piece
        dwarf_machine_fail(&e.machine, CH_ERR_UNSUPPORTED);
    else
        expression_finish(&e, ARGUMENT_IS_PIECES, e.pieced);
    if (e.machine.status != CH_OK)
        return e.machine.status;
    *out = e.result;
    return CH_OK;
}

enum ch_status argument_location_bytes(const struct argument_location *location,
                                       const struct argument_frame *frame,
                                       const struct memory_reader *memory, uint8_t *to,
                                       uint64_t size)
{
    uint64_t word = location->value;
    const void *from = &word;
    uint64_t there = sizeof(word);
    if (location->kind == ARGUMENT_IN_MEMORY)
        return memory_read(memory, location->value, to, (size_t)size);
    if (location->kind == ARGUMENT_IN_REGISTER)
        word = frame->registers.value[location->value];
    if (location->kind == ARGUMENT_IS_BYTES || location->kind == ARGUMENT_IS_PIECES) {
        from = location->kind == ARGUMENT_IS_BYTES ? location->bytes : location->pieces;
        there = location->value;
    }
    if (size > there)
        return CH_ERR_UNSUPPORTED;
    memcpy(to, from, (size_t)size);
    return CH_OK;
}
