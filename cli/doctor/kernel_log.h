// SPDX-License-Identifier: Apache-2.0
//
// What the kernel said of a process: its log in the form of /dev/kmsg, whose records
// are "PRIORITY,NUMBER,MICROSECONDS,FLAGS;MESSAGE". User: doctor.
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"
#include "cli/render/time_span.h"

// kernel_log_query asks for what tells how a process ended.
struct kernel_log_query {
    const char *path; // a file with such records; NULL: /dev/kmsg
    pid_t pid;
    const struct time_span *span; // when it ended; NULL: at any time
};

// kernel_log_answer is empty before the query, and its text is the caller's.
struct kernel_log_answer {
    struct text message; // the last that tells of it, and when
    bool memory;         // it ended for want of memory
    int64_t begins;      // when the oldest record was written; 0: there is none
};

// kernel_log_find returns whether there is such a message. False: there is none, or the
// log cannot be read; then errno says why, or is 0.
bool kernel_log_find(const struct kernel_log_query *query,
                     struct kernel_log_answer *out);
