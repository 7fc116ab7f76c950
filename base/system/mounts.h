// SPDX-License-Identifier: Apache-2.0
//
// The mounts of a process, from /proc/PID/mountinfo (proc(5)).
//
// A file system that another process or a remote machine serves can block whoever opens
// or reads a file, without a limit and sometimes past SIGKILL. Those that the kernel
// serves from local disks or memory are listed by name; any other may block. Users: the
// agent, for mappings of a held process, and reachable_open.
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

// Opening files that others chose: images, debug files, sources that a report names.
// Such a path may name a FIFO, a device, or a file on a file system whose server is
// dead, where open(2) blocks without a limit.
//
// A child process opens the first file of each mount that may block. If it has not
// returned after a second, the mount's files are refused for as long as this thread
// lives. Processes that the thread forks later know what it knows.

// reachable_open opens path for reading, without waiting for a FIFO or a device. It
// returns a descriptor that is closed on exec, or -1; errno: ETIMEDOUT where the file
// system does not answer. The caller checks with fstat that it is a regular file.
int reachable_open(const char *path);

// reachable_check returns false if the file system of path does not answer.
bool reachable_check(const char *path);

// reachable_forget frees what the calling thread knows of file systems, which it
// otherwise keeps until the process ends: for threads of a program that is not ours.
void reachable_forget(void);
