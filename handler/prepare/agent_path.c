// SPDX-License-Identifier: Apache-2.0
#include "handler/prepare/agent_path.h"

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

size_t agent_path_folder(char *path, size_t size)
{
    const char *slash = agent_path_origin(path, size) ? strrchr(path, '/') : NULL;
    return slash != NULL ? (size_t)(slash + 1 - path) : 0;
}

void agent_paths_write(char *to, const char *folder, size_t length)
{
    for (size_t i = 0; length != 0 && i < sizeof(places); i++) {
        memcpy(to, folder, length);
        memcpy(to + length, farthest + places[i], sizeof(farthest) - places[i]);
        to += length + sizeof(farthest) - places[i];
    }
    memcpy(to, installed, sizeof(installed));
}

size_t agent_paths_bytes(size_t length)
{
    return sizeof(places) * (length + sizeof(farthest)) + sizeof(installed);
}
