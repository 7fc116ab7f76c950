// SPDX-License-Identifier: Apache-2.0
//
// Rows: a start, an info byte, and up to 15 words of 1, 2 or 4 bytes.
#include "formats/debug/sframe.h"

// INLINE marks what a search does for each row it passes over: compiled into the
// search, it keeps the current position in registers.
#define INLINE static inline __attribute__((always_inline))

enum {
    WORDS_MAX = 15,

    ROW_BASE_SP = 0x01, // else the frame pointer
    ROW_MANGLED = 0x80,

    // The control word of a flexible rule.
    CONTROL_REGISTER = 1, // the base is a register, else the CFA
    CONTROL_LOAD = 2,
    CONTROL_UNUSED = 4,
    REGISTER_MAX = 255, // real DWARF numbers are far below

    S390X_CFA_SCALE = 8,
    S390X_CFA_BIAS = 160,
};

// words are the words of one row.
struct words {
    struct cursor input;
    unsigned count;
    unsigned size;
};

static int64_t take_signed(struct words *words)
{
    words->count--;
    return cursor_sint(&words->input, words->size);
}

static uint64_t take_unsigned(struct words *words)
{
    words->count--;
    return cursor_uint(&words->input, words->size);
}

static struct unwind_rule rule_of(enum unwind_rule_kind kind)
{
    return (struct unwind_rule){ .kind = (uint8_t)kind };
}

static struct unwind_rule cfa_rule(enum unwind_rule_kind kind, int64_t offset)
{
    return (struct unwind_rule){ .kind = (uint8_t)kind, .offset = offset };
}

static struct unwind_rule register_rule(enum unwind_rule_kind kind, uint16_t reg,
                                        int64_t offset)
{
    return (struct unwind_rule){ .kind = (uint8_t)kind, .reg = reg, .offset = offset };
}

static int64_t cfa_offset(const struct sframe_section *section, int64_t word)
{
    if (section->arch != SFRAME_S390X)
        return word;
    return word * S390X_CFA_SCALE + S390X_CFA_BIAS;
}

// fixed_or_same gives the rule of a register that a row does not mention.
static struct unwind_rule fixed_or_same(int8_t fixed)
{
    return fixed != 0 ? cfa_rule(UNWIND_AT_CFA, fixed) : rule_of(UNWIND_SAME);
}

static void make_outermost(struct unwind_row *out)
{
    out->cfa = rule_of(UNWIND_UNDEFINED);
    out->ra = rule_of(UNWIND_UNDEFINED);
    out->fp = rule_of(UNWIND_UNDEFINED);
    out->flags |= UNWIND_OUTERMOST;
}

// slot_rule gives the rule of a tracked register that was saved. On s390x, 0 means not
// saved (it pads the row), and in version 2 an odd word is a register that it was
// copied to.
static struct unwind_rule slot_rule(const struct sframe_section *section, int64_t word)
{
    if (section->arch != SFRAME_S390X)
        return cfa_rule(UNWIND_AT_CFA, word);
    if (word == 0)
        return rule_of(UNWIND_SAME);
    if (section->version == 2 && (word & 1) != 0)
        return register_rule(UNWIND_REGISTER_PLUS, (uint16_t)(word >> 1 & REGISTER_MAX),
                             0);
    return cfa_rule(UNWIND_AT_CFA, word);
}

// read_default reads the words of an ordinary row: the CFA's offset, then one for each
// of the return address and the frame pointer that the header does not fix.
static enum ch_status read_default(const struct sframe_section *section,
                                   bool base_is_sp, struct words *words,
                                   struct unwind_row *out)
{
    uint16_t sp;
    uint16_t fp;
    sframe_base_registers(section->arch, &sp, &fp);
    if (words->count == 0) {
        if (section->version == 1)
            return CH_ERR_MALFORMED;
        make_outermost(out);
        return CH_OK;
    }
    out->cfa = register_rule(UNWIND_REGISTER_PLUS, base_is_sp ? sp : fp,
                             cfa_offset(section, take_signed(words)));
    out->ra = fixed_or_same(section->fixed_ra);
    out->fp = fixed_or_same(section->fixed_fp);
    if (section->fixed_ra == 0 && words->count > 0)
        out->ra = slot_rule(section, take_signed(words));
    if (section->fixed_fp == 0 && words->count > 0)
        out->fp = slot_rule(section, take_signed(words));
    return words->count == 0 ? CH_OK : CH_ERR_MALFORMED;
}

