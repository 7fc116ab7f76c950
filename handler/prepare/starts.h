// SPDX-License-Identifier: Apache-2.0
//
// Counting starts and clean ends (CRASHHOOK_STARTS, crashhook_session_begin). The
// program notes both in its context page, in memory; its supervisor (liveness_record.h)
// appends a record for each to the file of the day and the release in the spool, from
// which `crashhook upload` takes them. A process without an end was not necessarily
// killed: crashes are counted by their reports, which have the session.
//
// Users: install.c, liveness_record.c. The record: shared/start_record.h.
#pragma once

#pragma GCC visibility push(hidden)

// starts_begin counts the start of this process, once; a forked child counts only after
// it has executed a program.
void starts_begin(void);

// starts_end counts its end, once, if its start was counted.
void starts_end(void);

#pragma GCC visibility pop
