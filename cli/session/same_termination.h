// SPDX-License-Identifier: Apache-2.0
//
// One report for each termination. A process that waits for a child may pass on how
// that ended, by sending itself the signal that ended the child: timeout, unshare and
// sudo do, and many parents in scripts. That is no crash of its own if the child's is
// reported. Users: finish, crash_records.
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "report/spool/spool.h"

// same_termination_is_sent returns true if the process of the report, which has its
// names, sent itself the signal. One that called abort() did not: that is how a program
// gives up.
bool same_termination_is_sent(const json_t *report);

// same_termination_is_reported returns true if that signal, shortly before, ended a
// descendant of the process, or a fault of its own did, and the spool has the report of
// that.
bool same_termination_is_reported(const struct spool *spool, const char *id,
                                  const json_t *report);
