// SPDX-License-Identifier: Apache-2.0
#include "handler/prepare/agent_path.h"

#include <string.h>
#include <unistd.h>

#include "shared/agent_places.h"

// No pointers, which would need relocation.
enum { PLACE_BYTES = sizeof("../../libexec/crashhook/crashhook-agent") };
static const char places[][PLACE_BYTES] = AGENT_PLACES_BESIDE;
static const char installed[] = AGENT_PLACES_INSTALLED;

enum { PLACES = sizeof(places) / sizeof(places[0]) };

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
    for (size_t i = 0; length != 0 && i < PLACES; i++) {
        memcpy(to, folder, length);
        memcpy(to + length, places[i], sizeof(places[i]));
        to += strlen(to) + 1;
    }
    memcpy(to, installed, sizeof(installed));
}

size_t agent_paths_bytes(size_t length)
{
    return PLACES * length + sizeof(places) + sizeof(installed);
}
