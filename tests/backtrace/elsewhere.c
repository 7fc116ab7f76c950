// SPDX-License-Identifier: Apache-2.0
//
// Captures in a signal handler, of the handler's stack and of what it interrupted,
// where the C library or the processor is another one (test_elsewhere.py), also by the
// names of <execinfo.h>. It prints what is wrong, and is built without the rest of the
// tests.
#include "crashhook/execinfo.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 64, DEPTH = 3, FUNCTION_BYTES = 512 };

struct captured {
    uint64_t addresses[ROOM];
    size_t count;
};

static struct captured in_handler;
static struct captured from_context;
static struct captured by_execinfo;

static void capture(struct captured *out, const void *context)
{
    struct crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
    options.context = context;
    out->count = crashhook_backtrace_capture_raw(out->addresses, ROOM, &options);
    __asm__ volatile("");
}

static void handle(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    capture(&in_handler, NULL);
    capture(&from_context, context);
    by_execinfo.count = (size_t)backtrace((void **)by_execinfo.addresses, ROOM);
}

// raise() is the C library's: a function that may have no unwind rules.
__attribute__((noinline)) static void descend(int depth)
{
    if (depth == 0)
        raise(SIGUSR1);
    else
        descend(depth - 1);
    __asm__ volatile("");
}

static bool has_descended;

static int compare(const void *left, const void *right)
{
    if (!has_descended)
        descend(DEPTH);
    has_descended = true;
    return memcmp(left, right, 1);
}

static int start(void);

// is_in returns true if an address is in a function, of those that can be on the stack.
static bool is_in(uint64_t address, uintptr_t function)
{
    const uintptr_t others[] = { (uintptr_t)capture, (uintptr_t)handle,
                                 (uintptr_t)descend, (uintptr_t)compare,
                                 (uintptr_t)start };
    if (address < function || address - function >= FUNCTION_BYTES)
        return false;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i] > function && others[i] <= address)
            return false;
    return true;
}

// count_wrong counts what a stack lacks: the frames of descend, and of compare and
// start with functions of the C library between them.
static int count_wrong(const char *name, const struct captured *stack)
{
    size_t at = 0;
    int depth = 0;
    bool has_compare = false;
    bool has_start = false;
    while (at < stack->count && !is_in(stack->addresses[at], (uintptr_t)descend))
        at++;
    for (; at < stack->count && is_in(stack->addresses[at], (uintptr_t)descend); at++)
        depth++;
    if (at < stack->count)
        has_compare = is_in(stack->addresses[at], (uintptr_t)compare);
    for (; at < stack->count; at++)
        has_start = has_start || is_in(stack->addresses[at], (uintptr_t)start);
    printf("%s: %zu frames, descend %d of %d, compare %d, start %d\n", name,
           stack->count, depth, DEPTH + 1, has_compare, has_start);
    return (depth != DEPTH + 1) + !has_compare + !has_start;
}

// count_unwritten counts the frames that backtrace_symbols_fd does not write as a line,
// and the program's name if it is in none.
static int count_unwritten(const char *program)
{
    static char text[8192];
    int ends[2];
    size_t lines = 0;
    if (pipe(ends) != 0)
        return 1;
    backtrace_symbols_fd((void **)by_execinfo.addresses, (int)by_execinfo.count,
                         ends[1]);
    ssize_t size = read(ends[0], text, sizeof(text) - 1);
    text[size > 0 ? size : 0] = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    printf("symbols_fd: %zu lines of %zu\n%s", lines, by_execinfo.count, text);
    return (lines != by_execinfo.count) + (strstr(text, program) == NULL);
}

__attribute__((noinline)) static int start(void)
{
    char sorted[] = { 3, 2, 1 };
    qsort(sorted, sizeof(sorted), 1, compare);
    __asm__ volatile("");
    return count_wrong("handler", &in_handler) + count_wrong("context", &from_context) +
           count_wrong("execinfo", &by_execinfo);
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO };
    (void)argc;
    return sigaction(SIGUSR1, &action, NULL) == 0 && start() == 0 &&
                   count_unwritten(argv[0]) == 0
               ? 0
               : 1;
}
