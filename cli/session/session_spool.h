// SPDX-License-Identifier: Apache-2.0
//
// The spool of a session, and the report in it that an argument names. Reports that
// wait elsewhere to be moved into the spool, and records of crashes that no agent
// handled, are taken into it before a report is looked up.
#pragma once
#include <jansson.h>

#include "base/status.h"
#include "cli/session/session.h"

// session_spool_open opens the spool that --spool, the variables or the user's home
// determine. CH_END: SPOOL_READ wants one that does not exist yet; a line says so.
CH_CHECKED enum ch_status session_spool_open(struct session *session,
                                             enum spool_access access);

// session_spool_report reads the report that argument names: a file, `-` for stdin, or
// the id of a report in the spool, or the beginning of one; NULL is the newest one. A
// file may also be an artefact (cli/session/artefact.h), which has reports.
CH_CHECKED enum ch_status session_spool_report(struct session *session,
                                               const char *argument, json_t **out);
