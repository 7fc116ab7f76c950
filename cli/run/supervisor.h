// SPDX-License-Identifier: Apache-2.0
//
// Keeping a program that `crashhook run` started: looking at its memory once a second,
// noting which process asks it to end, and reporting it if it is killed. What is seen
// is also written into the program's liveness record, for the case that this process is
// killed with it.
//
// A look reads small files of /proc and the cgroup; the program is not touched.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

#include "agent/daemon/liveness.h"
#include "agent/facts/termination.h"
#include "agent/live/facts.h"
#include "agent/live/keep.h"
#include "cli/session/session.h"

struct supervisor {
    const struct session *session;
    const char *const *arguments;
    struct keep keep;
    struct termination termination;
    struct process_facts process;
    uint64_t pause_ms; // until the next look
    uint64_t next_ms;  // when that is, of CLOCK_MONOTONIC
    bool unreported;   // the program has ended by a crash signal, without a report
    bool cut_off;      // it ended before its crash was reported, and left a record
    struct liveness live;
};

// supervisor_begin begins to keep process pid, which becomes the program of these
// arguments; they must outlive the supervisor. supervisor->live is the liveness record
// that was made for it.
void supervisor_begin(struct supervisor *supervisor, const struct session *session,
                      pid_t pid, const char *const *arguments);

// supervisor_left is how long the caller may wait until supervisor_look, which returns
// at once when it is too early.
struct timespec supervisor_left(const struct supervisor *supervisor);
void supervisor_look(struct supervisor *supervisor);

// supervisor_note notes a signal that the program is sent.
void supervisor_note(struct supervisor *supervisor, int number, const siginfo_t *info);

// supervisor_look_last reads what is left of a process that has ended, by signal unless
// that is 0, and is not reaped.
void supervisor_look_last(struct supervisor *supervisor, int signal);

// supervisor_find_cut_off returns true if the program, which has ended, had crashed and
// ended before the crash was reported. It waits up to a second for the record of the
// crash; without one it sets supervisor->termination.crash_signal.
bool supervisor_find_cut_off(struct supervisor *supervisor);

// supervisor_end reports the end of the program if it was killed, or is unreported. It
// may hang as the spool's disk does. status is as waitpid returns it; said is the end
// of its standard error, where that was kept, and empty otherwise.
void supervisor_end(struct supervisor *supervisor, int status,
                    const struct rusage *used, const struct text *said);

// supervisor_deinit frees what the supervisor holds, of one that has not begun as well.
void supervisor_deinit(struct supervisor *supervisor);
