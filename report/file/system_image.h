// SPDX-License-Identifier: Apache-2.0
//
// Whether an image is part of the system or of the program.
//
// Only the path decides, so that a report can be judged on any machine. Grouping and
// display use this to tell the program's in-app frames from all others.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "report/file/swift_symbol.h"

// system_image is true for libraries in the distribution's folders, for the kernel's
// vDSO, and for our own handler, which starts the threads of a program that it is
// preloaded into. The program itself never counts as part of the system, wherever it
// is.
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

// system_frame is true for frames in the system's images, for the functions that start
// programs and threads, which a static program contains itself, and for Swift's thunks.
static inline bool system_frame(const char *path, const char *raw_name)
{
    static const char *const starters[] = {
        "_start",         "__libc_start_main", "__libc_start_call_main",
        "_dl_start_user", "start_thread",      "clone",
        "clone3",         "__clone",           "__clone3"
    };
    if (path != NULL && system_image(path))
        return true;
    if (raw_name != NULL && swift_symbol_is_thunk(raw_name))
        return true;
    for (size_t i = 0; raw_name != NULL && i < sizeof(starters) / sizeof(starters[0]);
         i++) {
        if (strcmp(raw_name, starters[i]) == 0)
            return true;
    }
    return false;
}
