// SPDX-License-Identifier: Apache-2.0
//
// Reads one file that a stranger left, report or record, in a child process: as a user
// of its own where we are root, without a network or other programs, bounded in time,
// memory and size. What comes back was parsed, has names where files gave any, and was
// written by us. User: collect.
#pragma once
#include "base/text.h"
#include "cli/session.h"
#include "report/report_id.h"

struct collect_file {
    const struct session *session;
    const char *from; // the folder, for its problems
    int fd;
    int state_fd; // of its state file; -1: none
    bool record;
    bool ours_only;          // take it only if it was meant for the session's spool
    uint32_t owner;          // by the file system
    char id[REPORT_ID_SIZE]; // the report has to have; of a record: that it will have
};

// collect_read appends the report and the text of its state file, if it has one. What
// went wrong is said in a few words in why; NULL: it was meant for another spool.
CH_CHECKED enum ch_status collect_read(const struct collect_file *file,
                                       struct text *out_report, struct text *out_state,
                                       const char **out_why);
