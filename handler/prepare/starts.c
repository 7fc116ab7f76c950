// SPDX-License-Identifier: Apache-2.0
#include "handler/prepare/starts.h"

#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "handler/machine/syscalls.h"
#include "handler/prepare/context.h"

static int32_t counted; // the process whose start was; 0: none

void starts_begin(void)
{
    struct context_page *context = context_current;
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (counted != 0 || context == NULL || random == NULL)
        return;
    counted = sys_getpid();
    memcpy(&context->session, random, sizeof(context->session));
}

void starts_end(void)
{
    if (counted != 0 && counted == sys_getpid())
        context_current->liveness.session_ended = 1;
}
