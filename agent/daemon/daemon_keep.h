// SPDX-License-Identifier: Apache-2.0
//
// The waiting agent as the supervisor of the program that started it (CRASHHOOK_KILLS):
// it holds the program's liveness record, looks at the program once in a while, writes
// what it sees into the record, and learns from the kernel how the program ended. With
// CRASHHOOK_KILLS=seize, it also traces the program's first thread, and reports a kill
// with its stack. It counts starts as well (CRASHHOOK_STARTS).
//
// Where `crashhook run` keeps the program, that one looks, and this one traces at most.
#pragma once
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/daemon/liveness.h"
#include "agent/trace/trace_seize.h"
#include "base/settings/settings.h"

struct daemon_keep {
    pid_t pid; // of the program; 0: nothing is kept, or no longer
    int pidfd; // of the program; -1: it had ended before it could be watched
    struct liveness live;
    const struct settings *settings;
    char path[PATH_MAX]; // of its spool
    bool looked_again;   // for the record, after the end
    bool seizes;         // it is to be traced
    bool seized;         // and is
    struct keep keep;
    uint64_t pause_ms; // until the next look
    uint64_t next_ms;  // when that is, of CLOCK_MONOTONIC
};

// daemon_keep_begin begins to keep the process that made the socket.
void daemon_keep_begin(struct daemon_keep *keep, int socket,
                       const struct settings *settings);

// daemon_keep_take takes the liveness record that the program has sent, and begins to
// keep it. False: fd is something else.
bool daemon_keep_take(struct daemon_keep *keep, int socket,
                      const struct settings *settings, int fd);

// daemon_keep_wait waits, as poll does with one descriptor, until there is something to
// do: on that, for the supervisor, or both.
void daemon_keep_wait(const struct daemon_keep *keep, struct pollfd *other);

// A daemon_kept is what is to be done after daemon_keep_look.
enum daemon_kept {
    DAEMON_KEEPS,
    DAEMON_ENDED,   // the program has ended
    DAEMON_REPORTS, // this is a new process, which makes the report
};

// daemon_keep_look does what is due. alone: no process can send a crash any more.
enum daemon_kept daemon_keep_look(struct daemon_keep *keep, bool alone,
                                  struct trace_report *out);

// daemon_keep_detach detaches from the program, which has crashed or requested a report
// of itself; it is traced again later, if it lives.
void daemon_keep_detach(struct daemon_keep *keep);

// daemon_keep_deinit gives up what is kept.
void daemon_keep_deinit(struct daemon_keep *keep);
