// SPDX-License-Identifier: Apache-2.0
#include "shop.h"

#include <stddef.h>

void cart_add_item(struct receipt *receipt, const struct item *item)
{
    receipt->unpack = cart_add_item;
    pricing_add_line(receipt, item);
}
