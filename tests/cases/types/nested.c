// SPDX-License-Identifier: Apache-2.0
//
// A function of GNU C that is within another one, as its entry is, and crashes there.
static __attribute__((noinline)) int outer(int limit)
{
    int used = 2 * limit;
    __attribute__((noinline)) int inner(int number)
    {
        *(volatile int *)0 = number + used;
        return used;
    }
    return inner(limit + 1);
}

int main(void)
{
    return outer(4);
}
