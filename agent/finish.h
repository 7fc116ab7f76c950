// SPDX-License-Identifier: Apache-2.0
//
// The hand-over from the held phase to the free one: `crashhook finish` takes the
// report on, with its lock, in a session of its own.
#pragma once
#include "base/settings.h"
#include "base/text.h"
#include "report/report_id.h"

struct finish {
    const char *spool; // the folder
    char id[REPORT_ID_SIZE];
    int lock_fd;      // holds the report's lock, goes over exec
    int held_fd;      // a held_file in memory, goes over exec; -1: none
    bool keep_stderr; // it may print on descriptor 2
};

// finish_keep puts what was copied of the process where finish_exec can hand it on,
// once. Without memory for that, values are missing from the report and nothing else.
void finish_keep(struct finish *finish, const struct text *held);

// finish_is_possible is whether there is a command to become: in a chroot there may be
// the agent alone.
bool finish_is_possible(void);

// finish_exec becomes `crashhook finish`. It returns only when that cannot be run.
void finish_exec(const struct finish *finish);

// finish_run runs `crashhook finish` and waits for it, while the process is still held.
void finish_run(const struct finish *finish);
