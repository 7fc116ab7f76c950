// SPDX-License-Identifier: Apache-2.0
#include "handler/victim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *library;

void *victim_load_library(void)
{
    void *handle = library != NULL ? dlopen(library, RTLD_NOW) : NULL;
    if (library != NULL && handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(99);
    }
    return handle;
}

void victim_say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(98);
}

int main(int argc, char **argv)
{
    static const struct victim_way *const tables[] = { victim_faults, victim_threads,
                                                       victim_surroundings,
                                                       victim_handlers };
    if (argc > 2)
        library = argv[2];
    for (size_t i = 0; argc > 1 && i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const struct victim_way *way = tables[i]; way->name != NULL; way++) {
            if (strcmp(way->name, argv[1]) == 0) {
                way->crash();
                return 0;
            }
        }
    }
    fputs("usage: victim WAY [LIBRARY]\n", stderr);
    return 2;
}
