// SPDX-License-Identifier: Apache-2.0
//
// The spool of a session, and the report in it that an argument names. What waits
// elsewhere to be moved into the spool, and records of crashes that no agent saw, are
// taken into it before a report is looked for there.
#pragma once
#include <jansson.h>

#include "base/status.h"
#include "cli/session.h"

// session_spool_open opens the spool that --spool, the variables or the user's home
// name.
CH_CHECKED enum ch_status session_spool_open(struct session *session,
                                             enum spool_access access);

// session_spool_report reads the report that argument names: a file, `-` for stdin, or
// the id of one in the spool or enough of its beginning.
CH_CHECKED enum ch_status session_spool_report(struct session *session,
                                               const char *argument, json_t **out);
