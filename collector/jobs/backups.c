// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/server/background.h"
#include "collector/store/store_backup.h"

enum { LOOK_MS = 500 };

struct backups {
    struct backups_options options;
    struct background background;
    pthread_mutex_t lock; // guards what follows
    struct backups_status status;
};

static bool is_running(struct backups *backups)
{
    struct backups_status status;
    backups_status_of(backups, &status);
    return status.state == BACKUPS_RUNNING;
}

static void show_progress(struct backups *backups,
                          const struct store_backup_progress *progress)
{
    pthread_mutex_lock(&backups->lock);
    backups->status.bytes = progress->bytes;
    backups->status.copied = progress->bytes - progress->left;
    pthread_mutex_unlock(&backups->lock);
}

static void end_status(struct backups *backups, enum ch_status status,
                       const char *error)
{
    struct backups_status *shown = &backups->status;
    pthread_mutex_lock(&backups->lock);
    shown->ended_ms = timestamp_now();
    shown->state = status == CH_OK ? BACKUPS_DONE : BACKUPS_FAILED;
    if (status != CH_OK)
        memcpy(shown->error, error, sizeof(shown->error));
    pthread_mutex_unlock(&backups->lock);
}

// copy_store makes one backup; false: the thread is to end.
static bool copy_store(struct backups *backups)
{
    char error[STORE_ERROR_SIZE] = "";
    struct store_backup *backup = NULL;
    struct store_backup_progress progress = { 0 };
    enum ch_status status = store_backup_begin(backups->options.store,
                                               backups->options.file, error, &backup);
    while (status == CH_OK &&
           background_pause(&backups->background, progress.rest_ms)) {
        status = store_backup_step(backup, &progress, error);
        show_progress(backups, &progress);
    }
    store_backup_end(backup);
    if (status == CH_OK)
        return false;
    struct metrics *metrics = backups->options.metrics;
    metrics_count(status == CH_END ? &metrics->backups : &metrics->backup_failures);
    if (status != CH_END)
        backups->options.complain(error);
    end_status(backups, status == CH_END ? CH_OK : status, error);
    return true;
}

static void *backups_main(void *context)
{
    struct backups *backups = context;
    while (background_pause(&backups->background, LOOK_MS)) {
        if (is_running(backups) && !copy_store(backups))
            return NULL;
    }
    return NULL;
}

enum ch_status backups_create(const struct backups_options *options,
                              struct backups **out)
{
    *out = NULL;
    struct backups *backups = calloc(1, sizeof(*backups));
    if (backups == NULL)
        return CH_ERR_NO_MEMORY;
    *backups = (struct backups){ .options = *options };
    background_init(&backups->background);
    pthread_mutex_init(&backups->lock, NULL);
    enum ch_status status =
        background_start(&backups->background, backups_main, backups);
    if (status != CH_OK) {
        backups_destroy(backups);
        return status;
    }
    *out = backups;
    return CH_OK;
}

void backups_destroy(struct backups *backups)
{
    if (backups == NULL)
        return;
    background_deinit(&backups->background);
    pthread_mutex_destroy(&backups->lock);
    free(backups);
}

const char *backups_file(const struct backups *backups)
{
    return backups->options.file;
}

bool backups_begin(struct backups *backups)
{
    pthread_mutex_lock(&backups->lock);
    struct backups_status *status = &backups->status;
    bool free = status->state != BACKUPS_RUNNING;
    if (free)
        *status = (struct backups_status){ .state = BACKUPS_RUNNING,
                                           .began_ms = timestamp_now() };
    pthread_mutex_unlock(&backups->lock);
    return free;
}

void backups_status_of(struct backups *backups, struct backups_status *out)
{
    pthread_mutex_lock(&backups->lock);
    *out = backups->status;
    pthread_mutex_unlock(&backups->lock);
}
