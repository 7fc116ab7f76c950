// SPDX-License-Identifier: Apache-2.0
//
// The hand-over from the held phase to the free one: `crashhook finish` takes over the
// report, with its lock, in a session of its own.
#pragma once
#include "base/settings/settings.h"
#include "base/text.h"
#include "images/images.h"
#include "report/file/report_id.h"

enum { FINISH_IMAGES = 8 };

struct finish {
    const char *spool; // the folder
    char id[REPORT_ID_SIZE];
    int lock_fd;                  // holds the report's lock, survives exec
    int held_fd;                  // a held_file in memory, survives exec; -1: none
    bool asks;                    // the user of a terminal chooses what is shown
    int image_fds[FINISH_IMAGES]; // deleted image files, survive exec
    size_t image_count;
};

// finish_may_ask returns true if descriptor 2 is a terminal, and process pid is in its
// foreground: nobody else reads from it.
bool finish_may_ask(pid_t pid);

// finish_keep puts what was copied from the process where finish_exec can hand it on;
// only the first call does. When memory is short, the report lacks values and nothing
// else.
void finish_keep(struct finish *finish, const struct text *held);

// finish_keep_images keeps the files open that image_frames_find has opened:
// their symbols would be lost when the process exits.
void finish_keep_images(struct finish *finish, const struct target_images *images);

// finish_is_possible returns true if there is a command to exec: a chroot may have only
// the agent.
bool finish_is_possible(void);

// finish_exec execs `crashhook finish`. It returns only when that fails.
void finish_exec(const struct finish *finish);

// finish_sweep becomes `crashhook command`, without output. It returns only if it
// cannot.
void finish_sweep(const char *command);

// finish_run runs `crashhook finish` and waits for it, while the process is still held.
void finish_run(const struct finish *finish);

// The signals that the agent has inherited: it is started with all blocked, and with
// those ignored that the program ignored.

// default_signals_unblock unblocks all signals; exec has removed the handlers.
void default_signals_unblock(void);

// default_signals_restore gives all signals their default actions and unblocks them.
void default_signals_restore(void);
