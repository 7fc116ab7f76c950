// SPDX-License-Identifier: Apache-2.0
//
// dlclose, interposed before libc's by the shared library: other code may soon have the
// addresses of the functions that it unloads. Without it, as in the archive, their
// addresses are left to other code at the first call of a new function there.
#include <dlfcn.h>
#include <stddef.h>

#include "flight/functions.h"
#include "flight/ring.h"

typedef int dlclose_fn(void *);

// dlclose is a name that libc declares.
__attribute__((visibility("default"))) int dlclose(void *library)
{
    static dlclose_fn *next_dlclose;
    if (next_dlclose == NULL)
        *(void **)&next_dlclose = dlsym(RTLD_NEXT, "dlclose");
    int error = next_dlclose(library);
    if (__atomic_load_n(&ring_blocks, __ATOMIC_RELAXED) != 0)
        functions_leave_unloaded();
    return error;
}
