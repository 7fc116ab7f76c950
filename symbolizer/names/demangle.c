// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/demangle.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

struct bounded {
    jmp_buf full;
    size_t size;
    char bytes[DEMANGLE_OUTPUT_MAX];
};

// demangle_collect leaves by longjmp once the limit is reached. There is no other way
// to stop the demangler, and it holds no memory but its stack.
static void demangle_collect(const char *part, size_t size, void *opaque)
{
    struct bounded *out = opaque;
    if (size >= sizeof(out->bytes) - out->size)
        longjmp(out->full, 1);
    if (size == 0) // part may be NULL
        return;
    memcpy(out->bytes + out->size, part, size);
    out->size += size;
}

static char *by_callback(const char *raw_name)
{
    struct bounded out;
    out.size = 0;
    if (setjmp(out.full) != 0)
        return NULL;
    int options = DMGL_PARAMS | DMGL_ANSI;
    // Rust's first scheme looks like C++ with a hash at its end, so it is tried first.
    if (rust_demangle_callback(raw_name, options, demangle_collect, &out) == 0) {
        out.size = 0;
        if (cplus_demangle_v3_callback(raw_name, options, demangle_collect, &out) == 0)
            return NULL;
    }
    return strndup(out.bytes, out.size);
}

static char *by_dlang(const char *raw_name)
{
    char *name = dlang_demangle(raw_name, DMGL_PARAMS | DMGL_ANSI);
    if (name != NULL && strlen(name) >= DEMANGLE_OUTPUT_MAX) {
        free(name);
        return NULL;
    }
    return name;
}

char *demangle_name(const char *raw_name)
{
    if (raw_name[0] != '_' ||
        strnlen(raw_name, DEMANGLE_INPUT_MAX) == DEMANGLE_INPUT_MAX)
        return NULL;
    if (raw_name[1] == 'D')
        return by_dlang(raw_name);
    if (raw_name[1] == 'Z' || raw_name[1] == 'R' || raw_name[1] == 'G')
        return by_callback(raw_name);
    return NULL;
}
