// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs/jobs.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/database/timestamp.h"
#include "collector/jobs/symbolization_batch.h"
#include "collector/requests/collector.h"
#include "collector/server/background.h"
#include "collector/store/store_rest.h"
#include "collector/store/store_symbols.h"
#include "collector/symbols/place_names.h"
#include "collector/symbols/symbol_store.h"
#include "symbolizer/search/guarded_child.h"

enum {
    LEASE_MS = 30000, // of a claim: longer than a batch may take
    STOP_LOOK_MS = 100,
    BATCH_MS = 20000,  // most that a child takes
    LOOK_MS = 300,     // between two looks into an empty queue
    TROUBLE_MS = 5000, // after the store failed
    TRIES_MAX = 3,
    BUILDS_FETCHED = 64,   // of a batch
    BUSY_TIMES = 4,        // as long as a batch took, to rest while reports come
    RENAMED = 32,          // most reports of a transaction, for which uploads wait
    RENAMED_REST = 9,      // as long as one took, before the next while reports come,
    RENAMED_REST_MS = 1500 // and no longer: a claim ends
};

struct symbolization_jobs {
    struct symbolization_jobs_options options;
    struct background background;
};

// claimed_batch is what one thread works on: its reports by project, each project's
// named by themselves.
struct claimed_batch {
    struct symbolization_jobs *jobs;
    struct symbolization_item items[SYMBOLIZATION_BATCH];
    size_t count;
    struct store_named named[SYMBOLIZATION_BATCH];
    struct symbolization_answer *answers; // SYMBOLIZATION_BATCH of them
    bool answered[SYMBOLIZATION_BATCH];
    json_t *known;  // places of a project's builds that are named, by build ID
    json_t *found;  // those of them that were named now, by build key
    int64_t moment; // of the debug files that they were named with
};

// decoded_size is how large an item's report is, or more than COLLECTOR_LARGE.
static size_t decoded_size(const struct symbolization_item *item)
{
    struct text CH_CLEANUP(text_deinit) decoded = { 0 };
    enum ch_status status = decode_body(item->encoding, item->body.bytes,
                                        item->body.size, COLLECTOR_LARGE, &decoded);
    return status == CH_ERR_LIMIT ? COLLECTOR_LARGE + 1 : decoded.size;
}

static void take_symbolization_item(void *context,
                                    const struct store_symbolization *symbolization)
{
    struct claimed_batch *batch = context;
    struct symbolization_item *item = &batch->items[batch->count];
    entry_copy(item->project, sizeof(item->project), symbolization->project);
    item->report = symbolization->report;
    item->turn = symbolization->turn;
    item->tries = symbolization->tries;
    item->received_ms = symbolization->received_ms;
    item->encoding = symbolization->body.encoding;
    text_append(&item->body, symbolization->body.bytes, symbolization->body.size);
    item->decoded = decoded_size(item);
    if (text_ok(&item->body) && batch->count < SYMBOLIZATION_BATCH - 1)
        batch->count++;
    else
        text_clear(&item->body);
}

static void clear_places(struct claimed_batch *batch)
{
    json_decref(batch->known);
    json_decref(batch->found);
    batch->known = batch->found = NULL;
}

static void clear_batch(struct claimed_batch *batch)
{
    for (size_t i = 0; i < SYMBOLIZATION_BATCH; i++)
        text_deinit(&batch->items[i].body);
    clear_places(batch);
    memset(batch->items, 0, sizeof(batch->items));
    memset(batch->answered, 0, sizeof(batch->answered));
    batch->count = 0;
}

// is_readable_key returns true if a build key is everybody's, or the project's.
static bool is_readable_key(const char *key, const char *project)
{
    char expected[STORE_BUILD_KEY_SIZE];
    const char *build = store_build_of(key);
    store_build_key(project, build, expected);
    return symbol_folder_id_ok(build) && (build == key || strcmp(key, expected) == 0);
}

// take_places reads the places that a child named, and returns where its answers
// begin.
static size_t take_places(struct claimed_batch *batch, const struct text *result)
{
    struct symbolization_head head;
    if (result->size < sizeof(head))
        return result->size;
    memcpy(&head, result->bytes, sizeof(head));
    if (head.places_size > result->size - sizeof(head))
        return result->size;
    json_t *places =
        json_loadb(result->bytes + sizeof(head), head.places_size, 0, NULL);
    place_names_join(batch->known, places);
    (void)json_object_update_recursive(batch->found, places);
    json_decref(places);
    return sizeof(head) + head.places_size;
}

