// SPDX-License-Identifier: Apache-2.0
//
// null_write: a customer buys boxes nested in boxes, more than a receipt has lines. The
// write to the missing line happens twenty calls deep, through two shared libraries.
#include <stddef.h>
#include <stdio.h>

#include "shop.h"

enum { BOXES = 9 };

static struct item boxes[BOXES];

static void wrap_gift(void)
{
    for (int i = 0; i < BOXES; i++) {
        boxes[i].name = i + 1 < BOXES ? "gift box" : "teddy bear";
        boxes[i].cents = 450 + 100L * i;
        boxes[i].inside = i + 1 < BOXES ? &boxes[i + 1] : NULL;
    }
}

__attribute__((noinline)) static long print_receipt(const struct item *item)
{
    struct receipt receipt = { .count = 0 };
    long total = 0;

    cart_add_item(&receipt, item);
    for (int i = 0; i < receipt.count; i++)
        total += receipt.lines[i].cents;
    return total;
}

__attribute__((noinline)) static void serve_customer(void)
{
    wrap_gift();
    printf("total: %ld cents\n", print_receipt(&boxes[0]));
}

int main(void)
{
    serve_customer();
    return 0;
}
