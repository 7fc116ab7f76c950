// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/guarded_child.h"

#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>

// Debug files are mapped, so address space is mostly theirs.
#define CHILD_ADDRESS_SPACE (8ull << 30)

static void set_limit(__rlimit_resource_t what, rlim_t value)
{
    struct rlimit limit;
    if (getrlimit(what, &limit) != 0)
        return;
    if (limit.rlim_max != RLIM_INFINITY && value > limit.rlim_max)
        value = limit.rlim_max;
    limit.rlim_cur = limit.rlim_max = value;
    (void)setrlimit(what, &limit);
}

void guarded_child_enter(int64_t cpu_seconds)
{
    static const int crashes[] = { SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
                                   SIGABRT, SIGTRAP, SIGSYS, SIGXCPU };
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        (void)signal(crashes[i], SIG_DFL);
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_CPU, (rlim_t)cpu_seconds);
    if (!CRASHHOOK_SANITIZED) // its shadow memory takes the whole address space
        set_limit(RLIMIT_AS, CHILD_ADDRESS_SPACE);
}
