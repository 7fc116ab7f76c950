// SPDX-License-Identifier: Apache-2.0
//
// What every supervisor of a process does (`crashhook run`, the tracer, the waiting
// agent): it looks at the process once in a while, notes which process asks it to end,
// and at its end says what it saw. All of it is a context_liveness, which those that
// can also write into the process's liveness record in the spool, for the case that
// they are killed with it.
//
// A look reads small files of /proc and the cgroup; the process is not touched.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agent/live/usage.h"
#include "shared/context_page.h"

struct keep {
    struct usage usage;
    struct liveness_events before; // in its cgroup, when it was first looked at
    bool freed; // its first thread did not sleep uninterruptibly at the last look
    struct context_liveness liveness;
};

// keep_begin begins to keep process pid.
void keep_begin(struct keep *keep, pid_t pid, enum liveness_supervisor as);

// keep_pause_ms is how long to wait until the next look, after one that came pause_ms
// after the one before: a program that fills its memory at once is looked at often.
uint64_t keep_pause_ms(uint64_t pause_ms);

// keep_look looks at the process unless it has ended.
void keep_look(struct keep *keep);

// keep_follow follows the process into another cgroup than it was in; a look does too.
void keep_follow(struct keep *keep);

// keep_asked notes a signal that the process is sent. False: it asks for no end.
bool keep_asked(struct keep *keep, int signal, const siginfo_t *info);

// keep_note_sender takes over the sender that the program's liveness record names, if
// that is later than what the supervisor has seen.
void keep_note_sender(struct context_liveness *liveness,
                      const struct context_liveness *told);

// keep_end notes that the process was ended by signal, or is about to. What can still
// be read of it is read.
void keep_end(struct keep *keep, int signal);

// keep_parse_status reads /proc/PID/status of a process that cannot take its signals,
// and notes whether one that requests it to end is pending.
void keep_parse_status(const char *status, struct context_liveness *liveness);
