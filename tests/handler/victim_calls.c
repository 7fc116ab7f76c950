// SPDX-License-Identifier: Apache-2.0
//
// A program that links the static library and calls it. It counts what malloc is asked
// for from before the library's constructor on: the counter is the program's own, and
// comes first.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void install_often(void)
{
    struct crashhook_options options = CRASHHOOK_DEFAULTS;
    options.release = "1.2.3";
    for (int i = 0; i < 10000; i++) {
        if (crashhook_install(i % 2 == 0 ? NULL : &options) != 0)
            _exit(1);
    }
    options.size = 3;
    if (crashhook_install(&options) == 0)
        _exit(2);
    null_write();
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
        { "install-often", install_often },
        { "watch-the-heap", watch_the_heap },
    };
    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(ways[i].name, argv[1]) == 0)
            ways[i].way();
    }
    return 0;
}
