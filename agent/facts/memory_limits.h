// SPDX-License-Identifier: Apache-2.0
//
// Whether a process was close to a limit on its memory: RLIMIT_AS, RLIMIT_DATA, or that
// of its cgroup or of an ancestor, in either version of cgroups.
//
// Inactive file pages do not count as used, because the cgroup can reclaim them at
// once. A few small files are read; an unlimited process costs two system calls.
#pragma once
#include <sys/types.h>

#include "base/text.h"
#include "report/summary/crash_facts.h"

// memory_limits_find fills out with the first limit of which process pid uses at least
// three quarters. cgroup is the content of /proc/PID/cgroup. Without such a limit,
// out->limit is NULL.
void memory_limits_find(pid_t pid, const struct text *cgroup, struct crash_memory *out);

// memory_limits_stack is how far the first thread's stack may grow, in bytes; 0: it is
// not known, or there is no limit.
uint64_t memory_limits_stack(pid_t pid);
