// SPDX-License-Identifier: Apache-2.0
//
// Whether a process was close to a limit on its memory: RLIMIT_AS, RLIMIT_DATA, or the
// one of its cgroup or of one above it, in either version of cgroups.
//
// What a cgroup could give back at once, its inactive file pages, does not count as
// used. Reads a few small files; an unlimited process costs two system calls.
#pragma once
#include <sys/types.h>

#include "base/text.h"
#include "report/crash_facts.h"

// memory_limits_find fills out with the first limit of which process pid uses three
// quarters. cgroup is what /proc/PID/cgroup says. Its limit is NULL where there is
// none.
void memory_limits_find(pid_t pid, const struct text *cgroup, struct crash_memory *out);
