// SPDX-License-Identifier: Apache-2.0
//
// Types of a test, put into a table one by one.
#pragma once
#include "support/test.h"
#include "symbolizer/types/type_table.h"

static inline uint32_t add_type(struct type_table *table, const struct type *type)
{
    uint32_t index = 0;
    assert_int_equal(type_table_add(table, type, &index), CH_OK);
    return index;
}

// add_type_part adds a member at an offset in bytes.
static inline void add_type_part(struct type_table *table, const char *name,
                                 uint32_t type, uint64_t offset)
{
    const struct type_part part = { .name = name,
                                    .type = type,
                                    .offset_bits = offset * 8 };
    assert_int_equal(type_table_add_part(table, &part), CH_OK);
}
