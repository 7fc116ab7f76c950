// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include "handler/prepare/agent_path.h"

bool agent_path_origin(char *path, size_t size)
{
    Dl_info found;
    return dladdr((const void *)agent_path_origin, &found) != 0 &&
           found.dli_fname != NULL && agent_path_absolute(found.dli_fname, path, size);
}
