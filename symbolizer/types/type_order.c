// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

// An array_chain is array types that are directly nested, the outermost first.
struct array_chain {
    uint32_t counts[TYPE_CHAIN_MAX];
    int length;
    uint64_t elements; // in all; 0: too many to count
    uint32_t element;  // type of the innermost array's elements
};

// find_chain finds the arrays nested in type index of types, the first of which has the
// index first in the table. False: their order makes no difference.
static bool find_chain(const struct type *types, uint32_t first, uint32_t index,
                       struct array_chain *out)
{
    bool differs = false;
    out->length = 0;
    out->elements = 1;
    for (out->element = index;
         out->element >= first && types[out->element - first].kind == TYPE_ARRAY &&
         out->length < TYPE_CHAIN_MAX;
         out->element = types[out->element - first].target) {
        uint32_t count = types[out->element - first].count;
        out->counts[out->length++] = count;
        if (!checked_mul_u64(out->elements, count, &out->elements))
            out->elements = 0;
    }
    for (int i = 0; i < out->length; i++)
        differs = differs || out->counts[i] != out->counts[out->length - 1 - i];
    return differs;
}

// reverse_chain nests the arrays of type index the other way round, in new types: the
// inner ones may be used by themselves too.
static enum ch_status reverse_chain(struct type_table *table, uint32_t index,
                                    const struct array_chain *chain)
{
    struct type array = table->types[index];
    array.target = chain->element;
    for (int i = 0; i < chain->length; i++) {
        array.count = chain->counts[i];
        if (i + 1 == chain->length)
            break;
        enum ch_status status = type_table_add(table, &array, &array.target);
        if (status != CH_OK)
            return status;
    }
    table->types[index] = array;
    return CH_OK;
}

// flatten_chain makes one array of all elements: the order of dimensions does not
// change where each of them is.
static void flatten_chain(struct type *array, const struct array_chain *chain)
{
    array->flat = true;
    bool counted = chain->elements <= UINT32_MAX;
    array->count = counted ? (uint32_t)chain->elements : 0;
    array->target = counted ? chain->element : TYPE_UNKNOWN_INDEX;
}

enum ch_status type_order_set(struct type_table *table, uint32_t first,
                              enum ctf_order order)
{
    uint32_t count = table->count - first;
    struct array_chain chain;
    enum ch_status status = CH_OK;
    if (order == CTF_ORDER_REVERSED || count == 0)
        return CH_OK;
    struct type *before = malloc(count * sizeof(before[0]));
    if (before == NULL)
        return CH_ERR_NO_MEMORY;
    memcpy(before, &table->types[first], count * sizeof(before[0]));
    for (uint32_t i = 0; status == CH_OK && i < count; i++) {
        if (!find_chain(before, first, first + i, &chain))
            continue;
        if (order == CTF_ORDER_UNKNOWN)
            flatten_chain(&table->types[first + i], &chain);
        else if (table->count - first > 2 * count)
            status = CH_ERR_LIMIT;
        else
            status = reverse_chain(table, first + i, &chain);
    }
    free(before);
    return status;
}