// take_answers reads what a child wrote about the items from start on.
static void take_answers(struct claimed_batch *batch, size_t start, size_t count,
                         const struct text *result)
{
    struct symbolization_answer *answer = batch->answers;
    for (size_t at = take_places(batch, result); result->size - at >= sizeof(*answer);
         at += sizeof(*answer)) {
        struct symbolization_answer copy;
        memcpy(&copy, result->bytes + at, sizeof(copy));
        if (copy.index >= count || !entry_is_sane(&copy.entry))
            continue;
        copy.entry.project[0] = 0; // the store knows it
        answer[start + copy.index] = copy;
        batch->answered[start + copy.index] = true;
    }
}

// await_answers waits until a child answers, and returns when to end it: at once where
// the collector stops, because its reports are claimed again.
static int64_t await_answers(struct background *background,
                             const struct guarded_child *child, int64_t deadline_ms)
{
    struct pollfd answers = { .fd = child->from, .events = POLLIN };
    while (guarded_child_now_ms() < deadline_ms && poll(&answers, 1, STOP_LOOK_MS) <= 0)
        if (!background_pause(background, 0))
            return 0;
    return deadline_ms;
}

static enum ch_status name_items(struct claimed_batch *batch, size_t start,
                                 size_t count)
{
    struct text CH_CLEANUP(text_deinit) result = {
        .limit_bytes = sizeof(struct symbolization_head) + SYMBOLIZATION_PLACES_BYTES +
                       (SYMBOLIZATION_BATCH + 1) * sizeof(struct symbolization_answer)
    };
    struct symbolization_batch work = { .items = &batch->items[start],
                                        .count = count,
                                        .project = batch->items[start].project,
                                        .symbols = symbol_store_folder(
                                            batch->jobs->options.symbols),
                                        .known = batch->known };
    bool large = count == 1 && batch->items[start].decoded > COLLECTOR_LARGE;
    if (large)
        pthread_mutex_lock(batch->jobs->options.large);
    struct guarded_child child;
    int64_t deadline_ms = guarded_child_now_ms() + BATCH_MS;
    enum ch_status status =
        guarded_child_start(symbolization_batch_run, &work, deadline_ms, &child);
    if (status == CH_OK) {
        deadline_ms = await_answers(&batch->jobs->background, &child, deadline_ms);
        status = guarded_child_finish(&child, deadline_ms, &result);
    }
    guarded_child_reap(); // with its memory, before another one may be large
    if (large)
        pthread_mutex_unlock(batch->jobs->options.large);
    if (status == CH_OK)
        take_answers(batch, start, count, &result);
    return status;
}

// chunk_end is the index after the items from start on that are named together: a large
// report alone, because one takes ten times its size while it is open.
static size_t chunk_end(const struct claimed_batch *batch, size_t start, size_t last)
{
    size_t bytes = batch->items[start].decoded;
    size_t end = start + 1;
    if (bytes > COLLECTOR_LARGE)
        return end;
    while (end < last && batch->items[end].decoded <= COLLECTOR_LARGE &&
           bytes + batch->items[end].decoded <= SYMBOLIZATION_BATCH_BYTES)
        bytes += batch->items[end++].decoded;
    return end;
}

// name_chunk names items together, and one by one where that failed.
static void name_chunk(struct claimed_batch *batch, size_t start, size_t end)
{
    enum ch_status status = name_items(batch, start, end - start);
    bool alone_too = status != CH_OK && end - start > 1;
    for (size_t i = start;
         alone_too && background_pause(&batch->jobs->background, 0) && i < end; i++) {
        enum ch_status alone = name_items(batch, i, 1);
        (void)alone; // what is not answered is tried again, or given up
    }
}

// take_known_place adds a place to a tree by build key.
static void take_known_place(void *context, const struct store_place *place)
{
    json_t *known = context;
    json_t *places = json_object_get(known, place->build);
    json_t *frames = json_loads(place->frames, 0, NULL);
    if (places == NULL) {
        places = json_object();
        (void)json_object_set_new(known, place->build, places);
    }
    (void)json_object_set_new(places, place->place, frames);
}

// lacking is the builds whose names a batch lacks: a visitor must not ask the store.
struct lacking {
    char builds[BUILDS_FETCHED][SYMBOL_FOLDER_ID_SIZE];
    size_t count;
};