// read_flex_rule reads one rule: a control word and an offset. A control word of 0
// means no rule, and has no offset.
static enum ch_status read_flex_rule(struct words *words, struct unwind_rule *out)
{
    uint64_t control = take_unsigned(words);
    if (control == 0)
        return CH_OK;
    if (words->count == 0 || control >> 3 > REGISTER_MAX)
        return CH_ERR_MALFORMED;
    if (control & CONTROL_UNUSED)
        return CH_ERR_UNSUPPORTED;

    bool load = control & CONTROL_LOAD;
    int64_t offset = take_signed(words);
    if (control & CONTROL_REGISTER)
        *out = register_rule(load ? UNWIND_AT_REGISTER : UNWIND_REGISTER_PLUS,
                             (uint16_t)(control >> 3), offset);
    else
        *out = cfa_rule(load ? UNWIND_AT_CFA : UNWIND_CFA_PLUS, offset);
    return CH_OK;
}

static enum ch_status read_flex(const struct sframe_section *section,
                                struct words *words, struct unwind_row *out)
{
    if (words->count == 0) {
        make_outermost(out);
        return CH_OK;
    }
    out->cfa = rule_of(UNWIND_UNDEFINED);
    out->ra = fixed_or_same(section->fixed_ra);
    out->fp = fixed_or_same(section->fixed_fp);

    struct unwind_rule *const rules[] = { &out->cfa, &out->ra, &out->fp };
    for (unsigned i = 0; i < 3 && words->count > 0; i++) {
        enum ch_status status = read_flex_rule(words, rules[i]);
        if (status != CH_OK)
            return status;
    }
    if (words->count != 0 ||
        (out->cfa.kind != UNWIND_REGISTER_PLUS && out->cfa.kind != UNWIND_AT_REGISTER))
        return CH_ERR_MALFORMED;
    out->cfa.offset = cfa_offset(section, out->cfa.offset);
    return CH_OK;
}

// read_head reads a row's start, which has 1, 2 or 4 bytes, and its info byte, as one
// number: that takes one bounds check and one load.
INLINE void read_head(struct sframe_rows *rows)
{
    unsigned start_bits = 8u << rows->function->row_type;
    uint64_t head = cursor_uint(&rows->input, start_bits / 8 + 1);
    bool big_endian = rows->input.big_endian;
    rows->next_start =
        (uint32_t)(big_endian ? head >> 8 : head & ~(-1ull << start_bits));
    rows->next_info = (uint8_t)(big_endian ? head : head >> start_bits);
}

INLINE void init_rows(struct sframe_rows *rows, const struct sframe_section *section,
                      const struct sframe_function *function)
{
    *rows = (struct sframe_rows){ .section = section,
                                  .function = function,
                                  .input = section->bytes,
                                  .left = function->row_count };
    cursor_seek(&rows->input, function->rows_offset);
    if (rows->left != 0)
        read_head(rows);
}

void sframe_rows_init(struct sframe_rows *rows, const struct sframe_section *section,
                      const struct sframe_function *function)
{
    init_rows(rows, section, function);
}

// range_end is the end of the offsets that rows can hold for.
static uint32_t range_end(const struct sframe_function *function)
{
    return function->mask ? function->block_size : function->size;
}

// raw_row is a row whose rules have not been read yet.
struct raw_row {
    uint32_t start;
    uint32_t end;
    uint8_t info;
    size_t words_offset; // in the section
};

// read_end reads the start of the next row, which is where this one ends.
INLINE enum ch_status read_end(struct sframe_rows *rows, struct raw_row *row)
{
    uint32_t end = range_end(rows->function);
    row->end = end;
    if (rows->left == 0)
        return CH_OK;

    read_head(rows);
    if (!cursor_ok(&rows->input))
        return CH_OK; // the next call returns the failure
    // A row may begin at the very end, where it holds for nothing.
    if (rows->next_start <= row->start || rows->next_start > end)
        return CH_ERR_MALFORMED;
    row->end = rows->next_start;
    return CH_OK;
}

INLINE enum ch_status read_raw(struct sframe_rows *rows, struct raw_row *out)
{
    if (rows->left == 0)
        return CH_END;
    out->start = rows->next_start;
    out->info = rows->next_info;
    out->words_offset = cursor_offset(&rows->input);
    unsigned size_code = out->info >> 5 & 3;
    size_t count = out->info >> 1 & WORDS_MAX;
    cursor_skip(&rows->input, count << size_code);
    if (!cursor_ok(&rows->input))
        return CH_ERR_TRUNCATED;
    if (size_code == 3)
        return CH_ERR_UNSUPPORTED;
    if (out->start > range_end(rows->function))
        return CH_ERR_MALFORMED;
    rows->left--;
    return read_end(rows, out);
}

