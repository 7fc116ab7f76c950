// SPDX-License-Identifier: Apache-2.0
//
// Opening files that others chose: images, debug files, sources that a report names.
// Such a path may name a FIFO, a device, or a file on a file system whose server is
// dead, where open(2) blocks without a limit (base/system/mounts.h).
//
// A child process opens the first file of each mount that may block. If it has not
// returned after a second, the mount's files are refused for as long as this thread
// lives. Processes that the thread forks later know what it knows.
#pragma once
#include <stdbool.h>

// reachable_open opens path for reading, without waiting for a FIFO or a device. It
// returns a descriptor that is closed on exec, or -1; errno: ETIMEDOUT where the file
// system does not answer. The caller checks with fstat that it is a regular file.
int reachable_open(const char *path);

// reachable_check returns false if the file system of path does not answer.
bool reachable_check(const char *path);

// reachable_forget frees what the calling thread knows of file systems, which it
// otherwise keeps until the process ends: for threads of a program that is not ours.
void reachable_forget(void);
