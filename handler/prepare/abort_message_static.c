// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <stddef.h>

#include "handler/prepare/message_places.h"

// glibc's, in a static program that can abort. The reference is hidden, so that a
// dynamic program is not tied to a private version of glibc: there it is looked up by
// name.
extern const void *__abort_msg // glibc's name
    __attribute__((weak, visibility("hidden")));

#pragma weak dlsym

const void *abort_message_place(void)
{
    if (&__abort_msg != NULL)
        return &__abort_msg;
#if defined(__GLIBC__)
    if (dlsym != NULL)
        return dlsym(RTLD_DEFAULT, "__abort_msg");
#endif
    return NULL;
}
