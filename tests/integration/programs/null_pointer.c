// SPDX-License-Identifier: Apache-2.0
//
// A program that the tests build with other compilers and libraries: it writes through
// a null pointer.
#include <stdio.h>

__attribute__((noinline)) void bug(volatile int *pointer)
{
    *pointer = 1; // crashes here
}

int main(int argc, char **argv)
{
    (void)argv;
    puts("starts");
    bug((int *)(8L * argc));
    return 0;
}
