// SPDX-License-Identifier: Apache-2.0
//
// A module of C in programs of node: `crash` crashes. It is declared here what it needs
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

void *napi_register_module_v1(void *env, void *exports)
{
    void *function;
    if (napi_create_function(env, "crash", (size_t)-1, addon_crash, NULL, &function) ==
        0)
        (void)napi_set_named_property(env, exports, "crash", function);
    return exports;
}
