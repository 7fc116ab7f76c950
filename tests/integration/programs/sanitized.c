// SPDX-License-Identifier: Apache-2.0
//
// sanitized HOW: built with AddressSanitizer, which finds the mistake in use_freed or
// in overrun, or a null write in write_null, and aborts.
#include <stdlib.h>
#include <string.h>

static char *volatile block;
static volatile size_t past = 24;
static int *volatile nothing;
static volatile char sink;

__attribute__((noinline)) static void use_freed(void)
{
    block = malloc(24);
    free(block);
    sink = block[3]; // the mistake that is tested
}

__attribute__((noinline)) static void overrun(void)
{
    block = malloc(24);
    block[past] = 1; // the mistake that is tested
}

__attribute__((noinline)) static void write_null(void)
{
    *nothing = 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "use_freed") == 0)
        use_freed();
    if (strcmp(how, "overrun") == 0)
        overrun();
    if (strcmp(how, "write_null") == 0)
        write_null();
    return 2;
}
