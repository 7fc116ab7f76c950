// SPDX-License-Identifier: Apache-2.0
//
// Whose code an image is: the system's, or the program's own.
//
// It goes by the path alone, so that a report can be judged on any machine. Grouping
// and display ask this to tell the frames somebody here wrote from all others.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// system_image is true for what the distribution installs as libraries, for the
// kernel's vDSO, and for our own handler, which starts the threads of a program it is
// preloaded into. The program itself is never the system's, wherever it lies.
static inline bool system_image(const char *path)
{
    static const char *const folders[] = { "/lib/",     "/lib32/",     "/lib64/",
                                           "/usr/lib/", "/usr/lib32/", "/usr/lib64/",
                                           "[vdso]",    "linux-vdso" };
    const char *name = strrchr(path, '/');
    if (name != NULL && strncmp(name, "/libcrashhook", strlen("/libcrashhook")) == 0)
        return true;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    }
    return false;
}
