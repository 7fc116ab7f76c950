// SPDX-License-Identifier: Apache-2.0
// Takes memory until the kernel ends it.
#include <stdlib.h>
#include <string.h>

static char *volatile newest;

__attribute__((noinline)) static void take_more_memory(void)
{
    enum { PIECE = 1 << 20 };
    newest = malloc(PIECE);
    if (newest != NULL)
        memset(newest, 1, PIECE);
}

int main(void)
{
    for (;;)
        take_more_memory();
}
