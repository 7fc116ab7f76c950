// SPDX-License-Identifier: Apache-2.0
//
// A shop that prints receipts, in two shared libraries: libcart unpacks boxes, and
// libpricing writes a line for each item. Boxes contain boxes, so the two call each
// other; null_write.c is the program.
//
// Its mistake is an ordinary one: a receipt has a fixed number of lines, the function
// that hands them out returns NULL when they are used up, and one caller does not
// check.
#pragma once

enum { RECEIPT_LINES = 8 };

// An item may contain another, as a gift box does.
struct item {
    const char *name;
    long cents;
    const struct item *inside;
};

struct receipt_line {
    const char *name;
    long cents;
};

struct receipt {
    struct receipt_line lines[RECEIPT_LINES];
    int count;
    // unpack adds a box's contents; libpricing does not know how boxes are opened.
    void (*unpack)(struct receipt *receipt, const struct item *item);
};

// cart_add_item puts an item and everything inside it on the receipt.
void cart_add_item(struct receipt *receipt, const struct item *item);

// pricing_add_line writes the line of one item, then unpacks it.
void pricing_add_line(struct receipt *receipt, const struct item *item);
