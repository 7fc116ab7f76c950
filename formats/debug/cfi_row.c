// SPDX-License-Identifier: Apache-2.0
//
// Executes an FDE's instructions up to the address that is asked for.
//
// The instructions build the rules of one address after another; the machine stops
// where the next address would be past the one wanted. DWARF 5, section 6.4.
#include "formats/debug/cfi.h"

enum {
    REMEMBERED_MAX = 4, // of nested DW_CFA_remember_state; real code nests twice, and
                        // a signal handler that captures has a small stack

    OP_PRIMARY_SHIFT = 6,
    OP_OPERAND = 0x3f,
    OP_ADVANCE = 1,
    OP_OFFSET = 2,
    OP_RESTORE = 3,
    OP_COUNT = 64,
};

struct rules {
    struct unwind_rule cfa;
    struct unwind_rule of[UNWIND_REGISTERS_MAX];
    bool mangled;
};

struct machine {
    const struct cfi_section *section;
    const struct cfi_processor *processor;
    const struct cfi_cie *cie;
    const struct cfi_fde *fde;
    struct cursor input;
    uint64_t input_address; // of the input's first byte
    uint64_t wanted;
    uint64_t at;  // the rules hold from this address
    uint64_t end; // up to this one, once it is known
    bool found;
    struct rules now;
    const struct rules *initial; // those of the CIE; NULL while they are being made
    unsigned remembered;
    struct rules memory[REMEMBERED_MAX];
};

typedef enum ch_status operation_fn(struct machine *m);

static struct unwind_rule plain_rule(enum unwind_rule_kind kind)
{
    return (struct unwind_rule){ .kind = (uint8_t)kind };
}

static struct unwind_rule offset_rule(enum unwind_rule_kind kind, uint64_t reg,
                                      int64_t offset)
{
    return (struct unwind_rule){ .kind = (uint8_t)kind,
                                 .reg = reg <= UINT16_MAX ? (uint16_t)reg : UINT16_MAX,
                                 .offset = offset };
}

// set_rule sets the rule of a register we know; rules of all others are dropped.
static void set_rule(struct machine *m, uint64_t reg, struct unwind_rule rule)
{
    if (reg < m->processor->register_count)
        m->now.of[reg] = rule;
}

// scaled multiplies by the CIE's factor; addresses wrap, as they do in hardware.
static int64_t scaled(const struct machine *m, uint64_t value)
{
    return (int64_t)(value * (uint64_t)m->cie->data_align);
}

static enum ch_status advance_to(struct machine *m, uint64_t address)
{
    if (address < m->at)
        return CH_ERR_MALFORMED;
    if (address > m->wanted) {
        m->end = address;
        m->found = true;
        return CH_OK;
    }
    m->at = address;
    return CH_OK;
}

static enum ch_status advance_by(struct machine *m, uint64_t delta)
{
    return advance_to(m, m->at + delta * m->cie->code_align);
}

static enum ch_status cfi_op_nop(struct machine *m)
{
    (void)m;
    return CH_OK;
}

static enum ch_status op_set_loc(struct machine *m)
{
    const struct cfi_bases bases = { .text = m->section->text,
                                     .data = m->section->data,
                                     .function = m->fde->start };
    uint64_t address;
    enum ch_status status = cfi_read_pointer(
        &m->input, m->input_address, m->cie->pointer_encoding, &bases, &address);
    if (status != CH_OK)
        return status;
    if (m->section->kind == CFI_DEBUG_FRAME)
        address += m->section->bias;
    return advance_to(m, address);
}

static enum ch_status op_advance_1(struct machine *m)
{
    return advance_by(m, cursor_u8(&m->input));
}

static enum ch_status op_advance_2(struct machine *m)
{
    return advance_by(m, cursor_u16(&m->input));
}

static enum ch_status op_advance_4(struct machine *m)
{
    return advance_by(m, cursor_u32(&m->input));
}

static enum ch_status op_advance_8(struct machine *m)
{
    return advance_by(m, cursor_u64(&m->input));
}

