// SPDX-License-Identifier: Apache-2.0
//
// What a spool only counts: crashes of a program that exceed its rate (CRASHHOOK_RATE),
// and reports that were deleted unsent to keep the spool within its limits. The counts
// are stored in `counts.json` of the spool (a spool_book) and sent with the next report
// of the program, as its member `spool`:
// {"held_back":N,"held_back_by_fingerprint":{FINGERPRINT:N},"dropped":N}.
//
// A program that keeps crashing by one defect must not hide another: the first crash
// with a fingerprint that is new in the window is within the rate, up to as many of
// these as the rate allows crashes. Users: upload, cli finish.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "report/spool/spool.h"

struct spool_rate {
    uint64_t count; // crashes of one program
    uint64_t ms;    // in this time
};

struct spool_crash {
    const char *id; // of its report
    const char *executable;
    const char *fingerprint; // "" if it has none
    uint64_t unix_ms;
};

// spool_counts_admit counts a crash and says whether it is within the rate; one that is
// not is added to the crashes held back.
CH_CHECKED enum ch_status spool_counts_admit(const struct spool *spool,
                                             const struct spool_crash *crash,
                                             struct spool_rate rate,
                                             bool *out_admitted);

// spool_release is a report that was held back and may go now.
struct spool_release {
    char id[REPORT_ID_SIZE]; // "" if there is none
    int64_t next_ms;         // since 1970: when there may be one; 0: none waits
};

// spool_counts_release returns the last report of a program whose reports were held
// back, once none was held back for the time of the rate: it carries the counts if no
// other crash follows. It no longer counts as held back, and is returned once.
CH_CHECKED enum ch_status spool_counts_release(const struct spool *spool,
                                               uint64_t now_ms, struct spool_rate rate,
                                               struct spool_release *out);

// spool_counts_add_dropped counts reports deleted unsent.
CH_CHECKED enum ch_status spool_counts_add_dropped(const struct spool *spool,
                                                   uint64_t count);

// spool_counts_take moves the counts that concern executable into the report and clears
// them; it says whether there were any. The spool loses the counts even if the report
// is not sent: from now on the report carries them.
CH_CHECKED enum ch_status spool_counts_take(const struct spool *spool,
                                            const char *executable, json_t *report,
                                            bool *out_changed);
