// SPDX-License-Identifier: Apache-2.0
//
// A module of C in programs of node: `crash` crashes, `later`
// at its 200,000th call. It is declared here what it needs
// of Node-API, which does not change, so that no header has to be installed.
#include <stddef.h>

int napi_create_function(void *env, const char *name, size_t length,
                         void *(*function)(void *env, void *info), void *data,
                         void **out);
int napi_set_named_property(void *env, void *object, const char *name, void *value);
void *napi_register_module_v1(void *env, void *exports);

int *volatile nowhere;

static void *addon_crash(void *env, void *info)
{
    (void)env;
    (void)info;
    *nowhere = 1; // crashes here
    return NULL;
}

static void *addon_later(void *env, void *info)
{
    static unsigned calls;
    return ++calls < 200000 ? NULL : addon_crash(env, info);
}

static void put_function(void *env, void *exports, const char *name,
                         void *(*function)(void *env, void *info))
{
    void *value;
    if (napi_create_function(env, name, (size_t)-1, function, NULL, &value) == 0)
        (void)napi_set_named_property(env, exports, name, value);
}

void *napi_register_module_v1(void *env, void *exports)
{
    put_function(env, exports, "crash", addon_crash);
    put_function(env, exports, "later", addon_later);
    return exports;
}
