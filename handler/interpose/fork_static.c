// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stddef.h>

#include "handler/prepare/life.h"

void life_ready_for_forks(void)
{
}

bool life_hear_forks(void (*in_child)(void))
{
    return pthread_atfork(NULL, NULL, in_child) == 0;
}
