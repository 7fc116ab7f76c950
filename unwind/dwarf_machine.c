// SPDX-License-Identifier: Apache-2.0
#include "unwind/dwarf_machine.h"

#include "base/cursor.h"

enum {
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    WORD_BITS = 64,
};

typedef void operation_fn(struct dwarf_machine *m, const struct dwarf_operation *op);

void dwarf_machine_fail(struct dwarf_machine *m, enum ch_status status)
{
    if (m->status == CH_OK)
        m->status = status;
}

void dwarf_machine_push(struct dwarf_machine *m, uint64_t value)
{
    if (m->depth == DWARF_MACHINE_STACK_MAX) {
        dwarf_machine_fail(m, CH_ERR_LIMIT);
        return;
    }
    m->stack[m->depth++] = value;
}

uint64_t dwarf_machine_pop(struct dwarf_machine *m)
{
    if (m->depth == 0) {
        dwarf_machine_fail(m, CH_ERR_MALFORMED);
        return 0;
    }
    return m->stack[--m->depth];
}

static void machine_pick(struct dwarf_machine *m, uint64_t index)
{
    if (index >= m->depth) {
        dwarf_machine_fail(m, CH_ERR_MALFORMED);
        return;
    }
    dwarf_machine_push(m, m->stack[m->depth - 1 - index]);
}

static void machine_read_target(struct dwarf_machine *m, size_t size)
{
    uint8_t bytes[8];
    uint64_t address = dwarf_machine_pop(m);
    if (size == 0 || size > sizeof(bytes)) {
        dwarf_machine_fail(m, CH_ERR_MALFORMED);
        return;
    }
    if (m->status != CH_OK)
        return;
    if (memory_read(m->memory, address, bytes, size) != CH_OK) {
        dwarf_machine_fail(m, CH_ERR_FAULT);
        return;
    }
    struct cursor c = cursor_over(bytes, size);
    c.big_endian = m->memory->big_endian;
    dwarf_machine_push(m, cursor_uint(&c, size));
}

static void push_register(struct dwarf_machine *m, uint64_t reg, uint64_t offset)
{
    if (reg >= UNWIND_REGISTERS || !(m->known >> reg & 1)) {
        dwarf_machine_fail(m, CH_ERR_NOT_FOUND);
        return;
    }
    dwarf_machine_push(m, m->registers->value[reg] + offset);
}

static void op_constant(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    dwarf_machine_push(m, op->number);
}

static void op_deref(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    (void)op;
    machine_read_target(m, m->memory->narrow ? 4 : 8);
}

static void op_deref_size(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    machine_read_target(m, op->number);
}

static void op_dup(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    (void)op;
    machine_pick(m, 0);
}

static void op_drop(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    (void)op;
    (void)dwarf_machine_pop(m);
}

static void op_over(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    (void)op;
    machine_pick(m, 1);
}

static void op_pick(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    machine_pick(m, op->number);
}

static void op_swap(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    (void)op;
    uint64_t top = dwarf_machine_pop(m);
    uint64_t second = dwarf_machine_pop(m);
    dwarf_machine_push(m, top);
    dwarf_machine_push(m, second);
}

static void op_rot(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    (void)op;
    uint64_t top = dwarf_machine_pop(m);
    uint64_t second = dwarf_machine_pop(m);
    uint64_t third = dwarf_machine_pop(m);
    dwarf_machine_push(m, top);
    dwarf_machine_push(m, third);
    dwarf_machine_push(m, second);
}

static void op_abs(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    (void)op;
    uint64_t value = dwarf_machine_pop(m);
    dwarf_machine_push(m, value >> (WORD_BITS - 1) ? -value : value);
}

static void op_neg(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    (void)op;
    dwarf_machine_push(m, -dwarf_machine_pop(m));
}

static void op_not(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    (void)op;
    dwarf_machine_push(m, ~dwarf_machine_pop(m));
}

static void op_plus_constant(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    dwarf_machine_push(m, dwarf_machine_pop(m) + op->number);
}

