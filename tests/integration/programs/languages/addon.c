// SPDX-License-Identifier: Apache-2.0
//
// A module of C in programs of node: `crash` crashes, `later` at its 200,000th call,
// and `ruin` has children crash that overwrote what the frames of JavaScript are read
// from. It is declared here what it needs of Node-API, which does not change, so that
// no header has to be installed.
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

#include "ruins.h"

int napi_create_function(void *env, const char *name, size_t length,
                         void *(*function)(void *env, void *info), void *data,
                         void **out);
int napi_set_named_property(void *env, void *object, const char *name, void *value);
int napi_get_cb_info(void *env, void *info, size_t *count, void **values, void **self,
                     void **data);
int napi_get_value_int64(void *env, void *value, int64_t *out);
void *napi_register_module_v1(void *env, void *exports);

extern int *volatile nowhere;

enum { STACK_BYTES = 16384, OBJECT_BYTES = 64 };

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

// add_objects adds the object that a tagged word refers to, and those that it refers to
// in turn.
static void add_objects(uint64_t word, int depth)
{
    if (word % 8 != 1 || ruin_peek(word - 1) == 0)
        return;
    ruin_add_place(word - 1, OBJECT_BYTES);
    for (uint64_t at = 0; depth > 0 && at < OBJECT_BYTES; at += 8)
        add_objects(ruin_peek(word - 1 + at), depth - 1);
}

// inherit_heap has children get the memory that V8 keeps from them.
static void inherit_heap(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long start;
    unsigned long end;
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        if (sscanf(line, "%lx-%lx", &start, &end) == 2)
            (void)madvise((void *)start, end - start, MADV_DOFORK);
    }
    if (maps != NULL)
        (void)fclose(maps);
}

static void *addon_ruin(void *env, void *info)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    void *values[2];
    size_t count = 2;
    int64_t seed;
    int64_t cases;
    if (napi_get_cb_info(env, info, &count, values, NULL, NULL) != 0 ||
        napi_get_value_int64(env, values[0], &seed) != 0 ||
        napi_get_value_int64(env, values[1], &cases) != 0)
        return NULL;
    // The frames of C, which the native report is made of, stay.
    for (uint64_t at = here + 1024; at < here + STACK_BYTES; at += 8) {
        if (ruin_peek(at) % 8 == 1)
            ruin_add_place(at, 8);
        add_objects(ruin_peek(at), 2);
    }
    inherit_heap();
    ruin_cases(seed, cases);
    return NULL;
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
    put_function(env, exports, "ruin", addon_ruin);
    return exports;
}
