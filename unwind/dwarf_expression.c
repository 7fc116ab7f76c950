// SPDX-License-Identifier: Apache-2.0
#include "unwind/dwarf_expression.h"

#include "base/cursor.h"

enum {
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    WORD_BITS = 64,
};

struct machine {
    struct cursor input;
    const struct memory_reader *memory;
    const struct unwind_state *state;
    enum ch_status status; // the first failure
    uint8_t op;            // under way
    unsigned depth;
    uint64_t stack[DWARF_EXPRESSION_STACK_MAX];
};

typedef void operation_fn(struct machine *m);

static void fail(struct machine *m, enum ch_status status)
{
    if (m->status == CH_OK)
        m->status = status;
}

static void push(struct machine *m, uint64_t value)
{
    if (m->depth == DWARF_EXPRESSION_STACK_MAX) {
        fail(m, CH_ERR_LIMIT);
        return;
    }
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

static void pick(struct machine *m, uint64_t index)
{
    if (index >= m->depth) {
        fail(m, CH_ERR_MALFORMED);
        return;
    }
    push(m, m->stack[m->depth - 1 - index]);
}

static void read_target(struct machine *m, size_t size)
{
    uint8_t bytes[8];
    uint64_t address = pop(m);
    if (size == 0 || size > sizeof(bytes)) {
        fail(m, CH_ERR_MALFORMED);
        return;
    }
    if (m->status != CH_OK)
        return;
    if (memory_read(m->memory, address, bytes, size) != CH_OK) {
        fail(m, CH_ERR_FAULT);
        return;
    }
    struct cursor c = cursor_over(bytes, size);
    c.big_endian = m->memory->big_endian;
    push(m, cursor_uint(&c, size));
}

static void push_register(struct machine *m, uint64_t reg)
{
    uint64_t offset = (uint64_t)cursor_sleb128(&m->input);
    if (reg >= UNWIND_REGISTERS || !unwind_state_knows(m->state, (unsigned)reg)) {
        fail(m, CH_ERR_UNSUPPORTED);
        return;
    }
    push(m, m->state->registers.value[reg] + offset);
}

static void push_signed(struct machine *m, size_t size)
{
    push(m, (uint64_t)cursor_sint(&m->input, size));
}

static void op_unsigned_1(struct machine *m)
{
    push(m, cursor_u8(&m->input));
}

static void op_unsigned_2(struct machine *m)
{
    push(m, cursor_u16(&m->input));
}

static void op_unsigned_4(struct machine *m)
{
    push(m, cursor_u32(&m->input));
}

static void op_word(struct machine *m)
{
    push(m, cursor_u64(&m->input));
}

static void op_signed_1(struct machine *m)
{
    push_signed(m, 1);
}

static void op_signed_2(struct machine *m)
{
    push_signed(m, 2);
}

static void op_signed_4(struct machine *m)
{
    push_signed(m, 4);
}

static void op_uleb128(struct machine *m)
{
    push(m, cursor_uleb128(&m->input));
}

static void op_sleb128(struct machine *m)
{
    push(m, (uint64_t)cursor_sleb128(&m->input));
}

static void op_deref(struct machine *m)
{
    read_target(m, 8);
}

static void op_deref_size(struct machine *m)
{
    read_target(m, cursor_u8(&m->input));
}

static void op_dup(struct machine *m)
{
    pick(m, 0);
}

static void op_drop(struct machine *m)
{
    (void)pop(m);
}

static void op_over(struct machine *m)
{
    pick(m, 1);
}

static void op_pick(struct machine *m)
{
    pick(m, cursor_u8(&m->input));
}

static void op_swap(struct machine *m)
{
    uint64_t top = pop(m);
    uint64_t second = pop(m);
    push(m, top);
    push(m, second);
}

static void op_rot(struct machine *m)
{
    uint64_t top = pop(m);
    uint64_t second = pop(m);
    uint64_t third = pop(m);
    push(m, top);
    push(m, third);
    push(m, second);
}

static void op_abs(struct machine *m)
{
    uint64_t value = pop(m);
    push(m, value >> (WORD_BITS - 1) ? -value : value);
}

static void op_neg(struct machine *m)
{
    push(m, -pop(m));
}

static void op_not(struct machine *m)
{
    push(m, ~pop(m));
}

static void op_plus_constant(struct machine *m)
{
    uint64_t addend = cursor_uleb128(&m->input);
    push(m, pop(m) + addend);
}

// divide does signed division as DWARF has it; the one that overflows wraps.
static uint64_t divide(struct machine *m, uint64_t a, uint64_t b)
{
    if (b == 0) {
        fail(m, CH_ERR_MALFORMED);
        return 0;
    }
    if (b == UINT64_MAX)
        return -a;
    return (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t modulo(struct machine *m, uint64_t a, uint64_t b)
{
    if (b == 0) {
        fail(m, CH_ERR_MALFORMED);
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

// op_binary is every operation that makes one word out of two.
static void op_binary(struct machine *m)
{
    uint64_t b = pop(m);
    uint64_t a = pop(m);
    switch (m->op) {
    case 0x1a:
        push(m, a & b);
        return;
    case 0x1b:
        push(m, divide(m, a, b));
        return;
    case 0x1c:
        push(m, a - b);
        return;
    case 0x1d:
        push(m, modulo(m, a, b));
        return;
    case 0x1e:
        push(m, a * b);
        return;
    case 0x21:
        push(m, a | b);
        return;
    case 0x22:
        push(m, a + b);
        return;
    case 0x24:
        push(m, b < WORD_BITS ? a << b : 0);
        return;
    case 0x25:
        push(m, b < WORD_BITS ? a >> b : 0);
        return;
    case 0x26:
        push(m, shift_signed(a, b));
        return;
    default: // 0x27
        push(m, a ^ b);
        return;
    }
}

static void op_compare(struct machine *m)
{
    int64_t b = (int64_t)pop(m);
    int64_t a = (int64_t)pop(m);
    switch (m->op) {
    case 0x29:
        push(m, a == b);
        return;
    case 0x2a:
        push(m, a >= b);
        return;
    case 0x2b:
        push(m, a > b);
        return;
    case 0x2c:
        push(m, a <= b);
        return;
    case 0x2d:
        push(m, a < b);
        return;
    default: // 0x2e
        push(m, a != b);
        return;
    }
}

static void jump(struct machine *m, int16_t distance)
{
    int64_t target = (int64_t)cursor_offset(&m->input) + distance;
    if (!cursor_ok(&m->input))
        return;
    if (target < 0) {
        fail(m, CH_ERR_MALFORMED);
        return;
    }
    cursor_seek(&m->input, (size_t)target);
}

static void op_skip(struct machine *m)
{
    jump(m, (int16_t)cursor_u16(&m->input));
}

static void op_branch(struct machine *m)
{
    int16_t distance = (int16_t)cursor_u16(&m->input);
    if (pop(m) != 0)
        jump(m, distance);
}

static void op_register_number(struct machine *m)
{
    push_register(m, cursor_uleb128(&m->input));
}

static void op_nop(struct machine *m)
{
    (void)m;
}

static operation_fn *const operations[] = {
    [0x03] = op_word,       [0x06] = op_deref,         [0x08] = op_unsigned_1,
    [0x09] = op_signed_1,   [0x0a] = op_unsigned_2,    [0x0b] = op_signed_2,
    [0x0c] = op_unsigned_4, [0x0d] = op_signed_4,      [0x0e] = op_word,
    [0x0f] = op_word,       [0x10] = op_uleb128,       [0x11] = op_sleb128,
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
    [0x94] = op_deref_size, [0x96] = op_nop,
};

static void run_one(struct machine *m)
{
    m->op = cursor_u8(&m->input);
    if (m->op >= OP_LIT0 && m->op <= OP_LIT31)
        push(m, m->op - OP_LIT0);
    else if (m->op >= OP_BREG0 && m->op <= OP_BREG31)
        push_register(m, m->op - OP_BREG0);
    else if (m->op < sizeof(operations) / sizeof(*operations) &&
             operations[m->op] != NULL)
        operations[m->op](m);
    else
        fail(m, CH_ERR_UNSUPPORTED);
    if (!cursor_ok(&m->input))
        fail(m, CH_ERR_TRUNCATED);
}

enum ch_status dwarf_expression_run(const struct dwarf_expression *expression,
                                    const struct memory_reader *memory,
                                    const struct unwind_state *state,
                                    const uint64_t *first, uint64_t *out)
{
    // The stack is not cleared: no word of it is read that was not pushed.
    struct machine m;
    m.input = cursor_over(expression->bytes, expression->size);
    m.input.big_endian = memory->big_endian;
    m.memory = memory;
    m.state = state;
    m.status = CH_OK;
    m.depth = 0;
    if (first != NULL)
        push(&m, *first);

    for (unsigned count = 0; m.status == CH_OK && cursor_left(&m.input) != 0; count++) {
        if (count == DWARF_EXPRESSION_OPERATIONS_MAX)
            return CH_ERR_LIMIT;
        run_one(&m);
    }
    uint64_t result = pop(&m);
    if (m.status != CH_OK)
        return m.status;
    *out = result;
    return CH_OK;
}
