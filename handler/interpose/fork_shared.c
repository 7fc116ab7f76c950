// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stddef.h>

#include "handler/prepare/liveness_record.h"
#include "handler/prepare/next_call.h"

void liveness_record_ready_for_forks(void)
{
    next_call_find();
}

#if defined(__GLIBC__)

// __register_atfork is what glibc's pthread_atfork, which is a part of each library,
// calls. A program with another C library loads the library all the same, and lacks it.
extern int __register_atfork(void (*prepare)(void), void (*parent)(void),
                             void (*child)(void), void *library) // glibc's name
    __attribute__((weak));

bool liveness_record_hear_forks(void (*in_child)(void))
{
    return __register_atfork != NULL &&
           __register_atfork(NULL, NULL, in_child, NULL) == 0;
}

#else

bool liveness_record_hear_forks(void (*in_child)(void))
{
    return pthread_atfork(NULL, NULL, in_child) == 0;
}

#endif
