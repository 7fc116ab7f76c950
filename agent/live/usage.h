// SPDX-License-Identifier: Apache-2.0
//
// The memory that a process and its cgroup use, read from outside once in a while, for
// the report of a process that is killed: by then nothing of it can be read any more.
//
// Both versions of cgroups count. In a container the cgroup's own folder may be the
// root of what is mounted, so that is looked at where the path is not there.
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "handler/context_page.h"

struct usage {
    pid_t pid;
    bool unified;          // cgroup v2
    char folder[PATH_MAX]; // of its memory cgroup; empty: none
};

// usage_open finds where the memory of process pid is counted.
void usage_open(struct usage *out, pid_t pid);

// usage_sample adds a sample to life, and notes the cgroup's limit. rss_bytes 0: it is
// read. Of a process that has ended only that is known.
void usage_sample(const struct usage *usage, uint64_t rss_bytes,
                  struct context_life *life);

// usage_peak is the most memory that the process has ever had; 0: it is not known.
uint64_t usage_peak(const struct usage *usage);

// usage_oom_kills is how many processes of the cgroup the kernel has killed for memory.
uint64_t usage_oom_kills(const struct usage *usage);
