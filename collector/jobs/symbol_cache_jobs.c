// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collector/database/timestamp.h"
#include "collector/server/background.h"
#include "collector/store/store_outage.h"
#include "collector/store/store_symbolization.h"
#include "collector/store/store_symbols.h"
#include "net/http.h"

enum {
    LOOK_MS = 1000,
    TIDY_MS = 60000,
    STALL_MS = 20000,  // of a server upstream, at less than this:
    LEAST_RATE = 1000, // bytes a second
    TROUBLE_MS = 5000, // after a failure, doubled with each further one
    TROUBLE_MAX_MS = 600000,
    URL_SIZE = 1024,
    SAY_SIZE = 512,
};

// ASKED_MS is how long it is remembered that a server upstream was asked of a build.
#define ASKED_MS (30 * (int64_t)TIMESTAMP_DAY_MS)

struct symbol_cache_jobs {
    struct symbol_cache_jobs_options options;
    char after[SYMBOL_FOLDER_ID_SIZE]; // build that the last look came to
    int64_t tidy_ms;                   // when files are looked at next
    int trouble_ms;
    atomic_bool given_up;
    struct background background;
};

// unasked is a part of the builds that reports lack: a visitor must not ask the store.
struct unasked {
    char builds[STORE_SYMBOLS_STEP][SYMBOL_FOLDER_ID_SIZE];
    size_t count;
    char last[SYMBOL_FOLDER_ID_SIZE]; // that was visited; empty: none
};

static void take_unasked(void *context, const char *build, bool wanted)
{
    struct unasked *unasked = context;
    (void)snprintf(unasked->last, sizeof(unasked->last), "%s", build);
    if (wanted && symbol_folder_id_ok(build) && unasked->count < STORE_SYMBOLS_STEP)
        (void)snprintf(unasked->builds[unasked->count++], SYMBOL_FOLDER_ID_SIZE, "%s",
                       build);
}

// fetch_into asks one server, and writes what it sends to an upload. CH_ERR_NOT_FOUND:
// it has no such file.
static enum ch_status fetch_into(struct symbol_cache_jobs *supervisor,
                                 const char *server, size_t length,
                                 struct symbol_upload *upload, char say[SAY_SIZE])
{
    char url[URL_SIZE];
    struct http_reply reply = { 0 };
    FILE *to = fdopen(dup(upload->fd), "w");
    while (length != 0 && server[length - 1] == '/')
        length--;
    bool fits = snprintf(url, sizeof(url), "%.*s/buildid/%s/debuginfo", (int)length,
                         server, upload->build_id) < (int)sizeof(url);
    if (to == NULL || !fits) {
        if (to != NULL)
            (void)fclose(to);
        return CH_ERR_IO;
    }
    const struct http_request request = { .url = url,
                                          .to = to,
                                          .timeout_ms = STALL_MS,
                                          .least_rate = LEAST_RATE,
                                          .abandon = &supervisor->given_up };
    enum ch_status status = http_send(&request, &reply);
    bool written = fclose(to) == 0;
    if (status != CH_OK)
        (void)snprintf(say, SAY_SIZE, "cannot ask '%.*s' for debug files: %.200s",
                       (int)(length < 200 ? length : 200), server, reply.error);
    else if (reply.status == 404)
        status = CH_ERR_NOT_FOUND;
    else if (reply.status != 200 || !written) {
        (void)snprintf(say, SAY_SIZE,
                       "cannot ask '%.*s' for debug files: it answered with %d",
                       (int)(length < 200 ? length : 200), server, reply.status);
        status = CH_ERR_IO;
    }
    http_reply_deinit(&reply);
    return status;
}

// keep_fetched makes an upload a debug file of everybody's, and has reports named.
static enum ch_status keep_fetched(struct symbol_cache_jobs *supervisor,
                                   struct symbol_upload *upload, char say[SAY_SIZE])
{
    char error[STORE_ERROR_SIZE] = "it is not of that build";
    struct symbol_kept file = { .build_id = upload->build_id,
                                .project = "",
                                .release = "" };
    const struct store_build build = { .id = upload->build_id,
                                       .project = "",
                                       .sender = "" };
    enum ch_status status = symbol_upload_check(upload);
    if (status == CH_OK)
        status = symbol_upload_finish(upload);
    file.kind = upload->kind;
    if (status == CH_OK)
        status = symbol_store_keep(supervisor->options.symbols, &file, error);
    if (status == CH_OK)
        status = store_symbols_came(supervisor->options.store, &build, error);
    if (status == CH_OK)
        metrics_count(&supervisor->options.metrics->debug_files);
    else
        (void)snprintf(say, SAY_SIZE, "cannot keep the debug file of %.80s: %s",
                       upload->build_id, error);
    return status;
}

