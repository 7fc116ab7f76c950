// SPDX-License-Identifier: Apache-2.0
//
// Undefined behaviour that a compiler's check stops with an instruction.
#include <limits.h>
#include <stdlib.h>

static volatile int zero;
static volatile int big = INT_MAX;
static volatile int many = 40;
static volatile int digits[4];

int main(int argc, char **argv)
{
    switch (argc > 1 ? argv[1][0] : 0) {
    case 'a':
        return big + 1 + argc;
    case 'd':
        return argc / zero;
    case 'm':
        return big * many;
    case 's':
        return argc << many;
    case 'o':
        return digits[many];
    case 'n':
        return *(volatile int *)(size_t)zero;
    case 'u':
        __builtin_unreachable();
    default:
        __builtin_trap();
    }
}
