// SPDX-License-Identifier: Apache-2.0
//
// The hand-over from the held phase to the free one: `crashhook finish` takes the
// report on, with its lock, in a session of its own.
#pragma once
#include "agent/images/images.h"
#include "base/settings.h"
#include "base/text.h"
#include "report/report_id.h"

enum { FINISH_IMAGES = 8 };

struct finish {
    const char *spool; // the folder
    char id[REPORT_ID_SIZE];
    int lock_fd;                  // holds the report's lock, goes over exec
    int held_fd;                  // a held_file in memory, goes over exec; -1: none
    bool keep_stderr;             // it may print on descriptor 2
    int image_fds[FINISH_IMAGES]; // of image files that were deleted, go over exec
    size_t image_count;
};

// finish_keep puts what was copied of the process where finish_exec can hand it on,
// once. Without memory for that, values are missing from the report and nothing else.
void finish_keep(struct finish *finish, const struct text *held);

// finish_keep_images keeps files of images open that were deleted since they were
// mapped, as far as the kernel gives them: the names in them are gone with the process.
void finish_keep_images(struct finish *finish, const struct target_images *images,
                        pid_t pid);

// finish_is_possible is whether there is a command to become: in a chroot there may be
// the agent alone.
bool finish_is_possible(void);

// finish_exec becomes `crashhook finish`. It returns only when that cannot be run.
void finish_exec(const struct finish *finish);

// finish_run runs `crashhook finish` and waits for it, while the process is still held.
void finish_run(const struct finish *finish);