static void take_lacking(void *context, const char *build)
{
    struct lacking *lacking = context;
    if (lacking->count < BUILDS_FETCHED && symbol_folder_id_ok(build))
        (void)snprintf(lacking->builds[lacking->count++], SYMBOL_FOLDER_ID_SIZE, "%s",
                       build);
}

// fetch_debug_files has the debug files for reports of a project in the folder, where
// the child looks.
static enum ch_status fetch_debug_files(struct symbolization_jobs *jobs,
                                        const struct store_reports_of *of)
{
    struct lacking lacking = { .count = 0 };
    enum ch_status status = store_list_lacking(jobs->options.store, of->numbers,
                                               of->count, take_lacking, &lacking);
    for (size_t i = 0; i < lacking.count; i++) {
        int fd = symbol_store_open(jobs->options.symbols, of->project,
                                   SYMBOL_DEBUG_FILE, lacking.builds[i]);
        if (fd >= 0)
            close(fd);
    }
    return status;
}

// read_known reads what is known of the builds whose names reports of a project lack.
// Of a build of which the project has a file of its own, only the names of that count.
static enum ch_status read_known(struct claimed_batch *batch,
                                 const struct store_reports_of *of)
{
    json_t *listed = json_object();
    const char *key;
    json_t *places;
    void *next;
    clear_places(batch);
    batch->known = json_object();
    batch->found = json_object();
    enum ch_status status = store_list_known_places(
        batch->jobs->options.store, of, take_known_place, listed, &batch->moment);
    json_object_foreach_safe(listed, next, key, places)
    {
        if (of->project[0] != 0 && store_build_of(key) == key &&
            symbol_store_prefers_own(batch->jobs->options.symbols, of->project, key))
            (void)json_object_del(listed, key);
    }
    place_names_join(batch->known, listed);
    json_decref(listed);
    return status;
}

// keep_build_places stores what was found out about a build.
static enum ch_status keep_build_places(struct claimed_batch *batch, const char *build,
                                        json_t *places, char error[STORE_ERROR_SIZE])
{
    size_t count = 0;
    const char *key;
    json_t *frames;
    struct store_place *list = calloc(json_object_size(places) + 1, sizeof(*list));
    if (list == NULL)
        return CH_ERR_NO_MEMORY;
    json_object_foreach(places, key, frames)
    {
        char *dumped = json_is_array(frames) ? json_dumps(frames, JSON_COMPACT) : NULL;
        if (dumped != NULL)
            list[count++] = (struct store_place){ build, key, dumped };
    }
    enum ch_status status =
        store_add_places(batch->jobs->options.store, list, count, batch->moment, error);
    for (size_t i = 0; i < count; i++)
        free((char *)(uintptr_t)list[i].frames);
    free(list);
    return status;
}

static enum ch_status keep_places(struct claimed_batch *batch, const char *project,
                                  char error[STORE_ERROR_SIZE])
{
    enum ch_status status = CH_OK;
    const char *build;
    json_t *places;
    json_object_foreach(batch->found, build, places)
    {
        if (status == CH_OK && is_readable_key(build, project))
            status = keep_build_places(batch, build, places, error);
    }
    return status;
}

// rename_some hands over a part of what was found, and lets uploads go before the next.
static enum ch_status rename_some(struct symbolization_jobs *jobs,
                                  struct store_named *named, size_t count,
                                  char error[STORE_ERROR_SIZE])
{
    int64_t began_ms = guarded_child_now_ms();
    enum ch_status status = store_rename(jobs->options.store, named, count, error);
    for (size_t i = 0; status == CH_OK && i < count; i++)
        metrics_count(&jobs->options.metrics->named);
    int64_t rest_ms = (guarded_child_now_ms() - began_ms) * RENAMED_REST;
    if (status == CH_OK && store_is_busy(jobs->options.store))
        (void)background_pause(&jobs->background, rest_ms < RENAMED_REST_MS
                                                      ? (int)rest_ms
                                                      : RENAMED_REST_MS);
    return status;
}

// finish_batch hands over what was found. A report without an answer is claimed again
// when its lease ends, until it is given up, which a collector that stops never does.
static enum ch_status finish_batch(struct claimed_batch *batch,
                                   char error[STORE_ERROR_SIZE])
{
    struct symbolization_jobs *jobs = batch->jobs;
    bool goes_on = background_pause(&jobs->background, 0);
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct symbolization_item *item = &batch->items[i];
        if (!batch->answered[i] && (item->tries < TRIES_MAX || !goes_on))
            continue;
        if (!batch->answered[i])
            metrics_count(&jobs->options.metrics->symbolization_failures);
        batch->named[count++] = (struct store_named){
            .report = item->report,
            .turn = item->turn,
            .entry = batch->answered[i] ? &batch->answers[i].entry : NULL,
        };
    }
    enum ch_status status = CH_OK;
    for (size_t at = 0; at < count && status == CH_OK; at += RENAMED)
        status = rename_some(jobs, &batch->named[at],
                             count - at < RENAMED ? count - at : RENAMED, error);
    return status;
}

