// SPDX-License-Identifier: Apache-2.0
//
// A crash in a function that the compiler has relieved of a parameter that only a local
// variable for the debugger needs.
#define FUNCTION __attribute__((noinline))

static volatile int *volatile nowhere;

FUNCTION static int kept(int number, int removed)
{
    int twice = removed * 2 + 1;
    *nowhere = number;
    return number + twice * 0;
}

int main(int count, char **words)
{
    return kept(count, count + 40) + kept(count, count + 50) + (words == 0);
}