static enum ch_status op_offset(struct machine *m)
{
    uint64_t reg = cursor_uleb128(&m->input);
    uint64_t factored = cursor_uleb128(&m->input);
    set_rule(m, reg, offset_rule(UNWIND_AT_CFA, 0, scaled(m, factored)));
    return CH_OK;
}

static enum ch_status op_offset_signed(struct machine *m)
{
    uint64_t reg = cursor_uleb128(&m->input);
    int64_t factored = cursor_sleb128(&m->input);
    set_rule(m, reg, offset_rule(UNWIND_AT_CFA, 0, scaled(m, (uint64_t)factored)));
    return CH_OK;
}

static enum ch_status op_offset_negative(struct machine *m)
{
    uint64_t reg = cursor_uleb128(&m->input);
    uint64_t factored = cursor_uleb128(&m->input);
    set_rule(m, reg, offset_rule(UNWIND_AT_CFA, 0, scaled(m, -factored)));
    return CH_OK;
}

static enum ch_status op_value_offset(struct machine *m)
{
    uint64_t reg = cursor_uleb128(&m->input);
    uint64_t factored = cursor_uleb128(&m->input);
    set_rule(m, reg, offset_rule(UNWIND_CFA_PLUS, 0, scaled(m, factored)));
    return CH_OK;
}

static enum ch_status op_value_offset_signed(struct machine *m)
{
    uint64_t reg = cursor_uleb128(&m->input);
    int64_t factored = cursor_sleb128(&m->input);
    set_rule(m, reg, offset_rule(UNWIND_CFA_PLUS, 0, scaled(m, (uint64_t)factored)));
    return CH_OK;
}

static enum ch_status restore_rule(struct machine *m, uint64_t reg)
{
    if (m->initial == NULL)
        return CH_ERR_MALFORMED;
    if (reg < m->processor->register_count)
        m->now.of[reg] = m->initial->of[reg];
    return CH_OK;
}

static enum ch_status op_restore(struct machine *m)
{
    return restore_rule(m, cursor_uleb128(&m->input));
}

static enum ch_status op_undefined(struct machine *m)
{
    set_rule(m, cursor_uleb128(&m->input), plain_rule(UNWIND_UNDEFINED));
    return CH_OK;
}

static enum ch_status op_same_value(struct machine *m)
{
    set_rule(m, cursor_uleb128(&m->input), plain_rule(UNWIND_SAME));
    return CH_OK;
}

static enum ch_status op_register(struct machine *m)
{
    uint64_t reg = cursor_uleb128(&m->input);
    uint64_t from = cursor_uleb128(&m->input);
    set_rule(m, reg, offset_rule(UNWIND_REGISTER_PLUS, from, 0));
    return CH_OK;
}

static enum ch_status op_remember(struct machine *m)
{
    if (m->remembered == REMEMBERED_MAX)
        return CH_ERR_LIMIT;
    m->memory[m->remembered++] = m->now;
    return CH_OK;
}

static enum ch_status op_restore_state(struct machine *m)
{
    if (m->remembered == 0)
        return CH_ERR_MALFORMED;
    m->now = m->memory[--m->remembered];
    return CH_OK;
}

static enum ch_status op_def_cfa(struct machine *m)
{
    uint64_t reg = cursor_uleb128(&m->input);
    uint64_t offset = cursor_uleb128(&m->input);
    m->now.cfa = offset_rule(UNWIND_REGISTER_PLUS, reg, (int64_t)offset);
    return CH_OK;
}

static enum ch_status op_def_cfa_signed(struct machine *m)
{
    uint64_t reg = cursor_uleb128(&m->input);
    int64_t factored = cursor_sleb128(&m->input);
    m->now.cfa = offset_rule(UNWIND_REGISTER_PLUS, reg, scaled(m, (uint64_t)factored));
    return CH_OK;
}

static enum ch_status op_def_cfa_register(struct machine *m)
{
    uint64_t reg = cursor_uleb128(&m->input);
    if (m->now.cfa.kind != UNWIND_REGISTER_PLUS)
        return CH_ERR_MALFORMED;
    m->now.cfa = offset_rule(UNWIND_REGISTER_PLUS, reg, m->now.cfa.offset);
    return CH_OK;
}

