// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/address_list.h"

#include <stdlib.h>

#include "base/array.h"

enum ch_status address_list_add(struct address_list *list, uint64_t address)
{
    if (!array_reserve(&list->items, &list->capacity, list->count,
                       sizeof(list->items[0])))
        return CH_ERR_NO_MEMORY;
    list->items[list->count++] = address;
    return CH_OK;
}

static int ascending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

void address_list_sort(struct address_list *list)
{
    if (list->count == 0)
        return;
    qsort(list->items, list->count, sizeof(list->items[0]), ascending);
    size_t kept = 1;
    for (size_t i = 1; i < list->count; i++)
        if (list->items[i] != list->items[kept - 1])
            list->items[kept++] = list->items[i];
    list->count = kept;
}

void address_list_deinit(struct address_list *list)
{
    free(list->items);
    *list = (struct address_list){ 0 };
}
