// SPDX-License-Identifier: Apache-2.0
//
// A program that links the static library and calls it. It counts what malloc is asked
// for from before the library's constructor on: the counter is the program's own, and
// comes first.
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crashhook/crashhook.h"

extern void *__libc_malloc(size_t size);

static int allocations;

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

static void null_write(void)
{
    *(volatile int *)0 = 1;
}

static void with_options(void)
{
    struct crashhook_options options = CRASHHOOK_DEFAULTS;
    options.release = "1.2.3";
    options.tags = "a=b";
    if (crashhook_install(&options) == 0)
        null_write();
}

// with_options_replaced installs twice: the second options say nothing of the release.
static void with_options_replaced(void)
{
    struct crashhook_options first = CRASHHOOK_DEFAULTS;
    struct crashhook_options second = CRASHHOOK_DEFAULTS;
    first.release = "1.2.3";
    second.tags = "a=b";
    if (crashhook_install(&first) == 0 && crashhook_install(&second) == 0)
        null_write();
}

// with_every_option gives each member a value of its own: what the variable that has
// its name would have.
static void with_every_option(void)
{
    struct crashhook_options options = CRASHHOOK_DEFAULTS;
    options.url = "http://127.0.0.1:1";
    options.token_file = "/t";
    options.timeout = "29s";
    options.print = "no";
    options.release = "1.2.3";
    options.environment = "e";
    options.tags = "a=b";
    options.token = "marigold";
    options.spool_max = "3,4K";
    options.signals = "SEGV,QUIT";
    options.unwind = "dwarf";
    options.limit = "65";
    options.top = "17";
    options.threads = "crashed";
    options.images = "mentioned";
    options.symbolize = "fast";
    options.hold = "report";
    options.mode = "spawn";
    options.handlers = "last";
    options.preset = "full";
    options.arguments = "no";
    options.sanitize = "no";
    options.memory = "yes";
    options.own = "acme::";
    options.rate = "9/2m";
    options.log = "/l";
    options.kills = "no";
    options.starts = "no";
    options.stacks = "no";
    options.output = "/o";
    options.format = "json";
    options.registers = "all";
    options.demangle = "no";
    options.color = "yes";
    options.interactive = "no";
    options.warnings = "no";
    options.cache = "no";
    options.descriptors = "no";
    options.pii = "no";
    options.user = "u";
    if (crashhook_install(&options) == 0)
        null_write();
}

// with_fewer_signals leaves SIGSEGV to itself and has SIGQUIT reported.
static void with_fewer_signals(void)
{
    struct crashhook_options options = CRASHHOOK_DEFAULTS;
    options.signals = "QUIT";
    if (crashhook_install(&options) == 0)
        null_write();
}

static void with_another_signal(void)
{
    struct crashhook_options options = CRASHHOOK_DEFAULTS;
    options.signals = "QUIT";
    if (crashhook_install(&options) == 0)
        raise(SIGQUIT);
}

// with_old_options calls as a program does that was built with the first version's
// header.
static void with_old_options(void)
{
    struct crashhook_options options = CRASHHOOK_DEFAULTS;
    options.size = offsetof(struct crashhook_options, token);
    options.release = "1.2.3";
    options.token = (const char *)1; // is beyond it
    if (crashhook_install(&options) == 0)
        null_write();
}

static void install_often(void)
{
    struct crashhook_options options = CRASHHOOK_DEFAULTS;
    options.release = "1.2.3";
    for (int i = 0; i < 10000; i++) {
        if (crashhook_install(i % 2 == 0 ? NULL : &options) != 0)
            _exit(1);
    }
    static const size_t wrong[] = { 0, 3, sizeof(size_t), sizeof(options) - 1,
                                    sizeof(options) + sizeof(char *) };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        options.size = wrong[i];
        if (crashhook_install(&options) == 0)
            _exit(2);
    }
    null_write();
}

// count_mappings counts the process's mappings, and how many of them cannot be written
// to and end where the calling thread's alternate stack begins.
static int count_mappings(int *out_guards)
{
    char line[512];
    int count = 0;
    stack_t stack;
    FILE *maps = fopen("/proc/self/maps", "r");
    *out_guards = 0;
    if (maps == NULL || syscall(SYS_sigaltstack, NULL, &stack) != 0)
        _exit(3);
    for (; fgets(line, sizeof(line), maps) != NULL; count++) {
        char *at = strchr(line, '-');
        *out_guards += at != NULL &&
                       strtoul(at + 1, &at, 16) == (unsigned long)stack.ss_sp &&
                       at[2] != 'w';
    }
    fclose(maps);
    return count;
}

static volatile long depth;

static void overflow(void) // NOLINT(misc-no-recursion): it fills the stack
{
    volatile char kept[4096];
    kept[0] = (char)++depth;
    overflow();
    depth += kept[0];
}

// install_again_and_overflow overflows the stack after other plans than the first,
// which the alternate stack came with; it says so where that has no guard any more, and
// where plans stay mapped.
static void install_again_and_overflow(void)
{
    struct crashhook_options options = CRASHHOOK_DEFAULTS;
    options.release = "1.2.3";
    int mapped = 0;
    int guards = 0;
    for (int i = 0; i < 100; i++) {
        if (crashhook_install(&options) != 0)
            _exit(1);
        if (i == 0)
            mapped = count_mappings(&guards);
    }
    if (count_mappings(&guards) != mapped)
        puts("plans stay");
    if (guards != 1)
        puts("no guard");
    fflush(stdout);
    if (crashhook_set_data("colour", "blue") != 0)
        _exit(2);
    overflow();
}

static void watch_the_heap(void)
{
    char text[32];
    struct crashhook_options options = CRASHHOOK_DEFAULTS;
    if (crashhook_install(&options) != 0 || crashhook_thread_init() != 0)
        _exit(1);
    int counted = allocations;
    int length = snprintf(text, sizeof(text), "%d\n", counted);
    if (write(STDOUT_FILENO, text, (size_t)length) < 0)
        _exit(2);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*way)(void);
    } ways[] = {
        { "null-write", null_write },
        { "with-options", with_options },
        { "with-every-option", with_every_option },
        { "with-fewer-signals", with_fewer_signals },
        { "with-another-signal", with_another_signal },
        { "with-old-options", with_old_options },
        { "install-often", install_often },
        { "with-options-replaced", with_options_replaced },
        { "install-again-and-overflow", install_again_and_overflow },
        { "watch-the-heap", watch_the_heap },
    };
    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(ways[i].name, argv[1]) == 0)
            ways[i].way();
    }
    return 0;
}
