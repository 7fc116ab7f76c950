// SPDX-License-Identifier: Apache-2.0
//
// Keeping a program that `crashhook run` started: looking at its memory once a second,
// noting who asks it to end, and reporting it if it is killed. What is seen is also
// written into the program's liveness record, for the case that this process is killed
// with it.
//
// A look reads small files of /proc and the cgroup; the program is not touched.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

#include "agent/daemon/liveness.h"
#include "agent/facts/death.h"
#include "agent/live/facts.h"
#include "agent/live/keep.h"
#include "cli/session/session.h"

struct keeper {
    const struct session *session;
    const char *const *arguments;
    struct keep keep;
    struct death death;
    struct process_facts process;
    uint64_t pause_ms; // until the next look
    uint64_t next_ms;  // when that is, of CLOCK_MONOTONIC
    bool unreported;   // the program has ended by a crash signal, without a report
    bool cut_off;      // it ended before its crash was reported, and left a record
    struct liveness live;
};

// keeper_begin begins to keep process pid, which becomes the program of these
// arguments; they must outlive the keeper. keeper->live is the liveness record that was
// made for it.
void keeper_begin(struct keeper *keeper, const struct session *session, pid_t pid,
                  const char *const *arguments);

// keeper_left is how long the caller may wait until keeper_look, which returns at once
// when it is too early.
struct timespec keeper_left(const struct keeper *keeper);
void keeper_look(struct keeper *keeper);

// keeper_note notes a signal that the program is sent.
void keeper_note(struct keeper *keeper, int number, const siginfo_t *info);

// keeper_look_last reads what is left of a process that has ended, by signal unless
// that is 0, and is not reaped.
void keeper_look_last(struct keeper *keeper, int signal);

// keeper_find_cut_off returns true if the program, which has ended, had crashed and
// ended before the crash was reported. It waits up to a second for the record of the
// crash; without one it sets keeper->death.crash_signal.
bool keeper_find_cut_off(struct keeper *keeper);

// keeper_end reports the end of the program if it was killed, or is unreported. It may
// hang as the spool's disk does. status is as waitpid returns it; said is the end of
// its standard error, where that was kept, and empty otherwise.
void keeper_end(struct keeper *keeper, int status, const struct rusage *used,
                const struct text *said);

// keeper_deinit frees what the keeper holds, of one that has not begun as well.
void keeper_deinit(struct keeper *keeper);
