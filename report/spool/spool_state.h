// SPDX-License-Identifier: Apache-2.0
//
// What a spool stores in addition to its reports (spool.h): which targets have a
// report, how long a target requested a pause, how many crashes were only counted, and
// what is deleted to stay within the limits.
//
// Which targets have a report is in `ID.state`, next to `ID.json`:
//
// {"targets":[{"url","state","attempts","last_time","next_time","error"}]}
//
// Only the holder of the report's lock writes it, or reads it to act on it. URLs are
// stored without user and password (sanitize_string). A report without a state file was
// not sent anywhere. A state file that cannot be parsed counts as missing: targets know
// a report by its id, so sending one again does no harm. Users: upload, cli, prune.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "report/spool/spool.h"
#include "report/spool/spool_wait.h"

enum spool_target_state {
    TARGET_PENDING,
    TARGET_SENT,
    TARGET_FAILED,  // permanently: the target refused it
    TARGET_SKIPPED, // counted under CRASHHOOK_RATE, not sent
};

struct spool_target {
    char *url;
    enum spool_target_state state;
    uint32_t attempts;
    struct spool_wait wait; // after the last attempt
    char *error;            // why the last attempt failed; NULL: none
};

struct spool_state {
    struct spool_target *targets;
    size_t count;
    size_t capacity;
};

// spool_state_name is the name of the state in files and output.
const char *spool_state_name(enum spool_target_state state);

// spool_state_read reads the state of report id, which is empty if there is no file.
// CH_ERR_MALFORMED: the file is not valid; out is empty then.
CH_CHECKED enum ch_status spool_state_read(const struct spool *spool, const char *id,
                                           struct spool_state *out);
void spool_state_deinit(struct spool_state *state);

// spool_state_read_fd reads a state file that is open, and spool_state_print appends
// the content of such a file: for a state that moves to another spool.
CH_CHECKED enum ch_status spool_state_read_fd(int fd, struct spool_state *out);
CH_CHECKED enum ch_status spool_state_print(const struct spool_state *state,
                                            struct text *out);

// spool_state_write replaces the state file.
CH_CHECKED enum ch_status spool_state_write(const struct spool *spool, const char *id,
                                            const struct spool_state *state);

// spool_state_target finds the target with this URL or adds it as pending. NULL: out of
// memory, or the report has too many targets.
struct spool_target *spool_state_target(struct spool_state *state, const char *url);

// spool_target_fail records why an attempt failed; error may be NULL.
void spool_target_fail(struct spool_target *target, enum spool_target_state state,
                       const char *error);

// spool_state_settled is true if there are targets, and each has the report or skipped
// it.
bool spool_state_settled(const struct spool_state *state);

// A book is a small JSON object next to the reports, `NAME.json`, that all processes
// sharing the spool update: an open book holds its lock (flock on `NAME.lock`), so what
// was read is still current when it is written. A damaged book counts as empty.

struct spool_book {
    const struct spool *spool;
    const char *name;
    int lock_fd;
    json_t *content; // an object
};

// spool_book_open waits for the lock and reads the book. The book must be closed
// whatever it returns.
CH_CHECKED enum ch_status spool_book_open(const struct spool *spool, const char *name,
                                          struct spool_book *out);
void spool_book_close(struct spool_book *book);

// spool_book_write stores the current content.
CH_CHECKED enum ch_status spool_book_write(const struct spool_book *book);

// How long each target requested a pause, stored in `waits.json` of the spool: the next
// crash is sent by another process, and a server that said "not for ten minutes" said
// it to all of them.
//
// {"targets":{URL:{"reports":[noted,until],"attachments":[noted,until],
//                  "tables":[noted,until]}}}
//
// URLs are stored as in state files, without user and password.

// spool_waits is what a target does not want for a time.
struct spool_waits {
    struct spool_wait reports;     // everything
    struct spool_wait attachments; // the report attached to its event
    struct spool_wait tables;      // version 2: the target accepts only version 1
};

// spool_waits_read returns what the target at url requested; no waits if it did not.
struct spool_waits spool_waits_read(const struct spool *spool, const char *url);

// spool_waits_write stores what the target at url asks for, and removes the waits of
// all targets that are over at now.
CH_CHECKED enum ch_status spool_waits_write(const struct spool *spool, const char *url,
                                            const struct spool_waits *waits,
                                            int64_t now);

// What a spool only counts: crashes of a program that exceed its rate (CRASHHOOK_RATE),
// and reports that were deleted unsent to keep the spool within its limits. The counts
// are stored in `counts.json` of the spool (a spool_book) and sent with the next report
// of the program, as its member `spool`:
// {"held_back":N,"held_back_by_fingerprint":{FINGERPRINT:N},"dropped":N}.
//
// A program that keeps crashing by one defect must not hide another: the first crash
// with a fingerprint that is new in the window is within the rate, up to as many of
// these as the rate allows crashes.

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

// spool_counts_admit counts a crash and returns whether it is within the rate; one that
// is not is added to the crashes held back.
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
// them; it returns whether there were any. The spool loses the counts even if the
// report is not sent: from now on the report carries them.
CH_CHECKED enum ch_status spool_counts_take(const struct spool *spool,
                                            const char *executable, json_t *report,
                                            bool *out_changed);

// Keeps a spool within CRASHHOOK_SPOOL_MAX: the oldest reports that every target has
// are deleted first, then the oldest others, each of which is passed to the caller and
// counted (spool_counts_add_dropped). By age alone only reports that every target
// has are deleted, so a clock that is wrong loses no report. A report that a process
// works on is kept, and so is the one that the caller names. Only one process prunes at
// a time: two processes that count the same reports would each delete their share.

struct spool_caps {
    uint64_t reports;
    uint64_t bytes;
    uint64_t sent_age_s; // 0: no limit
};

// spool_dropped_fn is called for a report that is deleted although it was not sent.
typedef void spool_dropped_fn(void *context, const char *id);

// spool_prune deletes what exceeds the limits; keep_id may be NULL. out_over: the
// limits stay exceeded because reports are being worked on.
CH_CHECKED enum ch_status spool_prune(const struct spool *spool, struct spool_caps caps,
                                      const char *keep_id, spool_dropped_fn *dropped,
                                      void *context, bool *out_over);
