// SPDX-License-Identifier: Apache-2.0
//
// For libcrashhook.a, in which this is an object of its own: what it defines is a name
// of libc's, which must not be made local as the handler's names are.
#include <dlfcn.h>
#include <stddef.h>

#include "handler/prepare/message_places.h"

#if defined(__GLIBC__)

// __abort_msg is glibc's. A reference would do in a static program; but in a dynamic
// one gold and mold accept no hidden reference, and any other would tie the program to
// a private version of glibc. So this is a weak definition. In a static program libc's
// own definition replaces it, or libc uses it. In a dynamic one nobody does, and the
// address is looked up by name.
extern const void *__abort_msg;
__attribute__((weak, visibility("hidden"))) const void *__abort_msg;

#pragma weak dlsym

const void *ch_abort_message_place(void)
{
    const void *found = dlsym != NULL ? dlsym(RTLD_DEFAULT, "__abort_msg") : NULL;
    return found != NULL ? found : &__abort_msg;
}

#else

const void *ch_abort_message_place(void)
{
    return NULL;
}

#endif
