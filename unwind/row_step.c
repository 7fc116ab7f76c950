// SPDX-License-Identifier: Apache-2.0
#include "unwind/row_step.h"

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

// recovered is a register's new value. All are found before the first is written, as
// rules refer to the old ones. Two words are returned in registers, which is why the
// struct does not name its register.
struct recovered {
    uint64_t value;
    bool known;
};

static enum ch_status read_register(const struct unwind_state *state, unsigned reg,
                                    uint64_t *out)
{
    if (!unwind_state_knows(state, reg))
        return CH_ERR_UNSUPPORTED;
    *out = state->registers.value[reg];
    return CH_OK;
}

enum ch_status row_step_cfa(const struct row_step *step,
                            const struct unwind_state *state, uint64_t *out)
{
    const struct unwind_rule *rule = &step->row->cfa;
    uint64_t base = 0;
    if (rule->kind == UNWIND_EXPRESSION || rule->kind == UNWIND_AT_EXPRESSION) {
        const struct dwarf_expression expression = { rule->expression,
                                                     rule->expression_size };
        return dwarf_expression_run(&expression, step->memory, state, NULL, out);
    }
    if (rule->kind != UNWIND_REGISTER_PLUS && rule->kind != UNWIND_AT_REGISTER)
        return CH_ERR_MALFORMED;

    enum ch_status status = read_register(state, rule->reg, &base);
    if (status != CH_OK)
        return status;
    base += (uint64_t)rule->offset;
    if (rule->kind == UNWIND_AT_REGISTER)
        return memory_read_word(step->memory, base, out);
    *out = base;
    return CH_OK;
}

static bool is_in_memory(const struct unwind_rule *rule)
{
    return rule->kind == UNWIND_AT_CFA || rule->kind == UNWIND_AT_REGISTER ||
           rule->kind == UNWIND_AT_EXPRESSION;
}

// row_find_place evaluates a register's rule, which is neither SAME nor UNDEFINED: it
// gives the register's value, or the address of the word that holds it.
static enum ch_status row_find_place(const struct row_step *step,
                                     const struct unwind_state *state,
                                     const struct unwind_rule *rule, uint64_t cfa,
                                     uint64_t *out)
{
    uint64_t base = cfa;
    if (rule->kind == UNWIND_EXPRESSION || rule->kind == UNWIND_AT_EXPRESSION) {
        const struct dwarf_expression expression = { rule->expression,
                                                     rule->expression_size };
        return dwarf_expression_run(&expression, step->memory, state, &cfa, out);
    }
    if (rule->kind == UNWIND_REGISTER_PLUS || rule->kind == UNWIND_AT_REGISTER) {
        enum ch_status status = read_register(state, rule->reg, &base);
        if (status != CH_OK)
            return status;
    }
    *out = base + (uint64_t)rule->offset;
    return CH_OK;
}

static enum ch_status find_return(const struct row_step *step,
                                  const struct unwind_state *state, uint64_t cfa,
                                  uint64_t *out)
{
    const struct unwind_rule *rule = &step->row->ra;
    uint64_t address;
    enum ch_status status;
    if (rule->kind == UNWIND_SAME) {
        // The return address is still in its register only in a function that has not
        // called another yet.
        if (step->arch->link == UNWIND_NO_LINK)
            return CH_END;
        status = read_register(state, step->arch->link, &address);
    } else {
        status = row_find_place(step, state, rule, cfa, &address);
        if (status == CH_OK && is_in_memory(rule))
            status = memory_read_word(step->memory, address, &address);
    }
    if (status != CH_OK)
        return status;
    *out = unwind_arch_address(step->arch, address);
    return CH_OK;
}

// row_is_stale returns true if the frame has restored the register already. A frame
// saves registers below its CFA. GCC leaves the rule of a realigned frame's rbp,
// *(rbp), in force after `leave` has restored the caller's rbp, whose frame is above.
static bool row_is_stale(const struct row_step *step, const struct unwind_rule *rule,
                         uint64_t place, uint64_t cfa)
{
    return step->exact && !(step->row->flags & UNWIND_SIGNAL_FRAME) && place >= cfa &&
           (rule->kind == UNWIND_AT_REGISTER || rule->kind == UNWIND_AT_EXPRESSION);
}

// find_register finds one register of the caller. A register that cannot be found
// becomes unknown, which is an error only for a later rule that needs it.
static struct recovered find_register(const struct row_step *step,
                                      const struct unwind_state *state, unsigned reg,
                                      const struct unwind_rule *rule, uint64_t cfa)
{
    const struct recovered same = { state->registers.value[reg],
                                    unwind_state_knows(state, reg) };
    const struct recovered unknown = { 0 };
    uint64_t place = 0;
    uint64_t value = 0;
    if (rule->kind == UNWIND_SAME)
        return same;
    if (rule->kind == UNWIND_UNDEFINED ||
        row_find_place(step, state, rule, cfa, &place) != CH_OK)
        return unknown;
    if (!is_in_memory(rule))
        return (struct recovered){ place, true };
    if (row_is_stale(step, rule, place, cfa))
        return same;
    if (memory_read_word(step->memory, place, &value) != CH_OK)
        return unknown;
    return (struct recovered){ value, true };
}

