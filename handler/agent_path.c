// SPDX-License-Identifier: Apache-2.0
#include "handler/agent_path.h"
#include "handler/file_syscalls.h"

#include <string.h>
#include <unistd.h>

// The library is one level up in lib/, two in lib/x86_64-linux-gnu/.
static const char *const places[] = {
    "crashhook-agent",
    "../libexec/crashhook/crashhook-agent",
    "../../libexec/crashhook/crashhook-agent",
};

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
    for (size_t i = 0; slash != NULL && i < sizeof(places) / sizeof(places[0]); i++) {
        size_t length = strlen(places[i]) + 1;
        if (length > size - (size_t)(slash + 1 - path))
            continue;
        memcpy(slash + 1, places[i], length);
        if (sys_executes(path))
            return;
    }
    memcpy(path, installed, sizeof(installed));
}
