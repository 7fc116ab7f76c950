// SPDX-License-Identifier: Apache-2.0
#include "collector/objects/object_store.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hex.h"
#include "collector/database/timestamp.h"
#include "collector/objects/object_side.h"

enum { REST_MS = 2000, PART_BYTES = 64 << 10 };

struct object_store {
    struct object_side *side;
    _Atomic int64_t failed_ms; // when a read failed last
};

static enum ch_status open_side(const char *place, struct store *store, char *why,
                                struct object_side **out)
{
    if (strcmp(place, "store") == 0)
        return object_rows_open(store, out);
    return strncmp(place, "s3:", 3) == 0 ? object_s3_open(place, why, out)
                                         : object_folder_open(place, why, out);
}

enum ch_status object_store_open(const char *place, struct store *store,
                                 char why[OBJECT_WHY_SIZE], struct object_store **out)
{
    struct object_store *objects = calloc(1, sizeof(*objects));
    (void)snprintf(why, OBJECT_WHY_SIZE, "out of memory");
    if (objects == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = open_side(place, store, why, &objects->side);
    if (status != CH_OK) {
        free(objects);
        return status;
    }
    *out = objects;
    return CH_OK;
}

void object_store_close(struct object_store *objects)
{
    if (objects == NULL)
        return;
    objects->side->driver->close(objects->side);
    free(objects);
}

void object_store_give_up(struct object_store *objects)
{
    if (objects != NULL)
        objects->side->given_up = true;
}

int object_store_rest_ms(struct object_store *objects)
{
    int64_t now_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC);
    int64_t until_ms = objects->side->rest_until_ms;
    return until_ms > now_ms ? (int)(until_ms - now_ms) : 0;
}

enum ch_status object_store_put(struct object_store *objects, const char *name,
                                const struct object_source *source,
                                char why[OBJECT_WHY_SIZE])
{
    return objects->side->driver->put(objects->side, name, source, why);
}

// is_resting returns true if a read failed a moment ago.
static bool is_resting(struct object_store *objects, char why[OBJECT_WHY_SIZE])
{
    int64_t failed_ms = objects->failed_ms;
    if (failed_ms == 0 || (int64_t)clock_now_ms(CLOCK_MONOTONIC) - failed_ms >= REST_MS)
        return false;
    (void)snprintf(why, OBJECT_WHY_SIZE, "the object store failed a moment ago");
    return true;
}

static enum ch_status note_read(struct object_store *objects, enum ch_status status)
{
    if (status == CH_ERR_IO)
        objects->failed_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC);
    return status;
}

enum ch_status object_store_get(struct object_store *objects, const char *name,
                                FILE *to, char why[OBJECT_WHY_SIZE])
{
    if (is_resting(objects, why))
        return CH_ERR_IO;
    return note_read(objects, objects->side->driver->get(objects->side, name, to, why));
}

enum ch_status object_store_read(struct object_store *objects, const char *name,
                                 uint64_t offset, size_t size, struct text *out,
                                 char why[OBJECT_WHY_SIZE])
{
    if (size == 0)
        return CH_OK;
    if (is_resting(objects, why))
        return CH_ERR_IO;
    return note_read(objects, objects->side->driver->read(objects->side, name, offset,
                                                          size, out, why));
}

enum ch_status object_store_remove(struct object_store *objects, const char *name,
                                   char why[OBJECT_WHY_SIZE])
{
    return objects->side->driver->remove(objects->side, name, why);
}

enum ch_status object_store_list(struct object_store *objects, const char *folder,
                                 object_seen_fn *visit, void *context,
                                 char why[OBJECT_WHY_SIZE])
{
    return objects->side->driver->list(objects->side, folder, visit, context, why);
}

enum ch_status object_store_sum(FILE *file, size_t size, char out[SHA256_HEX_SIZE])
{
    char part[PART_BYTES];
    struct sha256_ctx sha;
    sha256_init(&sha);
    rewind(file);
    while (size != 0) {
        size_t got = fread(part, 1, size < sizeof(part) ? size : sizeof(part), file);
        if (got == 0)
            return CH_ERR_IO;
        sha256_update(&sha, got, (const uint8_t *)part);
        size -= got;
    }
    rewind(file);
    sha256_finish_hex(&sha, out);
    return CH_OK;
}

void fetch_gate_init(struct fetch_gate *gate, int patience_ms)
{
    pthread_condattr_t attributes;
    *gate = (struct fetch_gate){ .patience_ms = patience_ms };
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&gate->left, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&gate->lock, NULL);
}

void fetch_gate_deinit(struct fetch_gate *gate)
{
    pthread_cond_destroy(&gate->left);
    pthread_mutex_destroy(&gate->lock);
}

bool fetch_gate_enter(struct fetch_gate *gate)
{
    int result = 0;
    pthread_mutex_lock(&gate->lock);
    // The newest of those inside may have entered while this one waited.
    while (gate->inside == FETCH_GATE_WIDTH && result == 0) {
        int64_t until_ms = gate->newest_ms + gate->patience_ms;
        const struct timespec until = { .tv_sec = until_ms / 1000,
                                        .tv_nsec = until_ms % 1000 * 1000000 };
        result = pthread_cond_timedwait(&gate->left, &gate->lock, &until);
    }
    bool entered = gate->inside < FETCH_GATE_WIDTH;
    if (entered) {
        gate->inside++;
        gate->newest_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC);
    }
    pthread_mutex_unlock(&gate->lock);
    return entered;
}

void fetch_gate_leave(struct fetch_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->inside--;
    pthread_cond_signal(&gate->left);
    pthread_mutex_unlock(&gate->lock);
}
