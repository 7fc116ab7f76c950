// SPDX-License-Identifier: Apache-2.0
//
// illegal: an order is in a state that its author thought impossible; an illegal
// instruction marks the place.
#include <stdio.h>
#include <stdlib.h>

enum state { ORDERED, PAID, SENT };

__attribute__((noinline)) static const char *describe(enum state state)
{
    switch (state) {
    case ORDERED:
        return "ordered";
    case PAID:
        return "paid";
    case SENT:
        return "sent";
    }
    __builtin_trap(); // crashes here
}

int main(int argc, char **argv)
{
    long state = argc > 1 ? strtol(argv[1], NULL, 10) : 7;

    puts(describe((enum state)state));
    return 0;
}
