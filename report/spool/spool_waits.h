// SPDX-License-Identifier: Apache-2.0
//
// How long each target asked for a pause, stored in `waits.json` of the spool: the next
// crash is sent by another process, and a server that said "not for ten minutes" said
// it to all of them.
//
// {"targets":{URL:{"reports":[noted,until],"attachments":[noted,until],
//                  "tables":[noted,until]}}}
//
// URLs are stored as in state files, without user and password. Users: upload.
#pragma once
#include "base/status.h"
#include "report/spool/spool.h"
#include "report/spool/spool_wait.h"

// spool_waits is what a target does not want for a time.
struct spool_waits {
    struct spool_wait reports;     // everything
    struct spool_wait attachments; // the report attached to its event
    struct spool_wait tables;      // version 2: the target accepts only version 1
};

// spool_waits_read returns what the target at url asked for; no waits if it did not.
struct spool_waits spool_waits_read(const struct spool *spool, const char *url);

// spool_waits_write stores what the target at url asks for, and removes the waits of
// all targets that are over at now.
CH_CHECKED enum ch_status spool_waits_write(const struct spool *spool, const char *url,
                                            const struct spool_waits *waits,
                                            int64_t now);
