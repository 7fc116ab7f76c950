// SPDX-License-Identifier: Apache-2.0
#include "shop.h"

#include <stddef.h>

// next_line is the next free line, or NULL when the receipt is full.
static inline struct receipt_line *next_line(struct receipt *receipt)
{
    if (receipt->count == RECEIPT_LINES)
        return NULL;
    return &receipt->lines[receipt->count++];
}

static inline void write_line(struct receipt_line *line, const struct item *item)
{
    line->cents = item->cents; // crashes here
    line->name = item->name;
}

void pricing_add_line(struct receipt *receipt, const struct item *item)
{
    write_line(next_line(receipt), item);
    if (item->inside != NULL)
        receipt->unpack(receipt, item->inside);
}
