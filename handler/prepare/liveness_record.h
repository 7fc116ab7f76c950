// SPDX-License-Identifier: Apache-2.0
//
// The liveness record: memory that holds the program's context page and what a report
// of a killed program needs (record_file.h). It is a memfd that the program's
// supervisor has open: `crashhook run`, which makes it, otherwise the agent that the
// handler starts (install.c). When the program has exited, the supervisor makes a
// report of it, unless it says that the program ended as it wanted to.
//
// The program maps no file of any file system, waits for no disk, and keeps no
// descriptor of the record. The memory is allocated before it is mapped, and nobody can
// change its size. Where it cannot be made, the context page stays private, and a
// report of a kill lacks what the program recorded.
//
// Users: install.c, action_calls.c.
#pragma once
#include <stdbool.h>

#include "shared/context_page.h"

#pragma GCC visibility push(hidden)

// liveness_record_begin makes the record and maps the context page from it. given is
// where run has made it for this process, or NULL; alone: make one if there is none.
// *out_supervised: run holds it. It returns the descriptor, which the caller closes;
// negative: there is no record, or it was made before.
int liveness_record_begin(const char *given, bool alone, bool *out_supervised);

// liveness_record_ready_for_forks looks up libc's _exit: each child of a fork that ends
// by it would do so for itself, in pages that a child does not have mapped.
void liveness_record_ready_for_forks(void);

// liveness_record_hear_forks has in_child called in each child that the program forks.
// False: it cannot (fork_shared.c, fork_static.c).
bool liveness_record_hear_forks(void (*in_child)(void));

// liveness_record_end reports that the program ends as it wants to. It does nothing in
// a child.
void liveness_record_end(void);

// liveness_record_note_exec does so where the program executes another one, which may
// have ended before a supervisor looks, and undoes it if that has failed. `crashhook
// run` needs no note: it waits for its child, and reports a kill of what that becomes.
void liveness_record_note_exec(bool failed);

#pragma GCC visibility pop

// Counting starts and clean ends (CRASHHOOK_STARTS, crashhook_session_begin). The
// program notes both in its context page, in memory; its supervisor (liveness_record.h)
// appends a record for each to the file of the day and the release in the spool, from
// which `crashhook upload` takes them. A process without an end was not necessarily
// killed: crashes are counted by their reports, which have the session.

#pragma GCC visibility push(hidden)

// starts_begin counts the start of this process, once; a forked child counts only after
// it has executed a program.
void starts_begin(void);

// starts_end counts its end, once, if its start was counted.
void starts_end(void);

#pragma GCC visibility pop
