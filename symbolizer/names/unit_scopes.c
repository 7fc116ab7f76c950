// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/unit_scopes.h"

#include <stdlib.h>

#include "base/array.h"
#include "symbolizer/names/die_scan.h"

enum { OPEN_MAX = 1024, DIE_RANGES_MAX = 65536, UNIT_SCOPES_MAX = 1 << 30 };

// open_scopes are the scopes that enclose the current entry.
struct open_scopes {
    uint32_t scope[OPEN_MAX];
    uint32_t depth[OPEN_MAX];
    uint32_t count;
};

struct reading {
    struct unit_scopes *scopes;
    struct open_scopes open;
    uint64_t text_low;
    uint64_t text_high;
    enum unit_scopes_part part;
};

void unit_scopes_deinit(struct unit_scopes *scopes)
{
    free(scopes->scopes);
    address_map_deinit(&scopes->map);
    *scopes = (struct unit_scopes){ 0 };
}

uint32_t unit_scopes_function(const struct unit_scopes *scopes, uint32_t scope)
{
    while (scope != UNIT_SCOPE_NONE && scopes->scopes[scope].inlined)
        scope = scopes->scopes[scope].parent;
    return scope;
}

static enum ch_status add_range(struct reading *reading, uint64_t low, uint64_t high)
{
    if (low < reading->text_low || high > reading->text_high)
        return CH_OK;
    struct address_range range = {
        .low = low,
        .high = high,
        .depth = reading->open.count,
        .owner = (uint32_t)(reading->scopes->count - 1),
    };
    return address_map_add(&reading->scopes->map, &range);
}

// add_listed_ranges has libdw read ranges that are not in the entry itself.
static enum ch_status add_listed_ranges(struct reading *reading, uint64_t die_offset)
{
    Dwarf_Die die;
    if (dwarf_offdie(reading->scopes->dwarf, die_offset, &die) == NULL)
        return CH_ERR_MALFORMED;
    Dwarf_Addr base;
    Dwarf_Addr low;
    Dwarf_Addr high;
    ptrdiff_t at = 0;
    for (int i = 0; i < DIE_RANGES_MAX; i++) {
        at = dwarf_ranges(&die, at, &base, &low, &high);
        if (at <= 0)
            break;
        enum ch_status status = add_range(reading, low, high);
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

static void close_scopes(struct open_scopes *open, uint32_t depth)
{
    while (open->count != 0 && open->depth[open->count - 1] >= depth)
        open->count--;
}

static enum ch_status add_scope(struct reading *reading, const struct die_code *code)
{
    struct unit_scopes *scopes = reading->scopes;
    struct open_scopes *open = &reading->open;
    if (open->count == OPEN_MAX || scopes->count >= UNIT_SCOPES_MAX)
        return CH_ERR_LIMIT;
    if (!array_reserve(&scopes->scopes, &scopes->capacity, scopes->count,
                       sizeof(scopes->scopes[0])))
        return CH_ERR_NO_MEMORY;
    // A nested function, as in GNU C and D, is not inlined into its enclosing one.
    uint32_t parent = code->inlined && open->count != 0 ? open->scope[open->count - 1]
                                                        : UNIT_SCOPE_NONE;
    scopes->scopes[scopes->count] = (struct unit_scope){ .die_offset = code->offset,
                                                         .parent = parent,
                                                         .inlined = code->inlined };
    open->scope[open->count] = (uint32_t)scopes->count++;
    open->depth[open->count++] = code->depth;
    return code->exact ? add_range(reading, code->low, code->high)
                       : add_listed_ranges(reading, code->offset);
}

static enum ch_status read_scopes(struct reading *reading, struct die_scan *scan)
{
    for (;;) {
        struct die_code code;
        uint32_t closed;
        enum ch_status status = die_scan_next(scan, &code, &closed);
        if (status != CH_OK)
            return status == CH_ERR_NO_MEMORY ? status : CH_OK;
        close_scopes(&reading->open, closed);
        if (code.inlined && reading->part != UNIT_SCOPES_ALL)
            continue;
        status = add_scope(reading, &code);
        if (status == CH_ERR_NO_MEMORY)
            return status;
        if (status != CH_OK)
            return CH_OK;
    }
}

enum ch_status unit_scopes_read(struct unit_scopes *out, Dwarf_Die *unit,
                                const uint64_t text[2], enum unit_scopes_part part)
{
    *out = (struct unit_scopes){ .dwarf = dwarf_cu_getdwarf(unit->cu) };
    struct reading reading = {
        .scopes = out, .text_low = text[0], .text_high = text[1], .part = part
    };
    struct die_scan scan;
    enum ch_status status = die_scan_init(
        &scan, unit, part == UNIT_SCOPES_OUTER ? DIE_SCAN_OUTER : DIE_SCAN_ALL);
    if (status != CH_OK)
        return status;
    out->refers_out = scan.refers_out;
    status = read_scopes(&reading, &scan);
    die_scan_deinit(&scan);
    array_trim(&out->scopes, &out->capacity, out->count, sizeof(out->scopes[0]));
    if (status == CH_OK)
        status = address_map_build(&out->map);
    if (status != CH_OK)
        unit_scopes_deinit(out);
    return status;
}
