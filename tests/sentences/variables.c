// SPDX-License-Identifier: Apache-2.0
//
// Crashes by a value that a variable holds, and some by a value that none does.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define OWN __attribute__((noinline, noclone)) static

struct size {
    int width, height;
};

struct node {
    long value;
    struct node *next;
    struct {
        int count;
        long *numbers;
    } stock;
    struct size *size;
    struct node *children[4];
};

typedef int callback(int);

// hide keeps the compiler from knowing a value.
OWN void *hide(uintptr_t value)
{
    volatile uintptr_t hidden = value;
    return (void *)hidden;
}

static volatile long sink;
static volatile size_t bytes = 40;
static struct node *list;
static int table[31];
static long *rows[8];

// filled is a node whose pointers are all set.
OWN struct node *filled(void)
{
    static long numbers[4] = { 1, 2, 3, 4 };
    static struct size size = { 1, 2 };
    static struct node last;
    struct node *node = calloc(1, sizeof(*node));
    node->value = 7;
    node->next = &last;
    node->stock.numbers = numbers;
    node->size = &size;
    node->children[2] = &last;
    return node;
}

// case local_pointer
//   kind: null-dereference
//   says: Read from 0x0, through a null pointer
//   variable: node
OWN void local_pointer(void)
{
    struct node *node = hide(0);
    sink = node->value;
    sink++;
}

// case local_wild
//   kind: non-canonical-address
//   says: Read from 0x4141414141414141
//   variable: node
//   cause: none|text
OWN void local_wild(void)
{
    struct node *node = hide(0x4141414141414141);
    sink = node->value;
    sink++;
}

// case member
//   kind: null-dereference
//   says: Read from 0x0, through a null pointer
//   variable: node->next|hide|none
OWN void member(void)
{
    struct node *node = filled();
    node->next = hide(0);
    sink = node->value;
    sink = node->next->value;
    sink++;
}

// case member_of_member
//   kind: null-dereference
//   says: Read from 0x8, through a null pointer
//   variable: node->next->next|hide|none
//   cause: null-offset|none
OWN void member_of_member(void)
{
    struct node *node = filled();
    sink = node->value;
    sink = (long)node->next->next->next;
    sink++;
}

// case nested_member
//   kind: null-dereference
//   says: Read from 0x8, through a null pointer
//   variable: node->stock\.numbers|hide|none
//   cause: null-offset|none
OWN void nested_member(void)
{
    struct node *node = filled();
    node->stock.numbers = hide(0);
    sink = node->value;
    sink = node->stock.numbers[1];
    sink++;
}

// case element
//   kind: null-dereference
//   says: Read from 0x0, through a null pointer
//   variable: node->children\[3\]|hide|none
OWN void element(void)
{
    struct node *node = filled();
    sink = node->value;
    sink = node->children[3]->value;
    sink++;
}

// case global_pointer
//   kind: null-dereference
//   says: Read from 0x0, through a null pointer
//   variable: list|hide|none
OWN void global_pointer(void)
{
    list = hide(0);
    sink = 1;
    sink = list->value;
    sink++;
}

// case global_element
//   kind: null-dereference
//   says: Write to 0x0, through a null pointer
//   variable: rows\[5\]|hide|none
OWN void global_element(void)
{
    rows[5] = hide(0);
    sink = 1;
    *rows[5] = 1;
    sink++;
}

// case index_in_global
//   kind: unknown|use-after-unmap
//   says: Read from|Access to
//   variable: index|hide|none
OWN void index_in_global(void)
{
    unsigned index = (unsigned)(uintptr_t)hide(4294967295);
    for (int i = 0; i < 31; i++)
        table[i] = (int)sink;
    sink = table[index];
    sink++;
}

// case null_with_index
//   kind: null-dereference
//   says: Read from 0x20, through a null pointer
//   variable: numbers
//   cause: none|null-offset
OWN void null_with_index(void)
{
    long *numbers = hide(0);
    size_t index = (size_t)hide(4);
    sink = numbers[index];
    sink++;
}

