// SPDX-License-Identifier: Apache-2.0
#include "report/file/pack_table.h"

#include <stdlib.h>

#include "base/array.h"

json_int_t pack_table_first(const struct pack_table *table, uint64_t hash)
{
    return (json_int_t)table->chains[hash % PACK_CHAINS] - 1;
}

void pack_table_deinit(struct pack_table *table)
{
    for (size_t i = 0; i < json_array_size(table->rows); i++)
        json_decref(table->entries[i].values);
    json_decref(table->rows);
    free(table->entries);
}

json_int_t pack_table_add(struct pack_table *table, struct pack_entry entry,
                          json_t *row)
{
    size_t count = json_array_size(table->rows);
    if (!array_reserve(&table->entries, &table->capacity, count, sizeof(entry))) {
        json_decref(row);
        return PACK_NONE;
    }
    entry.before = pack_table_first(table, entry.hash);
    if (json_array_append_new(table->rows, row) != 0)
        return PACK_NONE;
    table->entries[count] = entry;
    table->chains[entry.hash % PACK_CHAINS] = (uint32_t)count + 1;
    return (json_int_t)count;
}
