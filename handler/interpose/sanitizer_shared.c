// SPDX-License-Identifier: Apache-2.0
//
// gcc's UndefinedBehaviorSanitizer has a runtime of its own in a program with another
// sanitizer, which is found by its name. A static program would warn of dlopen.
#include <dlfcn.h>
#include <stddef.h>

#include "handler/interpose/sanitizer_runtime.h"

void sanitizer_note_other(void (*end)(void))
{
    void *runtime = dlopen("libubsan.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void (*set)(void (*)(void)) = NULL;
    if (runtime != NULL)
        *(void **)&set = dlsym(runtime, "__sanitizer_set_death_callback");
    if (set != NULL)
        set(end);
}
