// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/unit_dies.h"

#include <stdlib.h>

#include "base/array.h"

void unit_dies_deinit(struct unit_dies *dies)
{
    free(dies->items);
    *dies = (struct unit_dies){ 0 };
}

static enum ch_status add_die(struct unit_dies *dies, const struct unit_die *die)
{
    if (!array_reserve(&dies->items, &dies->capacity, dies->count,
                       sizeof(dies->items[0])))
        return CH_ERR_NO_MEMORY;
    dies->items[dies->count++] = *die;
    return CH_OK;
}

// add_unit_dies adds the functions of a unit, each where its code begins, and where it
// goes on after another one's.
static enum ch_status add_unit_dies(struct unit_dies *dies, const struct unit *unit)
{
    const struct unit_scopes *scopes = &unit->scopes;
    uint32_t before = UNIT_SCOPE_NONE;
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < scopes->map.segment_count; i++) {
        uint32_t function = unit_scopes_function(scopes, scopes->map.owners[i]);
        if (function != before && function != UNIT_SCOPE_NONE)
            status = add_die(
                dies, &(struct unit_die){ .start = scopes->map.starts[i],
                                          .unit = unit->offset,
                                          .die = scopes->scopes[function].die_offset });
        before = function;
    }
    return status;
}

static int by_start(const void *left, const void *right)
{
    const struct unit_die *a = left;
    const struct unit_die *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

enum ch_status unit_dies_read(struct unit_dies *out, const struct unit_index *index)
{
    enum ch_status status = CH_OK;
    *out = (struct unit_dies){ 0 };
    for (size_t i = 0; status == CH_OK && i < index->count; i++) {
        const struct unit *unit = &index->units[i];
        if (!unit->split && !unit->scopes.refers_out)
            status = add_unit_dies(out, unit);
    }
    if (status != CH_OK)
        unit_dies_deinit(out);
    else if (out->count != 0)
        qsort(out->items, out->count, sizeof(out->items[0]), by_start);
    return status;
}
