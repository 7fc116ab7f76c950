// SPDX-License-Identifier: Apache-2.0
#include "collector/server/retention.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collector/server/background.h"
#include "collector/store/moment.h"
#include "collector/store/store_rest.h"

enum { FIRST_MS = 20, LOOK_MS = 1000, ROUND_MS = 60000, TROUBLE_MS = 5000 };

struct retention {
    struct store *store;
    struct store_retention limits;
    retention_complain_fn *complain;
    pthread_t thread;
    struct background background;
};

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
        status = store_drop_weeks(retention->store, moment_now(), &dropped, error);
    *out_more = removed != 0;
    return status;
}

// retention_main looks for moves in every pass, because people wait for them, and for
// old reports once per round, if reports are removed at all.
static void *retention_main(void *context)
{
    struct retention *retention = context;
    bool trims = retention->limits.age_ms != 0 || retention->limits.per_group != 0;
    int wait_ms = FIRST_MS;
    int left_ms = 0; // of this round
    while (background_pause(&retention->background, wait_ms)) {
        char error[STORE_ERROR_SIZE];
        bool more = false;
        int64_t began_ms = moment_now();
        enum ch_status status = store_move(retention->store, &more, error);
        left_ms -= wait_ms;
        if (status == CH_OK && !more && trims && left_ms <= 0) {
            status = trim_retained(retention, &more, error);
            left_ms = more ? 0 : ROUND_MS;
        }
        if (status != CH_OK)
            retention->complain(error);
        int rest_ms = store_rest_ms(retention->store, moment_now() - began_ms);
        wait_ms = status != CH_OK ? TROUBLE_MS : more ? rest_ms : LOOK_MS;
    }
    return NULL;
}

static void free_retention(struct retention *retention)
{
    background_deinit(&retention->background);
    free(retention);
}

enum ch_status retention_create(struct store *store,
                                const struct store_retention *limits,
                                retention_complain_fn *complain, struct retention **out)
{
    *out = NULL;
    struct retention *retention = calloc(1, sizeof(*retention));
    if (retention == NULL)
        return CH_ERR_NO_MEMORY;
    *retention =
        (struct retention){ .store = store, .limits = *limits, .complain = complain };
    background_init(&retention->background);
    if (pthread_create(&retention->thread, NULL, retention_main, retention) != 0) {
        free_retention(retention);
        return CH_ERR_IO;
    }
    *out = retention;
    return CH_OK;
}

void retention_destroy(struct retention *retention)
{
    if (retention == NULL)
        return;
    background_stop(&retention->background);
    pthread_join(retention->thread, NULL);
    free_retention(retention);
}
