// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stddef.h>

#include "handler/prepare/liveness_record.h"

void liveness_record_ready_for_forks(void)
{
}

bool liveness_record_hear_forks(void (*in_child)(void))
{
    return pthread_atfork(NULL, NULL, in_child) == 0;
}
