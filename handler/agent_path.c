// SPDX-License-Identifier: Apache-2.0
#include "handler/agent_path.h"
#include "handler/file_syscalls.h"

#include <string.h>
#include <unistd.h>

// The agent is beside the library; or the library is one level up in lib/, or two in
// lib/x86_64-linux-gnu/. The paths are the ends of one, from these places on, which
// need no relocation.
static const char farthest[] = "../../libexec/crashhook/crashhook-agent";
static const unsigned char places[] = { sizeof("../../libexec/crashhook"), sizeof(".."),
                                        0 };

static const char installed[] = CRASHHOOK_LIBEXECDIR "/crashhook/crashhook-agent";

bool agent_path_absolute(const char *given, char *path, size_t size)
{
    size_t used = 0;
    if (given[0] != '/') {
        if (getcwd(path, size) == NULL)
            return false;
        used = strlen(path);
        path[used++] = '/'; // replaces the terminator; the check below leaves room for
                            // a new one
    }
    size_t length = strlen(given) + 1;
    if (used >= size || length > size - used)
        return false;
    memcpy(path + used, given, length);
    return true;
}

void agent_path_find(char *path, size_t size)
{
    bool known = agent_path_origin(path, size);
    char *slash = known ? strrchr(path, '/') : NULL;
    for (size_t i = 0; slash != NULL && i < sizeof(places); i++) {
        size_t length = sizeof(farthest) - places[i];
        if (length > size - (size_t)(slash + 1 - path))
            continue;
        memcpy(slash + 1, farthest + places[i], length);
        if (sys_executes(path))
            return;
    }
    memcpy(path, installed, sizeof(installed));
}