static enum ch_status set_cfa_offset(struct machine *m, int64_t offset)
{
    if (m->now.cfa.kind != UNWIND_REGISTER_PLUS)
        return CH_ERR_MALFORMED;
    m->now.cfa.offset = offset;
    return CH_OK;
}

static enum ch_status op_def_cfa_offset(struct machine *m)
{
    return set_cfa_offset(m, (int64_t)cursor_uleb128(&m->input));
}

static enum ch_status op_def_cfa_offset_signed(struct machine *m)
{
    return set_cfa_offset(m, scaled(m, (uint64_t)cursor_sleb128(&m->input)));
}

// take_expression reads an expression's size and makes a rule point to its bytes.
static enum ch_status take_expression(struct machine *m, enum unwind_rule_kind kind,
                                      struct unwind_rule *out)
{
    uint64_t size = cursor_uleb128(&m->input);
    if (size > cursor_left(&m->input))
        return CH_ERR_TRUNCATED;
    const uint8_t *bytes = cursor_take(&m->input, (size_t)size);
    if (size > UINT32_MAX)
        return CH_ERR_LIMIT;
    *out = (struct unwind_rule){ .kind = (uint8_t)kind,
                                 .expression_size = (uint32_t)size,
                                 .expression = bytes };
    return CH_OK;
}

static enum ch_status op_def_cfa_expression(struct machine *m)
{
    return take_expression(m, UNWIND_EXPRESSION, &m->now.cfa);
}

static enum ch_status register_expression(struct machine *m, enum unwind_rule_kind kind)
{
    struct unwind_rule rule;
    uint64_t reg = cursor_uleb128(&m->input);
    enum ch_status status = take_expression(m, kind, &rule);
    if (status == CH_OK)
        set_rule(m, reg, rule);
    return status;
}

static enum ch_status op_expression(struct machine *m)
{
    return register_expression(m, UNWIND_AT_EXPRESSION);
}

static enum ch_status op_value_expression(struct machine *m)
{
    return register_expression(m, UNWIND_EXPRESSION);
}

static enum ch_status op_sign_return(struct machine *m)
{
    if (!m->processor->signs_returns)
        return CH_ERR_UNSUPPORTED;
    m->now.mangled = !m->now.mangled;
    return CH_OK;
}

static enum ch_status op_args_size(struct machine *m)
{
    (void)cursor_uleb128(&m->input);
    return CH_OK;
}

static operation_fn *const operations[OP_COUNT] = {
    [0x00] = cfi_op_nop,          [0x01] = op_set_loc,
    [0x02] = op_advance_1,        [0x03] = op_advance_2,
    [0x04] = op_advance_4,        [0x05] = op_offset,
    [0x06] = op_restore,          [0x07] = op_undefined,
    [0x08] = op_same_value,       [0x09] = op_register,
    [0x0a] = op_remember,         [0x0b] = op_restore_state,
    [0x0c] = op_def_cfa,          [0x0d] = op_def_cfa_register,
    [0x0e] = op_def_cfa_offset,   [0x0f] = op_def_cfa_expression,
    [0x10] = op_expression,       [0x11] = op_offset_signed,
    [0x12] = op_def_cfa_signed,   [0x13] = op_def_cfa_offset_signed,
    [0x14] = op_value_offset,     [0x15] = op_value_offset_signed,
    [0x16] = op_value_expression, [0x1d] = op_advance_8,
    [0x2c] = op_sign_return, // the PC as a second modifier changes nothing for us
    [0x2d] = op_sign_return,      [0x2e] = op_args_size,
    [0x2f] = op_offset_negative,
};

