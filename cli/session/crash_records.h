// SPDX-License-Identifier: Apache-2.0
//
// Turns the records that handlers left in the spool, where no agent had written a
// report, into reports with names, and the lives of programs that were killed into
// reports of that. Users: list, show, upload, run, and finish.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "agent/daemon/liveness.h"
#include "agent/facts/termination.h"
#include "agent/live/facts.h"
#include "cli/session/session.h"
#include "report/spool/spool.h"

// crash_records_take does so in the session's spool if that is ours. A record that is
// malformed is reported on stderr and deleted.
void crash_records_take(const struct session *session);

// crash_records_take_for_program does so after a program has ended, whose caller reads
// the same stderr: records of another version, which stay, are not told of.
void crash_records_take_for_program(const struct session *session);

// crash_records_killed makes the report of a process that its supervisor saw being
// killed, from its liveness record or, where the program has filled none, from what the
// supervisor knows. It takes the contents of process.
void crash_records_killed(const struct session *session,
                          const struct termination *termination,
                          struct process_facts *process, const struct liveness *live);

// crash_records_take_words makes the report of the last words that the process has left
// (exit_words.h), with its liveness record. False: it has left none.
bool crash_records_take_words(const struct session *session, pid_t pid,
                              uint64_t start_ticks, const struct liveness *live);

// crash_record_make makes the report with that id from the record in the file fd. It
// fails as record_capture_open does. CH_ERR_NOT_FOUND: with ours_only, the process had
// another CRASHHOOK_SPOOL than this one.
CH_CHECKED enum ch_status crash_record_make(const struct session *session, int fd,
                                            const char *id, bool ours_only,
                                            struct text *out);

// One report for each termination. A process that waits for a child may pass on how
// that ended, by sending itself the signal that ended the child: timeout, unshare and
// sudo do, and many parents in scripts. That is no crash of its own if the child's is
// reported.

// same_termination_is_sent returns true if the process of the report, which has its
// names, sent itself the signal. One that called abort() did not: that is how a program
// gives up.
bool same_termination_is_sent(const json_t *report);

// same_termination_is_reported returns true if that signal, shortly before, ended a
// descendant of the process, or a fault of its own did, and the spool has the report of
// that.
bool same_termination_is_reported(const struct spool *spool, const char *id,
                                  const json_t *report);
