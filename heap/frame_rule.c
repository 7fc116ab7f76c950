// SPDX-License-Identifier: Apache-2.0
#include "heap/frame_rule.h"

#include <stdbool.h>

#include "backtrace/local_code.h"
#include "base/cursor.h"
#include "unwind/unwind_types.h"

_Static_assert(sizeof(struct frame_rule) == sizeof(uint64_t), "it is one word");

enum { WORD = sizeof(uint64_t), WORD_BITS = 16, CFA_BITS = 26 };

// read_fp_plus reads the one form of an expression that compilers use: a realigned
// frame keeps its CFA, and the caller's frame pointer, at a distance from its own.
static bool read_fp_plus(const struct unwind_rule *rule, bool is_loaded, int64_t *out)
{
    enum { OP_DEREF = 6, OP_BREG0 = 0x70 }; // DWARF 5, 7.7.1
    struct cursor c = cursor_over(rule->expression, rule->expression_size);
    uint8_t operation = cursor_u8(&c);
    *out = cursor_sleb128(&c);
    bool ends = !is_loaded || cursor_u8(&c) == OP_DEREF;
    return operation == OP_BREG0 + UNWIND_FP && ends && cursor_ok(&c) &&
           cursor_left(&c) == 0;
}

// fits returns true if an offset is in units and can be stored in bits.
static bool fits(int64_t offset, unsigned bits, int64_t unit)
{
    int64_t most = ((int64_t)1 << (bits - 1)) - 1;
    return offset % unit == 0 && offset / unit <= most && offset / unit >= -most;
}

static bool set_cfa(const struct unwind_rule *from, struct frame_rule *rule)
{
    int64_t offset = from->offset;
    if (from->kind == UNWIND_REGISTER_PLUS && from->reg == UNWIND_SP)
        rule->cfa = FRAME_CFA_SP;
    else if (from->kind == UNWIND_REGISTER_PLUS && from->reg == UNWIND_FP)
        rule->cfa = FRAME_CFA_FP;
    else if (from->kind == UNWIND_EXPRESSION && read_fp_plus(from, true, &offset))
        rule->cfa = FRAME_CFA_LOADED;
    else
        return false;
    rule->cfa_offset = offset;
    return fits(offset, CFA_BITS, 1);
}

static bool set_fp(const struct unwind_rule *from, struct frame_rule *rule)
{
    int64_t offset = 0;
    if (from->kind == UNWIND_SAME) {
        rule->fp = FRAME_FP_SAME;
    } else if (from->kind == UNWIND_AT_CFA) {
        rule->fp = FRAME_FP_AT_CFA;
        offset = from->offset;
    } else if (from->kind == UNWIND_AT_EXPRESSION &&
               read_fp_plus(from, false, &offset)) {
        rule->fp = FRAME_FP_AT_FP;
    } else {
        return false;
    }
    rule->fp_words = offset / WORD;
    return fits(offset, WORD_BITS, WORD);
}

struct frame_rule frame_rule_find(uint64_t pc)
{
    const struct frame_rule none = { .kind = FRAME_RULE_NONE };
    struct frame_rule rule = { .kind = FRAME_RULE_CFA };
    struct local_image image;
    struct unwind_row row;
    if (!local_code_image(pc, &image) ||
        local_code_rules(&image, pc, CRASHHOOK_UNWIND_AUTO, &row) != CH_OK)
        return none;
    if (row.flags & UNWIND_SIGNAL_FRAME)
        return (struct frame_rule){ .kind = FRAME_RULE_SIGNAL };
    if (row.flags & UNWIND_OUTERMOST)
        return (struct frame_rule){ .kind = FRAME_RULE_OUTERMOST };
    if (row.ra.kind != UNWIND_AT_CFA || !fits(row.ra.offset, WORD_BITS, WORD) ||
        !set_cfa(&row.cfa, &rule) || !set_fp(&row.fp, &rule))
        return none;
    rule.ra_words = row.ra.offset / WORD;
    return rule;
}