static enum ch_status cfi_run_one(struct machine *m)
{
    uint8_t op = cursor_u8(&m->input);
    uint8_t operand = op & OP_OPERAND;
    switch (op >> OP_PRIMARY_SHIFT) {
    case OP_ADVANCE:
        return advance_by(m, operand);
    case OP_OFFSET:
        set_rule(m, operand,
                 offset_rule(UNWIND_AT_CFA, 0, scaled(m, cursor_uleb128(&m->input))));
        return CH_OK;
    case OP_RESTORE:
        return restore_rule(m, operand);
    default:
        return operations[op] != NULL ? operations[op](m) : CH_ERR_UNSUPPORTED;
    }
}

// cfi_run executes one program until it ends or the rules wanted are found.
static enum ch_status cfi_run(struct machine *m, const struct cursor *program,
                              uint64_t address)
{
    m->input = *program;
    m->input_address = address;
    while (!m->found && cursor_left(&m->input) != 0) {
        enum ch_status status = cfi_run_one(m);
        if (status != CH_OK)
            return status;
    }
    return cursor_ok(&m->input) ? CH_OK : CH_ERR_TRUNCATED;
}

// cfi_write_row makes a row of the rules.
static enum ch_status cfi_write_row(const struct machine *m, struct unwind_row *out)
{
    const struct cfi_processor *processor = m->processor;
    uint64_t ra = m->cie->return_register;
    if (m->now.cfa.kind == UNWIND_UNDEFINED || ra >= processor->register_count)
        return CH_ERR_UNSUPPORTED;

    out->start = m->at;
    out->end = m->end;
    out->cfa = m->now.cfa;
    out->ra = m->now.of[ra];
    // glibc's rawmemchr of AArch64 has its return address in x15.
    if (out->ra.kind == UNWIND_SAME && processor->fp == UNWIND_AARCH64_FP &&
        ra != UNWIND_AARCH64_RA)
        out->ra =
            (struct unwind_rule){ .kind = UNWIND_REGISTER_PLUS, .reg = (uint16_t)ra };
    out->fp = m->now.of[processor->fp];
    out->flags = (m->cie->signal ? UNWIND_SIGNAL_FRAME : 0) |
                 (m->now.mangled ? UNWIND_RA_MANGLED : 0) |
                 (m->cie->key_b ? UNWIND_KEY_B : 0) |
                 (out->ra.kind == UNWIND_UNDEFINED ? UNWIND_OUTERMOST : 0);
    out->other_count = 0;
    for (uint16_t reg = 0; reg < processor->register_count; reg++) {
        bool named = reg == ra || reg == processor->fp;
        if (named || m->now.of[reg].kind == UNWIND_SAME)
            continue;
        if (out->other_count == UNWIND_OTHERS_MAX)
            return CH_ERR_LIMIT;
        out->others[out->other_count++] =
            (struct unwind_register_rule){ .reg = reg, .rule = m->now.of[reg] };
    }
    return CH_OK;
}

enum ch_status cfi_find_row(const struct cfi_section *section,
                            const struct cfi_processor *processor,
                            const struct cfi_cie *cie, const struct cfi_fde *fde,
                            uint64_t pc, struct unwind_row *out)
{
    struct rules initial;
    struct machine m;
    if (pc < fde->start || pc >= fde->end)
        return CH_ERR_NOT_FOUND;

    // Member by member: clearing the remembered states too would be slow for every row.
    m.section = section;
    m.processor = processor;
    m.cie = cie;
    m.fde = fde;
    m.wanted = pc;
    m.at = fde->start;
    m.end = fde->end;
    m.found = false;
    m.initial = NULL;
    m.remembered = 0;
    m.now.cfa = plain_rule(UNWIND_UNDEFINED);
    m.now.mangled = false;
    for (unsigned reg = 0; reg < processor->register_count; reg++)
        m.now.of[reg] = plain_rule(UNWIND_SAME);

    enum ch_status status = cfi_run(&m, &cie->instructions, cie->instructions_address);
    if (status != CH_OK)
        return status;
    initial = m.now;
    m.initial = &initial;
    m.remembered = 0;
    m.at = fde->start;
    m.found = false;
    m.end = fde->end;
    status = cfi_run(&m, &fde->instructions, fde->instructions_address);
    return status == CH_OK ? cfi_write_row(&m, out) : status;
}
