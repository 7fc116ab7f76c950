// SPDX-License-Identifier: Apache-2.0
//
// Crashes whose bad value a variable holds, and some whose bad value none does, by the
// name that is the first argument.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION __attribute__((noinline, noclone, noipa))

struct item {
    long price;
    struct item *next;
    struct {
        int count;
        int *sizes;
    } stock;
};

typedef int callback(int);

static int table[31];
static struct item *first;
static volatile long nowhere = 0x41414141;

FUNCTION static long of_local(struct item *item)
{
    struct item *following = item->next;
    long sum = item->price;
    sum += following->price;
    return sum;
}

FUNCTION static long of_member(struct item *item, long more)
{
    return item->next->next->price + more;
}

FUNCTION static int of_nested(struct item *item)
{
    return item->stock.sizes[3];
}

FUNCTION static int of_index(unsigned index)
{
    return table[index];
}

FUNCTION static int of_divisor(int all, int parts)
{
    return all / parts;
}

FUNCTION static int of_callback(callback *call, int number)
{
    return call(number) + 1;
}

FUNCTION static long of_global(void)
{
    return first->price;
}

FUNCTION static long of_argument(const long *numbers, size_t at)
{
    return numbers[at] * 2;
}

FUNCTION static long *somewhere(void)
{
    return (long *)nowhere;
}

FUNCTION static long of_result(void)
{
    return *somewhere() + 1;
}

FUNCTION static size_t of_library(const char *text)
{
    return strlen(text) + 1;
}

int main(int count, char **words)
{
    const char *how = count > 1 ? words[1] : "";
    struct item one = { 1, NULL, { 2, NULL } };
    struct item zero = { 5, &one, { 1, NULL } };
    long result = 0;
    for (int i = 0; nowhere == 0 && i < 31; i++) {
        table[i] = count + i;
        first = &zero;
    }
    one.next = nowhere == 0 ? &zero : NULL;
    if (strcmp(how, "local") == 0)
        result = of_local(&one);
    if (strcmp(how, "member") == 0)
        result = of_member(&zero, 3);
    if (strcmp(how, "nested") == 0)
        result = of_nested(&zero);
    if (strcmp(how, "index") == 0)
        result = of_index(4294967295u);
    if (strcmp(how, "divisor") == 0)
        result = of_divisor(4, (int)(nowhere - 0x41414141));
    if (strcmp(how, "callback") == 0)
        result = of_callback(NULL, 7);
    if (strcmp(how, "global") == 0)
        result = of_global();
    if (strcmp(how, "argument") == 0)
        result = of_argument(NULL, 4);
    if (strcmp(how, "wild") == 0)
        result = of_argument((const long *)nowhere, 0);
    if (strcmp(how, "result") == 0)
        result = of_result();
    if (strcmp(how, "library") == 0)
        result = (long)of_library(NULL);
    printf("%ld\n", result);
    return 0;
}
