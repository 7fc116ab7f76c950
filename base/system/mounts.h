// SPDX-License-Identifier: Apache-2.0
//
// The mounts of a process, from /proc/PID/mountinfo (proc(5)).
//
// A file system that another process or a remote machine serves can block whoever opens
// or reads a file, without a limit and sometimes past SIGKILL. Those that the kernel
// serves from local disks or memory are listed by name; any other may block. Users: the
// agent, for mappings of a held process, and base/system/reachable.h.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/text.h"

// mounts holds the lines of a mountinfo file; all zero: none are known.
struct mounts {
    struct text lines;
};

// mounts_read reads the mounts of process pid; 0: the caller's. It asks no file system.
CH_CHECKED enum ch_status mounts_read(struct mounts *out, pid_t pid);
void mounts_deinit(struct mounts *mounts);

// mounts_may_block returns true if path_size bytes of path, absolute and without
// symbolic links, name a file on a file system that may block. Where no mount is known,
// every path may. out_mount is how many bytes of path the mount point takes.
bool mounts_may_block(const struct mounts *mounts, const char *path, size_t path_size,
                      size_t *out_mount);
