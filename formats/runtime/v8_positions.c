// SPDX-License-Identifier: Apache-2.0
#include "formats/runtime/v8_positions.h"

#include <stdbool.h>

#include "base/cursor.h"

// Before the first entry stands the entry of a function, at offset -1.
#define V8_FUNCTION_ENTRY INT64_C(-1)

enum {
    V8_OFFSET_BITS = 30, // of a position, after a bit that no script's position has
    V8_INLINED_BITS = 16,
    V8_LAST_WIDE = 3, // the bytecodes up to this one are prefixes
};

struct v8_position v8_position_unpack(uint64_t word)
{
    if (word & 1) // a place in a file of V8's own
        return (struct v8_position){ -1, -1 };
    return (struct v8_position){
        .offset = (int32_t)(word >> 1 & ((1U << V8_OFFSET_BITS) - 1)) - 1,
        .inlined =
            (int32_t)(word >> (1 + V8_OFFSET_BITS) & ((1U << V8_INLINED_BITS) - 1)) - 1,
    };
}

// v8_varint reads 7 bits a byte, lowest first; bit 7 says that more follow.
static uint64_t v8_varint(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = cursor_u8(c);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    cursor_poison(c);
    return 0;
}

static uint64_t v8_signed_varint(struct cursor *c)
{
    uint64_t value = v8_varint(c);
    return value >> 1 ^ (0 - (value & 1));
}

enum ch_status v8_positions_find(const void *bytes, size_t size, int64_t offset,
                                 struct v8_position *out)
{
    struct cursor c = cursor_over(bytes, size);
    uint64_t at = (uint64_t)V8_FUNCTION_ENTRY;
    uint64_t position = 0;
    uint64_t found = 0;
    bool any = false;
    while (cursor_left(&c) != 0) {
        uint64_t difference = v8_signed_varint(&c);
        position += v8_signed_varint(&c);
        // Of an entry where no statement begins, the difference's complement is kept.
        at += difference >> 63 ? ~difference : difference;
        if (!cursor_ok(&c) || (int64_t)at < V8_FUNCTION_ENTRY)
            return CH_ERR_MALFORMED;
        if ((int64_t)at > offset)
            break;
        found = position;
        any = true;
    }
    if (!any)
        return CH_ERR_NOT_FOUND;
    *out = v8_position_unpack(found);
    return CH_OK;
}

// skip_bytecode passes over one bytecode with its operands and its prefix. False: there
// is none.
static bool skip_bytecode(const struct v8_baseline *baseline, struct cursor *c)
{
    size_t scale = 0;
    uint8_t code = cursor_u8(c);
    if (code <= V8_LAST_WIDE) {
        scale = code % 2 == 0 ? 1 : 2; // operands are twice or four times as wide
        code = cursor_u8(c);
    }
    if (!cursor_ok(c) || code >= baseline->count)
        return false;
    uint8_t size = baseline->sizes[scale * baseline->count + code];
    if (size == 0)
        return false;
    cursor_skip(c, size - 1U);
    return cursor_ok(c);
}

enum ch_status v8_baseline_find(const struct v8_baseline *baseline, uint64_t pc,
                                int64_t *out)
{
    struct cursor table = cursor_over(baseline->table, baseline->table_size);
    struct cursor codes = cursor_over(baseline->bytecodes, baseline->bytecodes_size);
    int64_t bytecode = V8_FUNCTION_ENTRY;
    uint64_t end = v8_varint(&table); // of the prologue
    while (cursor_ok(&table) && end < pc) {
        bytecode = (int64_t)cursor_offset(&codes);
        end += v8_varint(&table);
        if (cursor_ok(&table) && !skip_bytecode(baseline, &codes))
            return CH_ERR_MALFORMED;
    }
    if (!cursor_ok(&table))
        return CH_ERR_NOT_FOUND;
    *out = bytecode;
    return CH_OK;
}

// A v8_safepoint_sizes is how long the members of an entry are.
struct v8_safepoint_sizes {
    uint32_t count; // of entries
    bool has_deopt;
    size_t pc;
    size_t registers;
    size_t deopt;
};

static struct v8_safepoint_sizes safepoint_sizes(struct cursor *c)
{
    uint32_t count = cursor_u32(c);
    uint32_t sizes = cursor_u32(c);
    return (struct v8_safepoint_sizes){
        .count = count,
        .has_deopt = sizes & 1,
        .registers = sizes >> 1 & 7,
        .pc = sizes >> 4 & 7,
        .deopt = sizes >> 7 & 7,
    };
}

uint64_t v8_safepoints_size(const uint8_t head[static V8_SAFEPOINTS_HEAD])
{
    struct cursor c = cursor_over(head, V8_SAFEPOINTS_HEAD);
    struct v8_safepoint_sizes sizes = safepoint_sizes(&c);
    uint64_t entry =
        sizes.pc + sizes.registers + (sizes.has_deopt ? sizes.deopt + sizes.pc : 0);
    // The slots of all entries stand after them, and are not needed.
    return V8_SAFEPOINTS_HEAD + sizes.count * entry;
}

enum ch_status v8_safepoints_find(const void *bytes, size_t size, uint64_t trampoline,
                                  uint64_t *out)
{
    struct cursor c = cursor_over(bytes, size);
    struct v8_safepoint_sizes sizes = safepoint_sizes(&c);
    if (!cursor_ok(&c) || !sizes.has_deopt || sizes.pc == 0)
        return CH_ERR_NOT_FOUND;
    for (uint32_t i = 0; i < sizes.count; i++) {
        uint64_t pc = cursor_uint(&c, sizes.pc);
        cursor_skip(&c, sizes.deopt);
        uint64_t jump = cursor_uint(&c, sizes.pc); // 1 more, so that 0 is none
        cursor_skip(&c, sizes.registers);
        if (!cursor_ok(&c))
            return CH_ERR_NOT_FOUND;
        if (jump != 0 && jump - 1 == trampoline) {
            *out = pc;
            return CH_OK;
        }
    }
    return CH_ERR_NOT_FOUND;
}
