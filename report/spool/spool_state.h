// SPDX-License-Identifier: Apache-2.0
//
// Which targets have a report: `ID.state` beside `ID.json` in the spool.
//
// {"targets":[{"url","state","attempts","last_time","next_time","error"}]}
//
// Only the holder of the report's lock writes it, or reads it to act on it. URLs are
// stored without user and password (sanitize_string). A report without a state file was
// not sent anywhere. A state file that cannot be parsed counts as missing: targets know
// a report by its id, so sending one again does no harm. Users: upload, cli, prune.
#pragma once
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
