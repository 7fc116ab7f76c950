// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/server/background.h"
#include "collector/server/setting_line.h"
#include "collector/store/store_outage.h"
#include "collector/store/store_rest.h"
#include "collector/store/store_segments.h"

enum {
    LOOK_MS = 2000,
    SOON_MS = 100,     // between two looks where nothing is to wait
    DROP_MS = 600000,  // between two looks for segments without bodies
    TROUBLE_MS = 1000, // after a failure, doubled with each further one
    TROUBLE_MAX_MS = 60000,
    SEGMENT_MAX = 256 << 20, // it is in memory while it is written
};

struct body_packer {
    struct body_packer_options options;
    struct object_store *objects;
    int64_t drop_ms;   // when segments are looked at next
    int64_t strays_ms; // and objects
    int trouble_ms;
    struct background background;
};

enum ch_status body_packer_read(const char *text, struct body_packer_options *options)
{
    char size[16];
    int64_t bytes = 0;
    const char *given = text != NULL ? text : "8M/10m";
    size_t length = strcspn(given, "/");
    if (given[length] == 0 || length >= sizeof(size))
        return CH_ERR_MALFORMED;
    (void)snprintf(size, sizeof(size), "%.*s", (int)length, given);
    if (size_read(size, &bytes) != CH_OK || bytes > SEGMENT_MAX)
        return CH_ERR_MALFORMED;
    options->segment_bytes = (size_t)bytes;
    return timestamp_read_span(given + length + 1, &options->patience_ms);
}

// drop_sometimes removes what nobody refers to, now and then.
static enum ch_status drop_sometimes(struct body_packer *packer,
                                     char error[STORE_ERROR_SIZE])
{
    size_t dropped = 0;
    int64_t now_ms = timestamp_now();
    enum ch_status status = CH_OK;
    if (now_ms >= packer->drop_ms) {
        status = store_drop_segments(packer->options.store, now_ms, &dropped, error);
        packer->drop_ms = dropped != 0 ? now_ms : now_ms + DROP_MS;
    }
    if (status == CH_OK && now_ms >= packer->strays_ms) {
        status = store_drop_strays(packer->options.store, now_ms, &dropped, error);
        packer->strays_ms = now_ms + (dropped != 0 ? DROP_MS : TIMESTAMP_DAY_MS);
    }
    return status;
}

// pack_once takes one step, and returns how long to wait for the next one.
static int pack_once(struct body_packer *packer)
{
    struct metrics *metrics = packer->options.metrics;
    struct store *store = packer->options.store;
    char error[STORE_ERROR_SIZE];
    size_t packed = 0;
    int64_t began_ms = timestamp_now();
    const struct store_packing when = { .now_ms = began_ms,
                                        .segment_bytes = packer->options.segment_bytes,
                                        .patience_ms = packer->options.patience_ms };
    enum ch_status status = store_pack(store, &when, &packed, error);
    if (packed != 0)
        metrics_count(&metrics->segments);
    if (status == CH_OK && packed == 0)
        status = drop_sometimes(packer, error);
    if (status == CH_OK) {
        packer->trouble_ms = 0;
        return packed != 0 ? store_rest_ms(store, timestamp_now() - began_ms)
               : when.patience_ms == 0 ? SOON_MS
                                       : LOOK_MS;
    }
    if (!store_gave_up(store)) {
        metrics_count(&metrics->segment_failures);
        packer->options.complain(error);
    }
    int wait_ms = background_retry_ms(&packer->trouble_ms, TROUBLE_MS, TROUBLE_MAX_MS);
    int rest_ms = object_store_rest_ms(packer->objects);
    return wait_ms > rest_ms ? wait_ms : rest_ms;
}

static void *pack_main(void *context)
{
    struct body_packer *packer = context;
    int wait_ms = SOON_MS;
    while (background_pause(&packer->background, wait_ms))
        wait_ms = pack_once(packer);
    return NULL;
}

// open_place opens the place of bodies, where it is not the store.
static enum ch_status open_place(const struct body_packer_options *options,
                                 struct object_store **out,
                                 char error[STORE_ERROR_SIZE])
{
    char why[OBJECT_WHY_SIZE];
    *out = NULL;
    if (options->place == NULL || strcmp(options->place, "store") == 0)
        return store_use_objects(options->store, NULL, error);
    enum ch_status status = object_store_open(options->place, options->store, why, out);
    if (status != CH_OK) {
        (void)snprintf(error, STORE_ERROR_SIZE, "cannot use --body-store: %.200s", why);
        return status;
    }
    return store_use_objects(options->store, *out, error);
}

enum ch_status body_packer_create(const struct body_packer_options *options,
                                  struct body_packer **out,
                                  char error[STORE_ERROR_SIZE])
{
    struct object_store *objects = NULL;
    enum ch_status status = open_place(options, &objects, error);
    *out = NULL;
    if (status != CH_OK || objects == NULL) {
        object_store_close(objects);
        return status;
    }
    (void)snprintf(error, STORE_ERROR_SIZE,
                   "cannot start the thread that packs bodies");
    struct body_packer *packer = calloc(1, sizeof(*packer));
    if (packer == NULL) {
        object_store_close(objects);
        return CH_ERR_NO_MEMORY;
    }
    packer->options = *options;
    packer->objects = objects;
    packer->drop_ms = timestamp_now() + DROP_MS;
    packer->strays_ms = timestamp_now() + DROP_MS;
    background_init(&packer->background);
    if (!options->reading)
        status = background_start(&packer->background, pack_main, packer);
    if (status != CH_OK) {
        body_packer_destroy(packer);
        return status;
    }
    *out = packer;
    return CH_OK;
}

void body_packer_destroy(struct body_packer *packer)
{
    if (packer == NULL)
        return;
    background_deinit(&packer->background);
    object_store_close(packer->objects);
    free(packer);
}
