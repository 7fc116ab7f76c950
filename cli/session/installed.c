// SPDX-License-Identifier: Apache-2.0
#include "cli/session/installed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

// find_self writes the path of this program: without /proc, the one by which it was
// executed.
static bool find_self(char path[static PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length <= 0)
        return realpath((const char *)getauxval(AT_EXECFN), path) != NULL;
    path[length] = 0;
    return true;
}

// find_installed writes the first existing path in places, which are relative to this
// program's folder.
static bool find_installed(const char *const *places, size_t count,
                           char path[static PATH_MAX])
{
    char self[PATH_MAX];
    char joined[PATH_MAX];
    if (!find_self(self))
        return false;
    *(strrchr(self, '/') + 1) = 0;
    for (size_t i = 0; i < count; i++) {
        int size = snprintf(joined, sizeof(joined), "%s%s", self, places[i]);
        if (size > 0 && (size_t)size < sizeof(joined) && realpath(joined, path) != NULL)
            return true;
    }
    return false;
}

bool installed_library(char path[static PATH_MAX])
{
    static const char *const places[] = { "../lib/" CRASHHOOK_SONAME,
                                          "../" CRASHHOOK_LIBDIR "/" CRASHHOOK_SONAME,
                                          "../lib64/" CRASHHOOK_SONAME };
    return find_installed(places, sizeof(places) / sizeof(places[0]), path);
}

bool installed_agent(char path[static PATH_MAX])
{
    static const char *const places[] = { "../libexec/crashhook/crashhook-agent" };
    return find_installed(places, sizeof(places) / sizeof(places[0]), path);
}
