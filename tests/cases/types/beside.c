// SPDX-License-Identifier: Apache-2.0
//
// Writes that run out of an object, by the name that is the first argument: of a block
// of malloc with a mapping of its own, of an array, and one that is in no object.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FUNCTION __attribute__((noinline, noclone, noipa))

enum { MAPPED = 1 << 20 };

static char table[5000];

FUNCTION static void fill(char *to)
{
    for (;;)
        *to++ = 'a';
}

FUNCTION static void of_block(long *numbers)
{
    for (long *p = numbers;; p++)
        *p = 1;
}

FUNCTION static void of_array(void)
{
    fill(table + 10);
    table[1] = 2;
}

FUNCTION static void of_none(volatile long *far)
{
    char text[16] = "";
    __asm__ volatile("" : : "r"(text) : "memory");
    *far = text[0];
}

int main(int count, char **words)
{
    const char *how = count > 1 ? words[1] : "";
    (void)mmap(NULL, MAPPED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long *numbers = malloc(400000);
    if (strcmp(how, "block") == 0)
        of_block(numbers);
    if (strcmp(how, "array") == 0)
        of_array();
    if (strcmp(how, "none") == 0)
        of_none((volatile long *)0x123456789000);
    free(numbers);
    return 0;
}
