// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/debuginfod.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// client has the client's three functions, as its header declares them.
struct client {
    void *(*begin)(void);
    int (*find)(void *client, const unsigned char *id, int id_size, char **path);
    void (*end)(void *client);
};

static bool load_client(struct client *out)
{
    void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL)
        return false;
    // A function pointer is copied from dlsym's result by its bytes, as POSIX
    // recommends.
    void *begin = dlsym(library, "debuginfod_begin");
    void *find = dlsym(library, "debuginfod_find_debuginfo");
    void *end = dlsym(library, "debuginfod_end");
    memcpy(&out->begin, &begin, sizeof(begin));
    memcpy(&out->find, &find, sizeof(find));
    memcpy(&out->end, &end, sizeof(end));
    return begin != NULL && find != NULL && end != NULL;
}

enum ch_status debuginfod_fetch(const char *url, const struct build_id *id, char *path,
                                size_t size)
{
    struct client client;
    if (!load_client(&client))
        return CH_ERR_UNSUPPORTED;
    // The client reads its servers only from the environment.
    if (setenv("DEBUGINFOD_URLS", url, 1) != 0)
        return CH_ERR_NO_MEMORY;
    void *handle = client.begin();
    if (handle == NULL)
        return CH_ERR_NO_MEMORY;
    char *found = NULL;
    int fd = client.find(handle, id->bytes, (int)id->size, &found);
    client.end(handle);
    if (fd < 0)
        return CH_ERR_NOT_FOUND;
    close(fd);
    int length = found != NULL ? snprintf(path, size, "%s", found) : -1;
    free(found);
    return length > 0 && (size_t)length < size ? CH_OK : CH_ERR_LIMIT;
}