// case divisor
//   signal: FPE
//   kind: divide-by-zero
//   says: Integer division by zero
//   variable: parts|hide|none
OWN void divisor(void)
{
    int parts = (int)(uintptr_t)hide(0);
    sink = (int)sink / parts;
    sink++;
}

// case no_variable
//   kind: unknown|use-after-unmap
//   says: Read from 0x41414140
//   variable: hide|none
//   cause: none|text
OWN void no_variable(void)
{
    sink = *(long *)hide(0x41414140);
    sink++;
}

// case no_variable_null
//   kind: null-dereference
//   says: Read from 0x8, through a null pointer
//   variable: hide|none
//   cause: none|null-offset
OWN void no_variable_null(void)
{
    sink = (long)((struct node *)hide(0))->next;
    sink++;
}

// case called
//   kind: null-dereference
//   says: Jump to 0x0|Access to 0x0
//   variable: call|hide|none
//   in: called
OWN void called(void)
{
    callback *call = hide(0);
    sink = call(4);
    sink++;
}

// case passed_to_strlen
//   kind: null-dereference
//   says: Read from 0x0, through a null pointer|Access to 0x0
//   variable: text|hide|none
OWN void passed_to_strlen(void)
{
    const char *text = hide(0);
    sink = (long)strlen(text);
    sink++;
}

// case passed_to_memset
//   kind: null-dereference
//   says: Write to 0x0, through a null pointer|Access to 0x0
//   variable: text|hide|none
OWN void passed_to_memset(void)
{
    char *text = hide(0);
    memset(text, 1, (size_t)hide(100));
    sink++;
}

// The other arguments of these functions are known to be good.
// case passed_to_fputs
//   kind: null-dereference
//   says: Read from 0x0, through a null pointer
//   variable: text
OWN void passed_to_fputs(const char *text)
{
    sink = fputs(text, stdout);
    sink++;
}

// case passed_to_fwrite
//   kind: null-dereference
//   says: Read from 0x0, through a null pointer
//   variable: text
OWN void passed_to_fwrite(const char *text)
{
    sink = (long)fwrite(text, 1, bytes, stdout);
    sink++;
}

// case passed_to_sscanf
//   kind: null-dereference
//   says: Read from 0x0, through a null pointer
//   variable: text
OWN void passed_to_sscanf(const char *text)
{
    long number = 0;
    sink = sscanf(text, "%ld", &number);
    sink += number;
}

// Compilers that optimize give the members of this structure places of their own.
static struct {
    long id;
    struct node *first, *last;
} ends;

OWN void set_last(void)
{
    ends.last = hide(0);
}

// case split_structure
//   kind: null-dereference
//   says: Read from 0x0, through a null pointer
//   variable: ends.last
OWN void split_structure(void)
{
    set_last();
    sink = ends.last->value;
    sink++;
}

// case read_only
//   kind: write-to-read-only
//   says: Write to 0x[0-9a-f]+, which is read-only memory
//   variable: page
//   cause: none
OWN void read_only(void)
{
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 1;
    sink++;
}

#define CASE(name)                                                                     \
    if (count > 1 && strcmp(arguments[1], #name) == 0)                                 \
        name();

int main(int count, char **arguments)
{
    CASE(local_pointer)
    CASE(local_wild)
    CASE(member)
    CASE(member_of_member)
    CASE(nested_member)
    CASE(element)
    CASE(global_pointer)
    CASE(global_element)
    CASE(index_in_global)
    CASE(null_with_index)
    CASE(divisor)
    CASE(no_variable)
    CASE(no_variable_null)
    CASE(called)
    CASE(passed_to_strlen)
    CASE(passed_to_memset)
    if (count > 1 && strcmp(arguments[1], "passed_to_fputs") == 0)
        passed_to_fputs(hide(0));
    if (count > 1 && strcmp(arguments[1], "passed_to_fwrite") == 0)
        passed_to_fwrite(hide(0));
    if (count > 1 && strcmp(arguments[1], "passed_to_sscanf") == 0)
        passed_to_sscanf(hide(0));
    CASE(split_structure)
    CASE(read_only)
    return 0;
}
