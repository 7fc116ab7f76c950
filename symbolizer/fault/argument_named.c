// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_named.h"

#include "symbolizer/arguments/argument_lookup.h"
#include "symbolizer/types/type_table.h"

bool argument_is_returned(const struct argument_named *named)
{
    return named->role == ARGUMENT_RETURNED || named->role == ARGUMENT_LED_TO;
}

void argument_named_deinit(struct argument_named *named)
{
    text_deinit(&named->expression);
}

bool argument_named_number(const struct argument_named *index, int64_t *out)
{
    const struct type_table *table = &index->call->image->types.table;
    const struct type *type = &table->types[type_strip(table, index->type)];
    uint64_t size;
    if (!index->has_value || type_size(table, index->type, &size) != CH_OK ||
        size == 0 || size > sizeof(*out))
        return false;
    unsigned unused = (unsigned)(sizeof(*out) - size) * 8;
    uint64_t shifted = index->value << unused;
    *out = type->encoding & TYPE_SIGNED ? (int64_t)shifted >> unused
                                        : (int64_t)(shifted >> unused);
    return true;
}

bool argument_named_element(const struct argument_named *array, uint64_t bytes,
                            uint32_t *out)
{
    const struct type_table *table = &array->call->image->types.table;
    const struct type *type = &table->types[type_strip(table, array->type)];
    uint64_t size;
    if (array->scale != 1 || type->reference ||
        type->kind != (array->is_address ? TYPE_ARRAY : TYPE_POINTER))
        return false;
    *out = type_strip(table, type->target);
    return type_size(table, *out, &size) == CH_OK && size == bytes;
}
