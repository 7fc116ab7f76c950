// SPDX-License-Identifier: Apache-2.0
//
// smashed HOW ENDING: overwrites return addresses in one of five ways, and ends in one
// of four: by the return, by a fault in the same function, by one in a function that it
// calls, and by abort. HOW 4 does so in a signal handler. With GCS_WORDS it keeps
// copies of return addresses in `gcs`, as AArch64's processors do. A third argument
// gives it a shadow stack of x86-64; it exits with 77 where there is none.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline, noclone))

enum { OWN_BYTES = 32 + 56, OUTER_BYTES = 300 };
static char source[512];
static int *volatile nowhere;

#ifdef GCS_WORDS
uint64_t gcs[GCS_WORDS];
uint64_t *volatile gcs_pointer = &gcs[GCS_WORDS - 1]; // the last word ends it
#define ENTER()                                                                        \
    (*--gcs_pointer =                                                                  \
         (uint64_t)__builtin_extract_return_addr(__builtin_return_address(0)))
#else
#define ENTER() ((void)0)
#endif

KEEP static void escape(void *object)
{
    __asm__ volatile("" ::"r"(object) : "memory");
}

KEEP static void fault(void)
{
    ENTER();
    *nowhere = 1; // crash here
}

KEEP static void copy(volatile char *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = source[i];
}

KEEP static int parse(int how, int ending)
{
    ENTER();
    char line[32];
    size_t count = how == 1 || how == 3 ? OUTER_BYTES : OWN_BYTES;
    escape(line);
    switch (how) {
    case 0:
        memcpy(line, source, count);
        break;
    case 1:
        memset(line, 'A', count);
        break;
    case 2:
        memmove(line, source, count);
        break;
    case 3:
        copy(line, count);
        break;
    default:
        snprintf(line, count, "%s", source);
    }
    escape(line);
    switch (ending) {
    case 1:
        *nowhere = 1;
        break;
    case 2:
        fault();
        break;
    case 3:
        abort();
    }
    return line[0];
}

KEEP static int outer(int how, int ending)
{
    ENTER();
    char block[64];
    escape(block);
    return parse(how, ending) + block[0];
}

// enable_shadow_stack is arch_prctl(ARCH_SHSTK_ENABLE, ARCH_SHSTK_SHSTK). Its caller
// must not return: there is no copy of its return address.
static inline __attribute__((always_inline)) void enable_shadow_stack(void)
{
    long result = -1;
#ifdef __x86_64__
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(158L), "D"(0x5001L), "S"(1L)
                     : "rcx", "r11", "memory");
#endif
    if (result != 0)
        exit(77);
}

static int handled_ending;

static void handle(int signal)
{
    (void)signal;
    exit(outer(4, handled_ending));
}

int main(int argc, char **argv)
{
    ENTER();
    char room[1024]; // what is overwritten ends in it
    escape(room);
    memset(source, 'A', sizeof(source) - 1);
    int how = argc > 1 ? argv[1][0] - '0' : 0;
    int ending = argc > 2 ? argv[2][0] - '0' : 0;
    if (argc > 3)
        enable_shadow_stack();
    if (how != 4)
        exit(outer(how, ending) + room[1]);
    handled_ending = ending;
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    return room[0];
}
