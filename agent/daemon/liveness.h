// SPDX-License-Identifier: Apache-2.0
//
// The supervisor's side of a liveness record (handler/prepare/liveness_record.h): the
// memory in which a program keeps what a report of its end needs, and what the
// supervisor sees of it.
//
// The supervisor itself never touches the spool, whose disk may be full or may hang.
// Processes of their own do that: the copier writes the record into the spool once the
// program has run for a moment, and again each second, for the case that the supervisor
// is killed together with the program (a container that is stopped); another one does
// what is left to do when the program has ended. The copier holds flock on its file,
// which so belongs to nobody once the supervisor has exited.
//
// Users: daemon.c, `crashhook run` (cli/run/supervisor.c).
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/settings/settings.h"
#include "shared/context_page.h"

struct liveness {
    int fd;       // the memory; -1: there is none
    int copier;   // pidfd of the process that copies it to the spool; -1: none
    bool counted; // the program's start was
    bool ours;    // the program had all of our rights when it was seen last
};

// liveness_see looks at the rights of process pid, the program's. What its record names
// is read with nobody's rights later, unless they were ours. Of a process that has
// exited, the rights seen last count, or our own if it was never seen.
void liveness_see(struct liveness *live, pid_t pid);

// liveness_is_ours returns true if the record in fd is of a program with our rights, as
// liveness_see has noted by the sticky bit, which the program cannot set once it has
// other rights.
bool liveness_is_ours(int fd);

// liveness_create makes the memory for a program that this process will start, if it
// can, and puts into the environment where it is; liveness_claim, in the program's
// process, says that it is for that.
void liveness_create(struct liveness *live);
void liveness_claim(const struct liveness *live);

// liveness_is_filled returns true if the program has filled the record.
bool liveness_is_filled(const struct liveness *live);

// liveness_read reads the context page; false: the program has not filled it.
bool liveness_read(const struct liveness *live, struct context_page *out);

// liveness_write writes the part of the context's liveness that is the supervisor's,
// and liveness_end that the program has ended in a way that needs no report.
void liveness_write(const struct liveness *live,
                    const struct context_liveness *liveness);
void liveness_end(const struct liveness *live);

// liveness_is_left returns true if no process has the memory mapped any more. If so,
// nobody can write to it from then on.
bool liveness_is_left(const struct liveness *live);

// liveness_look counts the program's start, and with copies starts the copier, in
// processes of their own. The spool is at path.
void liveness_look(struct liveness *live, const struct settings *settings,
                   const char *path, bool copies);

// liveness_stop_copier ends the copier and waits for that, at most so many milliseconds
// (-1: without limit). False: its disk does not answer yet.
bool liveness_stop_copier(struct liveness *live, int most_ms);

// liveness_count counts the end, and the start where it has not been. liveness_store
// leaves the record in the spool as that of a program that has ended or, without keep,
// removes what the copier wrote; true: it is there. Both come after the copier's end,
// and may hang as the disk does.
void liveness_count(struct liveness *live, const struct settings *settings,
                    const char *path);
bool liveness_store(const struct liveness *live, const char *path, bool keep);

// liveness_close_others closes all descriptors from 3 on but those of the record: a
// process that may hang holds nothing of others.
void liveness_close_others(struct liveness *live);
void liveness_deinit(struct liveness *live);