// ask_server asks one server of a build. CH_ERR_NOT_FOUND: it has none, or none that is
// a debug file of that build.
static enum ch_status ask_server(struct symbol_cache_jobs *supervisor,
                                 const char *server, size_t length, const char *build,
                                 char say[SAY_SIZE])
{
    struct symbol_upload upload = { .fd = -1 };
    enum ch_status status =
        symbol_upload_begin(symbol_store_folder(supervisor->options.symbols),
                            SYMBOL_DEBUG_FILE, build, &upload);
    if (status == CH_OK)
        status = fetch_into(supervisor, server, length, &upload, say);
    if (status == CH_OK)
        status = keep_fetched(supervisor, &upload, say);
    symbol_upload_abandon(&upload);
    return status == CH_ERR_MALFORMED ? CH_ERR_NOT_FOUND : status;
}

// ask_upstream asks the servers one after the other, until one has the file, and notes
// that they were asked; of a failure nothing is noted.
static enum ch_status ask_upstream(struct symbol_cache_jobs *supervisor,
                                   const char *build)
{
    char say[SAY_SIZE] = "cannot write a debug file";
    char error[STORE_ERROR_SIZE];
    enum ch_status status = CH_ERR_NOT_FOUND;
    const char *server = supervisor->options.upstream;
    while (status == CH_ERR_NOT_FOUND && *server != 0) {
        size_t length = strcspn(server, " ");
        if (length != 0)
            status = ask_server(supervisor, server, length, build, say);
        server += length + (server[length] == ' ');
    }
    if (status == CH_OK || status == CH_ERR_NOT_FOUND) {
        status =
            store_build_asked(supervisor->options.store, build, timestamp_now(), error);
        (void)snprintf(say, sizeof(say), "%s", error);
    }
    if (status != CH_OK && !supervisor->given_up &&
        !store_gave_up(supervisor->options.store))
        supervisor->options.complain(say);
    return status;
}

// ask_some asks of the wanted builds among the next ones, in turn.
static enum ch_status ask_some(struct symbol_cache_jobs *supervisor, bool *out_more)
{
    struct unasked unasked = { .count = 0 };
    *out_more = false;
    if (supervisor->options.upstream == NULL)
        return CH_OK;
    enum ch_status status =
        store_list_unasked(supervisor->options.store, supervisor->after,
                           timestamp_now() - ASKED_MS, take_unasked, &unasked);
    for (size_t i = 0; status == CH_OK && i < unasked.count; i++) {
        if (!background_pause(&supervisor->background, 0))
            return CH_OK;
        status = ask_upstream(supervisor, unasked.builds[i]);
    }
    if (status == CH_OK) {
        (void)snprintf(supervisor->after, sizeof(supervisor->after), "%s",
                       unasked.last);
        *out_more = unasked.last[0] != 0;
    }
    return status;
}

// keep_once takes one step, and returns how long to wait for the next one.
static int keep_once(struct symbol_cache_jobs *supervisor)
{
    char error[STORE_ERROR_SIZE];
    bool more = false;
    bool more_files = false;
    enum ch_status status = ask_some(supervisor, &more);
    int64_t now_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC);
    if (now_ms >= supervisor->tidy_ms) {
        enum ch_status tidied =
            symbol_store_tidy(supervisor->options.symbols, &more_files, error);
        supervisor->tidy_ms = now_ms + (more_files ? 0 : TIDY_MS);
        if (tidied != CH_OK && !store_gave_up(supervisor->options.store))
            supervisor->options.complain(error);
    }
    if (status == CH_OK) {
        supervisor->trouble_ms = 0;
        return more || more_files ? 1 : LOOK_MS;
    }
    return background_retry_ms(&supervisor->trouble_ms, TROUBLE_MS, TROUBLE_MAX_MS);
}

static void *keep_main(void *context)
{
    struct symbol_cache_jobs *supervisor = context;
    int wait_ms = LOOK_MS;
    while (background_pause(&supervisor->background, wait_ms))
        wait_ms = keep_once(supervisor);
    return NULL;
}

enum ch_status symbol_cache_jobs_create(const struct symbol_cache_jobs_options *options,
                                        struct symbol_cache_jobs **out)
{
    *out = NULL;
    struct symbol_cache_jobs *supervisor = calloc(1, sizeof(*supervisor));
    if (supervisor == NULL)
        return CH_ERR_NO_MEMORY;
    supervisor->options = *options;
    background_init(&supervisor->background);
    enum ch_status status =
        background_start(&supervisor->background, keep_main, supervisor);
    if (status != CH_OK) {
        symbol_cache_jobs_destroy(supervisor);
        return status;
    }
    *out = supervisor;
    return CH_OK;
}

void symbol_cache_jobs_destroy(struct symbol_cache_jobs *supervisor)
{
    if (supervisor == NULL)
        return;
    supervisor->given_up = true;
    background_deinit(&supervisor->background);
    free(supervisor);
}
