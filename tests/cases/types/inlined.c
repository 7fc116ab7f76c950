// SPDX-License-Identifier: Apache-2.0
//
// Calls that are inlined into each other, the innermost of which crashes: with
// arguments that are in registers, constants, and gone.
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))
#define INLINE static inline __attribute__((always_inline))

struct cart {
    int lines;
    long total;
    const char *currency;
    long last_price;
};

NOINLINE int total_of(struct cart *cart, int amount);

// Where it writes is its argument.
INLINE void put_total(long *where, long total, int checked)
{
    if (checked < -2)
        *where = total;
}

INLINE void add_line(struct cart *cart, long price, int unused)
{
    (void)unused;
    cart->lines++;
    put_total(cart->lines > 1 ? (long *)8 : &cart->total, price * cart->lines, -3);
    cart->last_price = price; // so that it is kept until here
}

NOINLINE int total_of(struct cart *cart, int amount)
{
    for (int i = 0; i < amount; i++)
        add_line(cart, amount + 99 + i, rand());
    return cart->lines + amount;
}

int main(void)
{
    struct cart cart = { .lines = 0, .currency = "EUR" };
    return total_of(&cart, 7);
}
