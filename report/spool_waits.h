// SPDX-License-Identifier: Apache-2.0
//
// How long a target has asked to be left alone, kept in `waits.json` of the spool: the
// next crash sends from another process, and a server that said "not for ten minutes"
// said it to all of them.
//
//   {"targets":{URL:{"reports":[noted,until],"attachments":[noted,until],
//                      "tables":[noted,until]}}}
//
// URLs are kept as in state files, without user and password. Users: upload.
#pragma once
#include "base/status.h"
#include "report/spool.h"
#include "report/spool_wait.h"

// What a target wants to be spared.
struct spool_waits {
    struct spool_wait reports;     // everything
    struct spool_wait attachments; // the report as a file beside its event
    struct spool_wait tables;      // version 2 of the report: it knows version 1 alone
};

// spool_waits_read gives what the target at url asked for; no waits where it has not.
struct spool_waits spool_waits_read(const struct spool *spool, const char *url);

// spool_waits_write keeps what the target at url asks for, and forgets what is over at
// now, of all targets.
CH_CHECKED enum ch_status spool_waits_write(const struct spool *spool, const char *url,
                                            const struct spool_waits *waits,
                                            int64_t now);
