// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs/jobs.h"

#include <stdbool.h>
#include <stdlib.h>

#include "collector/database/timestamp.h"
#include "collector/query/store_people.h"
#include "collector/server/background.h"
#include "collector/store/store_outage.h"
#include "collector/store/store_rest.h"
#include "collector/store/store_starts.h"
#include "collector/store/store_symbolization.h"

enum { FIRST_MS = 20, LOOK_MS = 1000, ROUND_MS = 60000, TROUBLE_MS = 5000 };

struct retention {
    struct store *store;
    struct access *access;
    struct store_retention limits;
    struct store_project_retention projects[ACCESS_PROJECTS];
    int64_t word;     // that the sweep of words has come to
    int64_t sweep_ms; // when the next one is due, the first soon after the start
    jobs_complain_fn *complain;
    struct background background;
};

// has_limits learns what projects keep at this time, and returns whether anything is
// removed at all.
static bool has_limits(struct retention *retention)
{
    struct store_retention *limits = &retention->limits;
    limits->projects = retention->projects;
    limits->project_count =
        access_list_retention(retention->access, retention->projects);
    return limits->age_ms != 0 || limits->per_group != 0 || limits->size_bytes != 0 ||
           limits->project_count != 0;
}

// trim_retained takes one step of retention, and drops empty weeks when nothing is left
// to remove.
static enum ch_status trim_retained(struct retention *retention, bool *out_more,
                                    char error[STORE_ERROR_SIZE])
{
    size_t removed = 0;
    size_t dropped = 0;
    enum ch_status status =
        store_trim(retention->store, &retention->limits, &removed, error);
    if (status == CH_OK && removed == 0)
        status = store_drop_weeks(retention->store, timestamp_now(), &dropped, error);
    *out_more = removed != 0;
    return status;
}

// forget_and_trim takes one step of removing what is too old to be counted or kept.
static enum ch_status forget_and_trim(struct retention *retention, bool *out_more,
                                      char error[STORE_ERROR_SIZE])
{
    bool forgot = false;
    bool trimmed = false;
    enum ch_status status = store_forget_starts(retention->store, &forgot, error);
    if (status == CH_OK)
        status = store_thin_members(retention->store, error);
    if (status == CH_OK && has_limits(retention))
        status = trim_retained(retention, &trimmed, error);
    *out_more = forgot || trimmed;
    return status;
}

// sweep_once_a_day takes one step of removing words of removed reports from searches,
// and at the end what their bodies had in common.
static enum ch_status sweep_once_a_day(struct retention *retention, bool *out_more,
                                       char error[STORE_ERROR_SIZE])
{
    int64_t now_ms = timestamp_now();
    if (now_ms < retention->sweep_ms)
        return CH_OK;
    enum ch_status status =
        store_sweep_words(retention->store, &retention->word, out_more, error);
    if (status == CH_OK && !*out_more) {
        retention->sweep_ms = now_ms + TIMESTAMP_DAY_MS;
        status = store_drop_prefixes(retention->store, error);
    }
    return status;
}

// retention_main looks for moves in every pass, because people wait for them, for
// reports that another collector keyed as it was done before, and for old starts and
// reports once per round.
static void *retention_main(void *context)
{
    struct retention *retention = context;
    int wait_ms = FIRST_MS;
    int left_ms = 0; // of this round
    while (background_pause(&retention->background, wait_ms)) {
        char error[STORE_ERROR_SIZE];
        bool more = false;
        int64_t began_ms = timestamp_now();
        enum ch_status status = store_move(retention->store, &more, error);
        if (status == CH_OK && !more)
            status = store_key_again(retention->store, &more, error);
        left_ms = left_ms > wait_ms ? left_ms - wait_ms : 0;
        if (status == CH_OK && !more && left_ms == 0) {
            status = forget_and_trim(retention, &more, error);
            left_ms = more ? 0 : ROUND_MS;
        }
        if (status == CH_OK && !more)
            status = sweep_once_a_day(retention, &more, error);
        if (status != CH_OK && !store_gave_up(retention->store))
            retention->complain(error);
        int rest_ms = store_rest_ms(retention->store, timestamp_now() - began_ms);
        wait_ms = status != CH_OK ? TROUBLE_MS : more ? rest_ms : LOOK_MS;
    }
    return NULL;
}

enum ch_status retention_create(struct store *store,
                                const struct store_retention *limits,
                                struct access *access, jobs_complain_fn *complain,
                                struct retention **out)
{
    *out = NULL;
    struct retention *retention = calloc(1, sizeof(*retention));
    if (retention == NULL)
        return CH_ERR_NO_MEMORY;
    *retention =
        (struct retention){ .store = store, .access = access, .complain = complain };
    retention->limits = *limits;
    retention->sweep_ms = timestamp_now() + ROUND_MS;
    background_init(&retention->background);
    enum ch_status status =
        background_start(&retention->background, retention_main, retention);
    if (status != CH_OK) {
        retention_destroy(retention);
        return status;
    }
    *out = retention;
    return CH_OK;
}

void retention_destroy(struct retention *retention)
{
    if (retention == NULL)
        return;
    background_deinit(&retention->background);
    free(retention);
}
