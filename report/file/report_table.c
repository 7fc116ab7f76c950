// SPDX-License-Identifier: Apache-2.0
#include "report/file/report_table.h"

#include <string.h>

const char *const report_table_repeated[] = { "kind", "address", "trust", "image",
                                              "image_offset" };
const char *const report_table_lists[] = { "arguments", "locals", "globals" };
const char *const report_table_varying[] = { "value", "entry_value", "text" };

size_t report_table_find(const char *const *table, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i], key) == 0)
            return i;
    return count;
}
