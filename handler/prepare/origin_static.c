// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "handler/prepare/agent_path.h"

bool agent_path_origin(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size);
    if (length <= 0 || (size_t)length >= size)
        return false;
    path[length] = 0;
    return true;
}
