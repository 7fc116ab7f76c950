// SPDX-License-Identifier: Apache-2.0
//
// A program of 32 bits that needs no library: it writes through a null pointer.
static __attribute__((noinline)) int write_through(volatile int *pointer)
{
    *pointer = 1; // crashes here
    return *pointer + 1;
}

static __attribute__((noinline)) int call_it(int depth)
{
    return depth == 0 ? write_through((int *)16) + 1 : call_it(depth - 1) + 1;
}

void _start(void)
{
    int status = call_it(2);
    __asm__ volatile("int $0x80" : : "a"(1), "b"(status));
}
