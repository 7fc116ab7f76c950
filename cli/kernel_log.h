// SPDX-License-Identifier: Apache-2.0
//
// What the kernel said of a process: its log in the form of /dev/kmsg, whose records
// are "PRIORITY,NUMBER,MICROSECONDS,FLAGS;MESSAGE". User: doctor.
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"

// kernel_log_find appends the last message that tells how process pid ended, and when,
// and says whether that was for want of memory. path is a file with such records; NULL:
// /dev/kmsg. False: there is none, or the log cannot be read; then errno says why, or
// is 0.
bool kernel_log_find(const char *path, pid_t pid, struct text *out, bool *out_memory);

// kernel_log_tells says whether message tells how process pid ended.
bool kernel_log_tells(const char *message, pid_t pid, bool *out_memory);
