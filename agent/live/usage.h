// SPDX-License-Identifier: Apache-2.0
//
// The memory that a process and its cgroup use, and what happens in that cgroup, read
// from outside once in a while, for the report of a process that is killed: by then
// nothing of it can be read any more.
//
// Both versions of cgroups count. In a container the cgroup's own folder may be the
// root of what is mounted, so that is looked at where the path is not there. The files
// belong to the kernel, but a container may have others mounted over them: numbers that
// are none count as not known.
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "shared/context_page.h"

struct usage {
    pid_t pid;
    bool unified;            // cgroup v2
    char folder[PATH_MAX];   // its memory cgroup; empty: none
    size_t root_size;        // of the part of folder that is the hierarchy's root
    size_t limited_size;     // of the part that is the group with the lowest limit
    char pressure[PATH_MAX]; // the file that says how long tasks wait for memory
    uint32_t found_in;       // checksum of /proc/PID/cgroup
};

// usage_open finds where the memory of process pid is counted.
void usage_open(struct usage *out, pid_t pid);

// usage_find does so for a process whose /proc/PID/cgroup is lines, where /sys and
// /proc are in the folder root, the empty string for this machine's.
void usage_find(struct usage *out, const char *root, const char *lines);

// usage_follow finds it again where the process is in another cgroup by now. False: it
// is not.
bool usage_follow(struct usage *usage);

// usage_limits notes the limit and the highest use of the cgroup.
void usage_limits(const struct usage *usage, struct context_liveness *liveness);

// usage_sample does so and adds a sample to liveness. rss_bytes 0: it is read. Of a
// process that has ended only that is known.
void usage_sample(const struct usage *usage, uint64_t rss_bytes,
                  struct context_liveness *liveness);

// usage_peak is the most memory that the process has ever had; 0: it is not known.
uint64_t usage_peak(const struct usage *usage);

// usage_events reads what has happened in the cgroup since it was made; a cgroup of
// version 1 reports neither kills of a group nor those of systemd-oomd.
void usage_events(const struct usage *usage, struct liveness_events *out);

// usage_events_since makes *now what has happened since before.
void usage_events_since(const struct liveness_events *before,
                        struct liveness_events *now);