// machine_divide divides signed numbers, as DWARF specifies. INT64_MIN / -1 overflows,
// which traps on x86-64; the result wraps instead.
static uint64_t machine_divide(struct dwarf_machine *m, uint64_t a, uint64_t b)
{
    if (b == 0) {
        dwarf_machine_fail(m, CH_ERR_MALFORMED);
        return 0;
    }
    if (b == UINT64_MAX)
        return -a;
    return (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t machine_modulo(struct dwarf_machine *m, uint64_t a, uint64_t b)
{
    if (b == 0) {
        dwarf_machine_fail(m, CH_ERR_MALFORMED);
        return 0;
    }
    return a % b;
}

static uint64_t shift_signed(uint64_t value, uint64_t by)
{
    if (by >= WORD_BITS)
        by = WORD_BITS - 1;
    return (uint64_t)((int64_t)value >> by);
}

// op_binary executes every operation that replaces two words by one.
static void op_binary(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    uint64_t b = dwarf_machine_pop(m);
    uint64_t a = dwarf_machine_pop(m);
    switch (op->code) {
    case 0x1a:
        dwarf_machine_push(m, a & b);
        return;
    case 0x1b:
        dwarf_machine_push(m, machine_divide(m, a, b));
        return;
    case 0x1c:
        dwarf_machine_push(m, a - b);
        return;
    case 0x1d:
        dwarf_machine_push(m, machine_modulo(m, a, b));
        return;
    case 0x1e:
        dwarf_machine_push(m, a * b);
        return;
    case 0x21:
        dwarf_machine_push(m, a | b);
        return;
    case 0x22:
        dwarf_machine_push(m, a + b);
        return;
    case 0x24:
        dwarf_machine_push(m, b < WORD_BITS ? a << b : 0);
        return;
    case 0x25:
        dwarf_machine_push(m, b < WORD_BITS ? a >> b : 0);
        return;
    case 0x26:
        dwarf_machine_push(m, shift_signed(a, b));
        return;
    default: // 0x27
        dwarf_machine_push(m, a ^ b);
        return;
    }
}

static void op_compare(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    int64_t b = (int64_t)dwarf_machine_pop(m);
    int64_t a = (int64_t)dwarf_machine_pop(m);
    switch (op->code) {
    case 0x29:
        dwarf_machine_push(m, a == b);
        return;
    case 0x2a:
        dwarf_machine_push(m, a >= b);
        return;
    case 0x2b:
        dwarf_machine_push(m, a > b);
        return;
    case 0x2c:
        dwarf_machine_push(m, a <= b);
        return;
    case 0x2d:
        dwarf_machine_push(m, a < b);
        return;
    default: // 0x2e
        dwarf_machine_push(m, a != b);
        return;
    }
}

static void op_skip(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    m->jump = (int16_t)op->number;
}

static void op_branch(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    if (dwarf_machine_pop(m) != 0)
        m->jump = (int16_t)op->number;
}

static void op_register_number(struct dwarf_machine *m,
                               const struct dwarf_operation *op)
{
    push_register(m, op->number, op->number2);
}

static void machine_op_nop(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    (void)op;
    (void)m;
}

// By opcode (DWARF 5, section 7.7.1). Operations that are missing are not supported.
static operation_fn *const operations[] = {
    [0x03] = op_constant,   [0x06] = op_deref,         [0x08] = op_constant,
    [0x09] = op_constant,   [0x0a] = op_constant,      [0x0b] = op_constant,
    [0x0c] = op_constant,   [0x0d] = op_constant,      [0x0e] = op_constant,
    [0x0f] = op_constant,   [0x10] = op_constant,      [0x11] = op_constant,
    [0x12] = op_dup,        [0x13] = op_drop,          [0x14] = op_over,
    [0x15] = op_pick,       [0x16] = op_swap,          [0x17] = op_rot,
    [0x19] = op_abs,        [0x1a] = op_binary,        [0x1b] = op_binary,
    [0x1c] = op_binary,     [0x1d] = op_binary,        [0x1e] = op_binary,
    [0x1f] = op_neg,        [0x20] = op_not,           [0x21] = op_binary,
    [0x22] = op_binary,     [0x23] = op_plus_constant, [0x24] = op_binary,
    [0x25] = op_binary,     [0x26] = op_binary,        [0x27] = op_binary,
    [0x28] = op_branch,     [0x29] = op_compare,       [0x2a] = op_compare,
    [0x2b] = op_compare,    [0x2c] = op_compare,       [0x2d] = op_compare,
    [0x2e] = op_compare,    [0x2f] = op_skip,          [0x92] = op_register_number,
    [0x94] = op_deref_size, [0x96] = machine_op_nop,
};

void dwarf_machine_do(struct dwarf_machine *m, const struct dwarf_operation *op)
{
    m->jump = 0;
    if (++m->operations > DWARF_MACHINE_OPERATIONS_MAX)
        dwarf_machine_fail(m, CH_ERR_LIMIT);
    else if (op->code >= OP_LIT0 && op->code <= OP_LIT31)
        dwarf_machine_push(m, op->code - OP_LIT0);
    else if (op->code >= OP_BREG0 && op->code <= OP_BREG31)
        push_register(m, op->code - OP_BREG0, op->number);
    else if (op->code < sizeof(operations) / sizeof(*operations) &&
             operations[op->code] != NULL)
        operations[op->code](m, op);
    else
        dwarf_machine_fail(m, CH_ERR_UNSUPPORTED);
}
