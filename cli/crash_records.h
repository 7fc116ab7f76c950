// SPDX-License-Identifier: Apache-2.0
//
// Turns what handlers left in the spool, where no agent had written a report, into
// reports with names. Users: list, show, upload, run, and finish.
#pragma once
#include "cli/session.h"

// crash_records_take does so in the session's spool if that is ours. What a record
// holds that is no record is said on stderr, and it is deleted.
void crash_records_take(const struct session *session);
