// SPDX-License-Identifier: Apache-2.0
#include "net/libcurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MEMBER(name)                                                                   \
    {                                                                                  \
        "curl_" #name, offsetof(struct libcurl, name)                                  \
    }

static const struct {
    const char *name;
    size_t offset;
} members[] = {
    MEMBER(global_init),    MEMBER(easy_init),    MEMBER(easy_reset),
    MEMBER(easy_setopt),    MEMBER(easy_perform), MEMBER(easy_getinfo),
    MEMBER(easy_strerror),  MEMBER(easy_cleanup), MEMBER(slist_append),
    MEMBER(slist_free_all), MEMBER(getdate),
};

_Static_assert(sizeof(members) / sizeof(members[0]) * sizeof(void *) ==
                   sizeof(struct libcurl),
               "every function has its name");

static bool find_curl_functions(void *library, struct libcurl *out)
{
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        void *function = dlsym(library, members[i].name);
        if (function == NULL)
            return false;
        // POSIX requires that dlsym's result is converted to a function pointer through
        // its bytes.
        memcpy((char *)out + members[i].offset, &function, sizeof(function));
    }
    return true;
}

enum ch_status libcurl_load(const struct libcurl **out, char *why, size_t size)
{
    static struct libcurl functions;
    static bool loaded;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!loaded) {
        void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
        loaded = library != NULL && find_curl_functions(library, &functions);
    }
    bool found = loaded;
    pthread_mutex_unlock(&lock);
    if (!found) {
        const char *reason = dlerror();
        (void)snprintf(why, size, "%s", reason != NULL ? reason : "libcurl.so.4");
        return CH_ERR_UNSUPPORTED;
    }
    *out = &functions;
    return CH_OK;
}

const char *libcurl_authorities(void)
{
    return NULL;
}