static void row_put(struct unwind_state *state, unsigned reg, struct recovered found)
{
    if (found.known)
        unwind_state_set(state, reg, found.value);
    else
        unwind_state_forget(state, reg);
}

// row_is_plain returns true if all that a row recovers is at offsets from the CFA,
// which is a register plus an offset: nearly every row on x86. Then no rule needs a
// register that another one replaces.
static bool row_is_plain(const struct row_step *step)
{
    const struct unwind_row *row = step->row;
    if (row->flags != 0 || step->only_tracks || step->arch->link != UNWIND_NO_LINK ||
        row->cfa.kind != UNWIND_REGISTER_PLUS || row->ra.kind != UNWIND_AT_CFA ||
        (row->fp.kind != UNWIND_SAME && row->fp.kind != UNWIND_AT_CFA))
        return false;
    for (uint32_t i = 0; i < row->other_count; i++)
        if (row->others[i].rule.kind != UNWIND_AT_CFA)
            return false;
    return true;
}

// row_take reads a register's value from the stack; it becomes unknown where that
// cannot be read.
static void row_take(const struct row_step *step, struct unwind_state *state,
                     unsigned reg, uint64_t address)
{
    uint64_t value;
    if (memory_read_word(step->memory, address, &value) == CH_OK)
        unwind_state_set(state, reg, value);
    else
        unwind_state_forget(state, reg);
}

// row_step_plain is row_step for a plain row, in half the time.
static enum ch_status row_step_plain(const struct row_step *step,
                                     struct unwind_state *state)
{
    const struct unwind_row *row = step->row;
    const struct unwind_arch *arch = step->arch;
    uint64_t cfa;
    uint64_t pc;
    enum ch_status status = read_register(state, row->cfa.reg, &cfa);
    if (status != CH_OK)
        return status;
    cfa += (uint64_t)row->cfa.offset;
    status = memory_read_word(step->memory, cfa + (uint64_t)row->ra.offset, &pc);
    if (status != CH_OK)
        return status;
    state->kept &= arch->kept;
    if (row->fp.kind == UNWIND_AT_CFA)
        row_take(step, state, arch->fp, cfa + (uint64_t)row->fp.offset);
    else if (unwind_state_knows(state, arch->fp))
        state->kept |= UINT64_C(1) << arch->fp;
    unwind_state_set(state, arch->sp, cfa - arch->stack_below);
    unwind_state_set(state, arch->pc, unwind_arch_address(arch, pc));
    for (uint32_t i = 0; i < row->other_count; i++)
        row_take(step, state, row->others[i].reg,
                 cfa + (uint64_t)row->others[i].rule.offset);
    return CH_OK;
}

enum ch_status row_step(const struct row_step *step, struct unwind_state *state)
{
    if (row_is_plain(step))
        return row_step_plain(step, state);
    const struct unwind_row *row = step->row;
    const struct unwind_arch *arch = step->arch;
    struct recovered others[UNWIND_OTHERS_MAX];
    uint64_t cfa;
    uint64_t pc;

    if (row->flags & UNWIND_OUTERMOST)
        return CH_END;
    enum ch_status status = row_step_cfa(step, state, &cfa);
    if (status == CH_OK)
        status = find_return(step, state, cfa, &pc);
    if (status != CH_OK)
        return status;

    struct recovered fp = find_register(step, state, arch->fp, &row->fp, cfa);
    for (uint32_t i = 0; i < row->other_count; i++)
        others[i] =
            find_register(step, state, row->others[i].reg, &row->others[i].rule, cfa);

    if (step->only_tracks)
        state->known = 0;
    // A call overwrites the link register and the caller-saved registers; a signal that
    // interrupted the frame does not.
    bool called = !(row->flags & UNWIND_SIGNAL_FRAME);
    if (called && arch->link != UNWIND_NO_LINK)
        unwind_state_forget(state, arch->link);
    if (called)
        state->kept &= arch->kept;
    row_put(state, arch->fp, fp);
    unwind_state_set(state, arch->sp, cfa - arch->stack_below);
    unwind_state_set(state, arch->pc, pc);
    for (uint32_t i = 0; i < row->other_count; i++)
        if (row->others[i].rule.kind != UNWIND_SAME)
            row_put(state, row->others[i].reg, others[i]);
    return CH_OK;
}
