// SPDX-License-Identifier: Apache-2.0
//
// Turns the records that handlers left in the spool, where no agent had written a
// report, into reports with names. Users: list, show, upload, run, and finish.
#pragma once
#include "cli/session.h"

// crash_records_take does so in the session's spool if that is ours. A record that is
// malformed is reported on stderr and deleted.
void crash_records_take(const struct session *session);

// crash_record_make makes the report with that id from the record in the file fd. It
// fails as record_capture_open does.
CH_CHECKED enum ch_status crash_record_make(const struct session *session, int fd,
                                            const char *id, struct text *out);
