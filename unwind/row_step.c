// SPDX-License-Identifier: Apache-2.0
#include "unwind/row_step.h"

#include "unwind/dwarf_expression.h"

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

// row_is_stale says whether the frame has restored the register already. A frame saves
// registers below its CFA. GCC leaves the rule of a realigned frame's rbp, *(rbp), in
// force after `leave` has restored the caller's rbp, whose frame lies above.
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

// row_is_plain says whether all that a row recovers lies at offsets from the CFA, which
// is a register plus an offset: nearly every row on x86. Then no rule needs a register
// that another one replaces.
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