// read_rules writes each rule directly to its destination: copying a struct that was
// just written would wait for the stores.
static enum ch_status read_rules(const struct sframe_section *section,
                                 const struct sframe_function *function,
                                 const struct raw_row *raw, struct unwind_row *out)
{
    out->start = raw->start;
    out->end = raw->end;
    out->other_count = 0;
    out->flags = (raw->info & ROW_MANGLED ? UNWIND_RA_MANGLED : 0) |
                 (function->signal ? UNWIND_SIGNAL_FRAME : 0) |
                 (function->key_b ? UNWIND_KEY_B : 0);
    struct words words = { .input = section->bytes,
                           .count = raw->info >> 1 & WORDS_MAX,
                           .size = 1u << (raw->info >> 5 & 3) };
    cursor_seek(&words.input, raw->words_offset);
    if (function->flex)
        return read_flex(section, &words, out);
    return read_default(section, raw->info & ROW_BASE_SP, &words, out);
}

// read_rowless gives the row of a version 3 function without rows, which ends the walk.
static enum ch_status read_rowless(const struct sframe_section *section,
                                   const struct sframe_function *function,
                                   struct unwind_row *out)
{
    if (section->version < 3 || function->flex)
        return CH_END;
    out->start = 0;
    out->end = range_end(function);
    out->other_count = 0;
    out->flags = 0;
    make_outermost(out);
    return CH_OK;
}

enum ch_status sframe_next_row(struct sframe_rows *rows, struct unwind_row *out)
{
    if (rows->function->row_count == 0) {
        bool begun = rows->begun;
        rows->begun = true;
        return begun ? CH_END : read_rowless(rows->section, rows->function, out);
    }
    struct raw_row raw;
    enum ch_status status = read_raw(rows, &raw);
    if (status != CH_OK)
        return status;
    return read_rules(rows->section, rows->function, &raw, out);
}

// seek_row reads the first row that ends after offset, and passes over the rows before
// it without reading their rules. CH_END: there is none.
static enum ch_status seek_row(const struct sframe_section *section,
                               const struct sframe_function *function, uint64_t offset,
                               struct unwind_row *out)
{
    if (function->row_count == 0)
        return read_rowless(section, function, out);
    struct sframe_rows rows;
    struct raw_row raw = { .end = 0 };
    init_rows(&rows, section, function);
    enum ch_status status = read_raw(&rows, &raw);
    while (status == CH_OK && raw.end <= offset)
        status = read_raw(&rows, &raw);
    return status == CH_OK ? read_rules(section, function, &raw, out) : status;
}

enum ch_status sframe_find_row(const struct sframe_section *section,
                               const struct sframe_function *function, uint64_t pc,
                               struct unwind_row *out)
{
    uint64_t offset = pc - function->start;
    if (function->mask)
        offset %= function->block_size;
    enum ch_status status = seek_row(section, function, offset, out);
    if (status != CH_OK)
        return status == CH_END ? CH_ERR_NOT_FOUND : status;
    return offset < out->start ? CH_ERR_NOT_FOUND : CH_OK;
}

// sframe_doubts_row reports that row is one that GNU ld gets wrong (.plt.got of amd64):
// the caller should try another source first.
static bool sframe_doubts_row(const struct sframe_section *section,
                              const struct sframe_function *function,
                              const struct unwind_row *row)
{
    return section->arch == SFRAME_AMD64 && function->mask &&
           function->row_count == 1 && row->cfa.kind == UNWIND_REGISTER_PLUS &&
           row->cfa.reg == UNWIND_AMD64_SP && row->cfa.offset == 16;
}

enum ch_status sframe_lookup(const struct sframe_section *section, uint64_t pc,
                             struct unwind_row *out)
{
    struct sframe_function function;
    enum ch_status status = sframe_find_function(section, pc, &function);
    if (status != CH_OK)
        return status;

    status = sframe_find_row(section, &function, pc, out);
    if (status != CH_OK)
        return status;
    if (sframe_doubts_row(section, &function, out))
        return CH_ERR_NOT_FOUND;

    uint64_t begin = function.start;
    if (function.mask)
        begin += (pc - function.start) / function.block_size * function.block_size;
    out->start += begin;
    out->end += begin;
    return CH_OK;
}
