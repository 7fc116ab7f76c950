// SPDX-License-Identifier: Apache-2.0
#include "unwind/dwarf_expression.h"

#include "base/cursor.h"
#include "unwind/dwarf_machine.h"

enum { OP_BREG0 = 0x70, OP_BREG31 = 0x8f };

// operand is the encoding of an operation's operands.
enum operand {
    OPERAND_NONE,
    OPERAND_U8,
    OPERAND_U16,
    OPERAND_U32,
    OPERAND_S8,
    OPERAND_S16,
    OPERAND_S32,
    OPERAND_WORD,
    OPERAND_ULEB128,
    OPERAND_SLEB128,
    OPERAND_REGISTER, // a register number, then an offset
};

// By opcode (DWARF 5, section 7.7.1).
static const uint8_t operands[] = {
    [0x03] = OPERAND_WORD,     [0x08] = OPERAND_U8,      [0x09] = OPERAND_S8,
    [0x0a] = OPERAND_U16,      [0x0b] = OPERAND_S16,     [0x0c] = OPERAND_U32,
    [0x0d] = OPERAND_S32,      [0x0e] = OPERAND_WORD,    [0x0f] = OPERAND_WORD,
    [0x10] = OPERAND_ULEB128,  [0x11] = OPERAND_SLEB128, [0x15] = OPERAND_U8,
    [0x23] = OPERAND_ULEB128,  [0x28] = OPERAND_S16,     [0x2f] = OPERAND_S16,
    [0x92] = OPERAND_REGISTER, [0x94] = OPERAND_U8,
};

static enum operand operand_of(uint8_t code)
{
    if (code >= OP_BREG0 && code <= OP_BREG31)
        return OPERAND_SLEB128;
    return code < sizeof(operands) ? (enum operand)operands[code] : OPERAND_NONE;
}

static uint64_t read_expression_operand(struct cursor *input, enum operand operand)
{
    switch (operand) {
    case OPERAND_U8:
        return cursor_u8(input);
    case OPERAND_U16:
        return cursor_u16(input);
    case OPERAND_U32:
        return cursor_u32(input);
    case OPERAND_S8:
        return (uint64_t)cursor_sint(input, 1);
    case OPERAND_S16:
        return (uint64_t)cursor_sint(input, 2);
    case OPERAND_S32:
        return (uint64_t)cursor_sint(input, 4);
    case OPERAND_WORD:
        return cursor_u64(input);
    case OPERAND_ULEB128:
    case OPERAND_REGISTER:
        return cursor_uleb128(input);
    case OPERAND_SLEB128:
        return (uint64_t)cursor_sleb128(input);
    default:
        return 0;
    }
}

// expression_jump continues distance bytes after the current position.
static enum ch_status expression_jump(struct cursor *input, int distance)
{
    int64_t target = (int64_t)cursor_offset(input) + distance;
    if (target < 0)
        return CH_ERR_MALFORMED;
    cursor_seek(input, (size_t)target);
    return cursor_ok(input) ? CH_OK : CH_ERR_TRUNCATED;
}

// expression_step decodes and executes one operation.
static enum ch_status expression_step(struct cursor *input, struct dwarf_machine *m)
{
    struct dwarf_operation op = { .code = cursor_u8(input) };
    enum operand operand = operand_of(op.code);
    op.number = read_expression_operand(input, operand);
    if (operand == OPERAND_REGISTER)
        op.number2 = (uint64_t)cursor_sleb128(input);
    if (!cursor_ok(input))
        return CH_ERR_TRUNCATED;
    dwarf_machine_do(m, &op);
    if (m->status != CH_OK || m->jump == 0)
        return m->status;
    return expression_jump(input, m->jump);
}

enum ch_status dwarf_expression_run(const struct dwarf_expression *expression,
                                    const struct memory_reader *memory,
                                    const struct unwind_state *state,
                                    const uint64_t *first, uint64_t *out)
{
    struct cursor input = cursor_over(expression->bytes, expression->size);
    input.big_endian = memory->big_endian;
    // The stack is not cleared, which saves time: only words that were pushed are read.
    struct dwarf_machine m;
    m.memory = memory;
    m.registers = &state->registers;
    m.known = state->known;
    m.status = CH_OK;
    m.operations = 0;
    m.depth = 0;
    if (first != NULL)
        dwarf_machine_push(&m, *first);

    enum ch_status status = CH_OK;
    while (status == CH_OK && cursor_left(&input) != 0)
        status = expression_step(&input, &m);
    // Another unwind method may do without the register that is missing here.
    if (status == CH_ERR_NOT_FOUND)
        return CH_ERR_UNSUPPORTED;
    uint64_t result = status == CH_OK ? dwarf_machine_pop(&m) : 0;
    if (status == CH_OK)
        status = m.status;
    if (status != CH_OK)
        return status;
    *out = result;
    return CH_OK;
}
