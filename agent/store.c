// SPDX-License-Identifier: Apache-2.0
#include "agent/store.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/raw_report.h"
#include "report/sanitize.h"
#include "report/spool_places.h"

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
    if (spool_place_path(SPOOL_PLACE_CONFIGURED, settings, get, NULL, path) != CH_OK ||
        spool_open(path, SPOOL_WRITE, &spool) != CH_OK)
        return;
    if (spool_prepare(&spool, &ahead_fd) != CH_OK)
        ahead_fd = -1;
    spool_close(&spool);
}

// store_create creates the report's file, from the one that is there if it can be.
static enum ch_status store_create(const struct spool *spool, struct finish *finish)
{
    if (ahead_fd < 0 || spool_create_from(spool, finish->id, ahead_fd) != CH_OK)
        return spool_create(spool, finish->id, &finish->lock_fd);
    finish->lock_fd = ahead_fd;
    ahead_fd = -1;
    return CH_OK;
}

static enum ch_status store_write(const struct store *store, const struct spool *spool,
                                  struct finish *finish)
{
    report_id_make(store->time_ms, finish->id);
    enum ch_status status = store_create(spool, finish);
    if (status != CH_OK)
        return status;
    status = raw_report_write(store->capture, finish->id, finish->lock_fd, NULL);
    if (status == CH_OK)
        status = spool_publish(spool, finish->id);
    if (status == CH_OK)
        return CH_OK;
    int saved = errno;
    spool_discard(spool, finish->id);
    close(finish->lock_fd);
    finish->lock_fd = -1;
    errno = saved;
    return status;
}

// store_in_place tries one place.
static bool store_in_place(struct store *store, enum spool_place place,
                           struct finish *finish)
{
    struct spool spool;
    enum ch_status status =
        spool_place_path(place, store->settings, store->get, NULL, store->path);
    if (status != CH_OK) {
        store_note(store->refused, "neither CRASHHOOK_SPOOL nor HOME names a spool");
        return false;
    }
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
