// SPDX-License-Identifier: Apache-2.0
//
// Undefined behaviour that a compiler's check stops by an instruction. Clang's
// instruction is which check it was, gcc's does not.
//
// all flags: -fsanitize=undefined -fsanitize-undefined-trap-on-error
// all signal: ILL
// all builds: clang
// all kind: sanitizer
// all says: Undefined behaviour, stopped by a check of clang's: \w+
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define OWN __attribute__((noinline)) static

static volatile int zero;
static volatile int big = INT_MAX;
static volatile int many = 40;
static volatile int digits[4];
static volatile int sink;

struct entry {
    int number;
    struct entry *next;
};

// case add
//   says: Undefined behaviour, stopped by a check of clang's: a sum that overflows
OWN void add(void)
{
    sink = big + many;
}

// case subtract
//   says: Undefined behaviour, stopped by a check of clang's: a difference that
//     overflows
OWN void subtract(void)
{
    sink = -big - many;
}

// case multiply
//   says: Undefined behaviour, stopped by a check of clang's: a product that overflows
OWN void multiply(void)
{
    sink = big * many;
}

// case divide
//   says: Undefined behaviour, stopped by a check of clang's: a division by zero
OWN void divide(void)
{
    sink = many / zero;
}

// case shift
//   says: Undefined behaviour, stopped by a check of clang's: a shift by too many bits
OWN void shift(void)
{
    sink = 1 << many;
}

// case index_outside
//   says: Undefined behaviour, stopped by a check of clang's: an index outside
OWN void index_outside(void)
{
    sink = digits[many];
}

// case null_access
//   says: Undefined behaviour, stopped by a check of clang's: a pointer that is null
OWN void null_access(void)
{
    struct entry *volatile entry = (struct entry *)(size_t)zero;
    sink = entry->next->number;
}

// case boolean
//   says: Undefined behaviour, stopped by a check of clang's: a bool or enum with a
//     value
OWN void boolean(void)
{
    _Bool value;
    memset(&value, many, sizeof(value));
    sink = *(volatile _Bool *)&value;
}

// case gcc_says_nothing
//   builds: gcc
//   kind: illegal-instruction
//   says: Illegal instruction at 0x[0-9a-f]+ \(ud2
OWN void gcc_says_nothing(void)
{
    sink = big - INT_MIN + many;
    sink++;
}

#define CASE(name)                                                                     \
    if (count > 1 && strcmp(arguments[1], #name) == 0)                                 \
        name();

int main(int count, char **arguments)
{
    CASE(add)
    CASE(subtract)
    CASE(multiply)
    CASE(divide)
    CASE(shift)
    CASE(index_outside)
    CASE(null_access)
    CASE(boolean)
    CASE(gcc_says_nothing)
    return 0;
}
