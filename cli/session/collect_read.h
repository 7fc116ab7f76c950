// SPDX-License-Identifier: Apache-2.0
//
// Reads one file that a stranger left, a report or a record, in a child process: as an
// unprivileged user if we are root, without network or other programs, limited in time,
// memory and size. The result was parsed, has names where files provided any, and was
// written by us. User: collect.
#pragma once
#include "base/text.h"
#include "cli/session/session.h"
#include "report/file/report_id.h"

struct collect_file {
    const struct session *session;
    const char *from; // the folder, for the report's problems
    int fd;
    int state_fd; // of the report's state file; -1: none
    bool record;
    bool ours_only;          // take it only if it was meant for the session's spool
    uint32_t owner;          // according to the file system
    char id[REPORT_ID_SIZE]; // id that the report must have, or that a record's report
                             // will get
};

// collect_read appends the report and the text of its state file, if it has one. On
// failure why says in a few words what went wrong; NULL: it was meant for another
// spool.
CH_CHECKED enum ch_status collect_read(const struct collect_file *file,
                                       struct text *out_report, struct text *out_state,
                                       const char **out_why);