static int by_project(const void *a, const void *b)
{
    return strcmp(((const struct symbolization_item *)a)->project,
                  ((const struct symbolization_item *)b)->project);
}

// name_project names the reports from start to end, which are of one project.
static enum ch_status name_project(struct claimed_batch *batch, size_t start,
                                   size_t end, char error[STORE_ERROR_SIZE])
{
    struct symbolization_jobs *jobs = batch->jobs;
    int64_t reports[SYMBOLIZATION_BATCH];
    const struct store_reports_of of = { batch->items[start].project, reports,
                                         end - start };
    for (size_t i = start; i < end; i++)
        reports[i - start] = batch->items[i].report;
    enum ch_status status = read_known(batch, &of);
    if (status == CH_OK)
        status = fetch_debug_files(jobs, &of);
    while (status == CH_OK && start < end && background_pause(&jobs->background, 0)) {
        size_t chunk = chunk_end(batch, start, end);
        name_chunk(batch, start, chunk);
        start = chunk;
    }
    return status == CH_OK ? keep_places(batch, of.project, error) : status;
}

// work_once claims and names a batch, and returns how long to wait for the next.
static int work_once(struct claimed_batch *batch)
{
    struct symbolization_jobs *jobs = batch->jobs;
    char error[STORE_ERROR_SIZE];
    size_t claimed = 0;
    const struct store_claiming claiming = { .count = SYMBOLIZATION_BATCH - 1,
                                             .lease_ms = LEASE_MS,
                                             .visit = take_symbolization_item,
                                             .context = batch };
    clear_batch(batch);
    enum ch_status status =
        store_claim(jobs->options.store, &claiming, &claimed, error);
    qsort(batch->items, batch->count, sizeof(batch->items[0]), by_project);
    // The places first: a report that is done has its names.
    for (size_t start = 0; status == CH_OK && start < batch->count;) {
        size_t end = start + 1;
        while (end < batch->count &&
               by_project(&batch->items[start], &batch->items[end]) == 0)
            end++;
        status = name_project(batch, start, end, error);
        start = end;
    }
    if (status == CH_OK)
        status = finish_batch(batch, error);
    if (status != CH_OK)
        jobs->options.complain(error);
    return status != CH_OK ? TROUBLE_MS : claimed == 0 ? LOOK_MS : 0;
}

static void *symbolization_main(void *context)
{
    struct claimed_batch *batch = calloc(1, sizeof(*batch));
    if (batch == NULL)
        return NULL;
    batch->jobs = context;
    batch->answers = calloc(SYMBOLIZATION_BATCH, sizeof(*batch->answers));
    int wait_ms = 0;
    while (batch->answers != NULL &&
           background_pause(&batch->jobs->background, wait_ms)) {
        int64_t began_ms = guarded_child_now_ms();
        wait_ms = work_once(batch);
        // Uploads have the store and the processor most of the time.
        if (wait_ms == 0)
            wait_ms = (int)(guarded_child_now_ms() - began_ms) *
                      (store_is_busy(batch->jobs->options.store) ? BUSY_TIMES : 1);
    }
    clear_batch(batch);
    free(batch->answers);
    free(batch);
    return NULL;
}

enum ch_status
symbolization_jobs_create(const struct symbolization_jobs_options *options,
                          struct symbolization_jobs **out)
{
    struct symbolization_jobs *jobs = calloc(1, sizeof(*jobs));
    *out = jobs;
    if (jobs == NULL)
        return CH_ERR_NO_MEMORY;
    jobs->options = *options;
    background_init(&jobs->background);
    enum ch_status status = CH_OK;
    for (unsigned i = 0; i < options->workers && status == CH_OK; i++)
        status = background_start(&jobs->background, symbolization_main, jobs);
    return status;
}

void symbolization_jobs_destroy(struct symbolization_jobs *jobs)
{
    if (jobs == NULL)
        return;
    background_deinit(&jobs->background);
    free(jobs);
}
