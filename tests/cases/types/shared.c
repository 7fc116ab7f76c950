// SPDX-License-Identifier: Apache-2.0
//
// A crash in a function of types that other units have as well: dwz puts each kind of
// them into a unit of its own, which the others refer to.
#include <signal.h>
#include <sys/stat.h>

static struct stat file = { .st_size = 7, .st_mtim = { 8, 9 } };
static stack_t stack = { .ss_flags = 3, .ss_size = 4 };

__attribute__((noipa)) static long leaf(struct stat *of, stack_t *on)
{
    *(volatile int *)0 = (int)of->st_size + on->ss_flags;
    return of->st_size;
}

__attribute__((noipa)) static long outer(struct stat status, stack_t on)
{
    return leaf(&status, &on) + status.st_size;
}

int main(void)
{
    return (int)outer(file, stack);
}
