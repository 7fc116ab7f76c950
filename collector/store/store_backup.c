// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_backup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/database/sqlite_copy.h"
#include "collector/database/timestamp.h"
#include "collector/store/store_internal.h"

enum {
    PATH_SIZE = 4096,
    REST_TIMES = 3, // as long as a step took: the machine is for uploads, too
};

struct store_backup {
    struct store *store;
    struct sqlite_copy *copy;
    const char *path;
    char part[PATH_SIZE]; // where it is until it is whole
    bool placed;          // at path
};

bool store_backup_can(const struct store *store)
{
    return store->writer->dialect == SQL_SQLITE && !store->reading;
}

// fail_backup writes why for people.
static enum ch_status fail_backup(const struct store_backup *backup, const char *why,
                                  char error[STORE_ERROR_SIZE])
{
    (void)snprintf(error, STORE_ERROR_SIZE,
                   "cannot back up the store to '%.90s': %.120s", backup->path, why);
    return CH_ERR_IO;
}

enum ch_status store_backup_begin(struct store *store, const char *path,
                                  char error[STORE_ERROR_SIZE],
                                  struct store_backup **out)
{
    char why[SQL_ERROR_SIZE] = "out of memory";
    *out = NULL;
    struct store_backup *backup = calloc(1, sizeof(*backup));
    if (backup == NULL) {
        (void)snprintf(error, STORE_ERROR_SIZE, "cannot back up the store: %s", why);
        return CH_ERR_NO_MEMORY;
    }
    *backup = (struct store_backup){ .store = store, .path = path };
    enum ch_status status = CH_ERR_IO;
    if (snprintf(backup->part, PATH_SIZE, "%s.part", path) >= PATH_SIZE)
        (void)snprintf(why, sizeof(why), "its path is too long");
    else {
        pthread_mutex_lock(&store->writing);
        status = sqlite_copy_begin(store->writer, backup->part, why, &backup->copy);
        pthread_mutex_unlock(&store->writing);
    }
    if (status != CH_OK) {
        status = fail_backup(backup, why, error);
        store_backup_end(backup);
        return status;
    }
    *out = backup;
    return CH_OK;
}

// copy_some copies a step, and begins a new pass after the last one of a pass.
static enum ch_status copy_some(struct store_backup *backup,
                                struct store_backup_progress *out,
                                char why[SQL_ERROR_SIZE])
{
    struct sqlite_copy_sizes sizes;
    int64_t began_ms = timestamp_now();
    enum ch_status status = sqlite_copy_step(backup->copy, &sizes, why);
    out->rest_ms = REST_TIMES * (int)(timestamp_now() - began_ms);
    if (status == CH_END) {
        pthread_mutex_lock(&backup->store->writing);
        status = sqlite_copy_turn(backup->copy, why);
        pthread_mutex_unlock(&backup->store->writing);
    }
    out->bytes = sizes.all;
    out->left = sizes.left;
    return status;
}

enum ch_status store_backup_step(struct store_backup *backup,
                                 struct store_backup_progress *out,
                                 char error[STORE_ERROR_SIZE])
{
    char why[SQL_ERROR_SIZE];
    enum ch_status status = copy_some(backup, out, why);
    if (status == CH_OK || status == CH_END) {
        enum ch_status synced = sqlite_copy_sync(backup->copy, why);
        status = synced != CH_OK ? synced : status;
    }
    if (status == CH_END && rename(backup->part, backup->path) != 0)
        return fail_backup(backup, strerror(errno), error);
    backup->placed = status == CH_END;
    return status == CH_OK || status == CH_END ? status
                                               : fail_backup(backup, why, error);
}

void store_backup_end(struct store_backup *backup)
{
    if (backup == NULL)
        return;
    pthread_mutex_lock(&backup->store->writing);
    sqlite_copy_end(backup->copy);
    pthread_mutex_unlock(&backup->store->writing);
    if (backup->copy != NULL && !backup->placed)
        (void)unlink(backup->part);
    free(backup);
}
