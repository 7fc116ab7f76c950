// SPDX-License-Identifier: Apache-2.0
//
// A library that flight_calls loads, calls and unloads.
void call_in_library(void);

__attribute__((noinline)) static int called_inside(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

void call_in_library(void)
{
    for (int i = 0; i < 3; i++)
        (void)called_inside(i);
}
