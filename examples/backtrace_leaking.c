// SPDX-License-Identifier: Apache-2.0
//
// Loses one of the blocks that it allocates, for backtrace_leaks.c.
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static char *copy_name(const char *name)
{
    size_t size = strlen(name) + 1;
    char *copy = malloc(size);
    return copy != NULL ? memcpy(copy, name, size) : NULL;
}

int main(void)
{
    volatile int length = 0;
    for (int i = 0; i < 8; i++) {
        char *copy = copy_name("a name of twenty-one");
        length += copy != NULL ? (int)strlen(copy) : 0;
        if (i != 5)
            free(copy);
    }
    return length > 0 ? 0 : 1;
}
