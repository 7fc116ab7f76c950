// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/store.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/raw/raw_report.h"
#include "base/system/file.h"
#include "report/secrets/sanitize.h"
#include "report/spool/spool.h"

static void store_note(char notes[static STORE_REFUSED_MAX], const char *format, ...)
    CH_PRINTF(2, 3);

// store_note appends to notes; what does not fit is cut.
static void store_note(char notes[static STORE_REFUSED_MAX], const char *format, ...)
{
    size_t length = strlen(notes);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(notes + length, STORE_REFUSED_MAX - length, format, arguments);
    va_end(arguments);
}

// store_refused records why the place did not take the report.
static void store_refused(struct store *store, const char *why)
{
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    sanitize_path(store->path, store->capture->home, &path);
    text_append(&path, "", 1);
    store_note(store->refused, "%s'%s': %s", store->refused[0] != 0 ? ", " : "",
               text_ok(&path) ? path.bytes : "?", why);
}

static int ahead_fd = -1; // of store_ahead

void store_ahead(const struct settings *settings, settings_get_fn *get)
{
    char path[PATH_MAX];
    struct spool spool;
    if (spool_place_path(SPOOL_PLACE_CONFIGURED, settings, get, path) != CH_OK ||
        spool_open(path, SPOOL_WRITE, &spool) != CH_OK)
        return;
    if (spool_prepare(&spool, &ahead_fd) != CH_OK)
        ahead_fd = -1;
    spool_close(&spool);
}

// store_created makes the report in a new file.
static enum ch_status store_created(const struct store *store,
                                    const struct spool *spool, struct finish *finish)
{
    enum ch_status status = spool_create(spool, finish->id, &finish->lock_fd);
    if (status != CH_OK)
        return status;
    status = raw_report_write(store->capture, finish->id, finish->lock_fd, NULL);
    if (status == CH_OK)
        status = spool_publish(spool, finish->id);
    if (status != CH_OK) {
        int saved = errno;
        spool_discard(spool, finish->id);
        errno = saved;
    }
    return status;
}

// store_copied puts a copy of the report in finish->lock_fd, which cannot be linked
// where the report is to be, into a new file, and its descriptor in place of that.
static enum ch_status store_copied(const struct spool *spool, struct finish *finish)
{
    struct text CH_CLEANUP(text_deinit) report = { 0 };
    int CH_CLEANUP(file_close) from = finish->lock_fd;
    finish->lock_fd = -1;
    (void)lseek(from, 0, SEEK_SET);
    enum ch_status status = text_read(&report, from, SIZE_MAX);
    if (status == CH_OK)
        status = spool_create(spool, finish->id, &finish->lock_fd);
    if (status != CH_OK)
        return status;
    if (file_write_all(finish->lock_fd, report.bytes, report.size) &&
        spool_publish(spool, finish->id) == CH_OK)
        return CH_OK;
    int saved = errno;
    spool_discard(spool, finish->id);
    errno = saved;
    return CH_ERR_IO;
}

// store_prepared makes the report in the file that is there.
static enum ch_status store_prepared(const struct store *store,
                                     const struct spool *spool, struct finish *finish)
{
    finish->lock_fd = ahead_fd;
    ahead_fd = -1;
    enum ch_status status =
        raw_report_write(store->capture, finish->id, finish->lock_fd, NULL);
    if (status != CH_OK)
        return status;
    status = spool_publish_prepared(spool, finish->id, finish->lock_fd);
    return status == CH_OK ? status : store_copied(spool, finish);
}

static enum ch_status store_write(const struct store *store, const struct spool *spool,
                                  struct finish *finish)
{
    report_id_make(store->time_ms, finish->id);
    enum ch_status status = ahead_fd >= 0 ? store_prepared(store, spool, finish)
                                          : store_created(store, spool, finish);
    if (status != CH_OK)
        file_close(&finish->lock_fd);
    return status;
}

// store_in_place tries one place.
static bool store_in_place(struct store *store, enum spool_place place,
                           struct finish *finish)
{
    struct spool spool;
    enum ch_status status =
        spool_place_path(place, store->settings, store->get, store->path);
    if (status != CH_OK && place == SPOOL_PLACE_CONFIGURED)
        store_note(store->refused, "neither CRASHHOOK_SPOOL nor HOME names a spool");
    if (status != CH_OK)
        return false;
    status = spool_place_open(place, store->path, &spool);
    if (status == CH_OK) {
        status = store_write(store, &spool, finish);
        spool_close(&spool);
    }
    if (status != CH_OK)
        store_refused(store, spool_why(status));
    return status == CH_OK;
}

bool store_report(struct store *store, struct finish *finish)
{
    static char problem[REQUEST_WHY_MAX];
    bool written = store_in_place(store, SPOOL_PLACE_CONFIGURED, finish);
    for (int place = SPOOL_PLACE_DROP; place < SPOOL_PLACES && !written; place++) {
        // The report itself has this problem, so it must be added before writing.
        (void)snprintf(problem, sizeof(problem), "not in the spool: %s",
                       store->refused);
        if (place == SPOOL_PLACE_DROP)
            capture_problem(store->capture, "spool", problem, 0);
        written = store_in_place(store, (enum spool_place)place, finish);
    }
    finish->spool = store->path;
    if (!written)
        (void)snprintf(store->why_not, sizeof(store->why_not),
                       "cannot write to %s; set CRASHHOOK_SPOOL, or make "
                       "'" SETTINGS_DROP_FOLDER "' as root with mode 1733\n",
                       store->refused);
    return written;
}
