// SPDX-License-Identifier: Apache-2.0
//
// The queue of reports that are to be named. It is a table, so it is not lost with the
// collector, and several collectors may work on it: who claims a report has it for a
// time, after which somebody else may.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/database/timestamp.h"
#include "collector/store/store_bodies.h"
#include "collector/store/store_internal.h"
#include "collector/store/store_schema.h"
#include "collector/store/store_symbolization.h"

enum { STORE_UNKEYED_STEP = 256 };

// claim is what one call of store_claim has claimed.
struct claim {
    struct store_symbolization *all;
    size_t count;
    const struct store_claiming *claiming;
};

// claim_reading visits one report that was claimed.
struct claim_reading {
    const struct claim *claim;
    const struct store_symbolization *symbolization;
    bool lost; // its body is nowhere
    struct store_body_found body;
};

static void take_claimed(void *context, const struct sql_row *row)
{
    struct claim *claim = context;
    if (claim->count == claim->claiming->count)
        return;
    claim->all[claim->count++] =
        (struct store_symbolization){ .report = sql_column_number(row, "report"),
                                      .turn = sql_column_number(row, "turn"),
                                      .tries = sql_column_number(row, "tries") };
}

static enum ch_status claim_jobs(struct sql *sql, void *context)
{
    struct claim *claim = context;
    int64_t now_ms = timestamp_now();
    struct sql_value values[] = { sql_number(now_ms + claim->claiming->lease_ms),
                                  sql_number(now_ms),
                                  sql_number((int64_t)claim->claiming->count) };
    claim->count = 0;
    sql_queue(sql, STORE_JOB_CLAIM, values, 3, take_claimed, claim);
    return sql_flush(sql);
}

static void visit_claimed(void *context, const struct sql_row *row)
{
    struct claim_reading *reading = context;
    struct store_symbolization symbolization = *reading->symbolization;
    symbolization.received_ms = sql_column_number(row, "received");
    symbolization.project = sql_column_text(row, "project");
    store_body_read(row, &reading->body);
    symbolization.body = reading->body.body;
    // What is lost is empty: nobody can read it, and after some tries it is given up.
    if (!reading->body.away || reading->lost)
        reading->claim->claiming->visit(reading->claim->claiming->context,
                                        &symbolization);
}

static enum ch_status query_claimed(struct store *store, struct claim_reading *reading)
{
    struct sql_value number = sql_number(reading->symbolization->report);
    return store_ask(store, STORE_JOB_BODY, &number, 1, visit_claimed, reading);
}

// read_claimed_body visits one body; it holds no connection while it is fetched.
static enum ch_status read_claimed_body(struct store *store,
                                        struct claim_reading *reading)
{
    enum ch_status status = query_claimed(store, reading);
    for (int i = 0; status == CH_OK && reading->body.away && i < STORE_BODY_LOOKS;
         i++) {
        status = store_body_fetch(store, &reading->body);
        reading->lost = status == CH_ERR_NOT_FOUND && i == STORE_BODY_LOOKS - 1;
        if (status == CH_OK || status == CH_ERR_NOT_FOUND)
            status = query_claimed(store, reading);
    }
    return status;
}

// read_claimed visits the bodies of what was claimed.
static enum ch_status read_claimed(struct store *store, const struct claim *claim)
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; i < claim->count && status == CH_OK; i++) {
        struct claim_reading reading = { .claim = claim,
                                         .symbolization = &claim->all[i] };
        status = read_claimed_body(store, &reading);
        store_body_found_deinit(&reading.body);
    }
    return status;
}

enum ch_status store_claim(struct store *store, const struct store_claiming *claiming,
                           size_t *out_count, char error[STORE_ERROR_SIZE])
{
    int64_t any = 0;
    struct sql_value now = sql_number(timestamp_now());
    // An idle collector writes nothing. Jobs are not counted: after an upgrade there
    // may be one a report.
    enum ch_status status =
        store_ask(store, STORE_JOB_DUE, &now, 1, sql_take_number, &any);
    *out_count = 0;
    snprintf(error, STORE_ERROR_SIZE, "cannot read what is to be named");
    if (status != CH_OK || any == 0)
        return status;
    struct claim claim = { .all = calloc(claiming->count,
                                         sizeof(struct store_symbolization)),
                           .claiming = claiming };
    struct store_job job = { .what = "claim reports to be named",
                             .work = claim_jobs,
                             .context = &claim };
    status = claim.all != NULL ? store_transact(store, &job, error) : CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        status = read_claimed(store, &claim);
    if (status == CH_OK)
        *out_count = claim.count;
    free(claim.all);
    return status;
}

void store_build_key(const char *project, const char *build,
                     char out[STORE_BUILD_KEY_SIZE])
{
    (void)snprintf(out, STORE_BUILD_KEY_SIZE, "%s%s%s", project,
                   project[0] != 0 ? "/" : "", build);
}

const char *store_build_of(const char *key)
{
    const char *slash = strrchr(key, '/');
    return slash != NULL ? slash + 1 : key;
}

static void add_build(struct sql *sql, const struct store_build *build)
{
    struct sql_value values[] = { sql_text(build->id), sql_number(timestamp_now()),
                                  sql_text(build->project), sql_text(build->sender) };
    sql_queue(sql, STORE_SYMBOLS_ADD, values, 4, NULL, NULL);
}

// came_build is a build whose reports are queued in steps.
struct came_build {
    const struct store_build *build;
    int64_t after; // number of the last report that is queued; -1: none
    int64_t last;  // and with the current step
    size_t queued; // in it
};

static void take_queued(void *context, const struct sql_row *row)
{
    struct came_build *came = context;
    int64_t report = sql_column_number(row, "report");
    came->queued++;
    if (report > came->last)
        came->last = report;
}

static enum ch_status queue_build(struct sql *sql, void *context)
{
    struct came_build *came = context;
    struct sql_value key = sql_text(came->build->id);
    struct sql_value values[] = { sql_text(store_build_of(came->build->id)),
                                  sql_number(timestamp_now()), sql_number(came->after),
                                  sql_number(STORE_BUILD_STEP),
                                  sql_text(came->build->project) };
    came->last = came->after;
    came->queued = 0;
    if (came->after < 0) {
        add_build(sql, came->build);
        sql_queue(sql, STORE_PLACES_FORGET, &key, 1, NULL, NULL);
    }
    sql_queue(sql, STORE_JOB_ADD_BUILD, values, 5, take_queued, came);
    return sql_flush(sql);
}

enum ch_status store_build_own(struct store *store, const struct store_build *build,
                               char error[STORE_ERROR_SIZE])
{
    const struct sql_value values[] = { sql_text(build->id),
                                        sql_number(timestamp_now()),
                                        sql_text(build->project),
                                        sql_text(build->sender) };
    const struct store_step step = { STORE_SYMBOLS_ADD, values, 4, NULL };
    return store_change(store, "note whose a build is", &step, 1, error);
}

struct build_finding {
    store_build_fn *visit;
    void *context;
    bool found;
};

static void find_build(void *context, const struct sql_row *row)
{
    struct build_finding *finding = context;
    struct store_build build = { .id = sql_column_text(row, "build"),
                                 .project = sql_column_text(row, "project"),
                                 .sender = sql_column_text(row, "sender") };
    finding->found = true;
    finding->visit(finding->context, &build);
}

enum ch_status store_find_build(struct store *store, const char *id,
                                store_build_fn *visit, void *context)
{
    struct build_finding finding = { visit, context, false };
    struct sql_value value = sql_text(id);
    enum ch_status status =
        store_ask(store, STORE_FIND_BUILD, &value, 1, find_build, &finding);
    return status == CH_OK && !finding.found ? CH_ERR_NOT_FOUND : status;
}

enum ch_status store_symbols_came(struct store *store, const struct store_build *build,
                                  char error[STORE_ERROR_SIZE])
{
    struct came_build came = { .build = build, .after = -1 };
    struct store_job job = { .what = "queue the reports of a build",
                             .work = queue_build,
                             .context = &came };
    enum ch_status status = CH_OK;
    do {
        int64_t began_ms = timestamp_now();
        // Alone at first: a report that is being stored either finds the build or is
        // found by it. Whoever sent the file sends it again if not all are queued.
        job.alone = came.after < 0;
        status = store_transact(store, &job, error);
        came.after = came.last;
        int64_t rest_ms = timestamp_now() - began_ms; // for uploads
        const struct timespec pause = { .tv_sec = rest_ms / 1000,
                                        .tv_nsec = rest_ms % 1000 * 1000000L };
        if (status == CH_OK && came.queued == STORE_BUILD_STEP)
            nanosleep(&pause, NULL);
    } while (status == CH_OK && came.queued == STORE_BUILD_STEP);
    return status;
}

static void take_backlog(void *context, const struct sql_row *row)
{
    *(struct store_backlog *)context =
        (struct store_backlog){ .waiting = sql_column_number(row, "waiting"),
                                .oldest_ms = sql_column_number(row, "oldest") };
}

enum ch_status store_backlog_of(struct store *store, struct store_backlog *out)
{
    *out = (struct store_backlog){ 0 };
    return store_ask(store, STORE_JOBS_WAITING, NULL, 0, take_backlog, out);
}

struct past_listing {
    store_past_fn *visit;
    void *context;
};

static void list_past(void *context, const struct sql_row *row)
{
    const struct past_listing *listing = context;
    struct store_past past = { .kind = sql_column_text(row, "kind"),
                               .other = sql_column_text(row, "other"),
                               .detail = sql_column_text(row, "detail"),
                               .count = sql_column_number(row, "count"),
                               .time_ms = sql_column_number(row, "time") };
    listing->visit(listing->context, &past);
}

enum ch_status store_list_history(struct store *store, const char *id,
                                  store_past_fn *visit, void *context)
{
    struct past_listing listing = { .visit = visit, .context = context };
    struct sql_value value = sql_text(id);
    return store_ask(store, STORE_HISTORY_LIST, &value, 1, list_past, &listing);
}

struct kin_listing {
    store_kin_fn *visit;
    void *context;
};

static void list_kin(void *context, const struct sql_row *row)
{
    const struct kin_listing *listing = context;
    struct store_kin kin = { .id = sql_column_text(row, "fingerprint"),
                             .title = sql_column_text(row, "title"),
                             .stack = sql_column_text(row, "stack"),
                             .count = sql_column_number(row, "count") };
    listing->visit(listing->context, &kin);
}

enum ch_status store_list_kin(struct store *store, const char *project,
                              store_kin_fn *visit, void *context)
{
    struct kin_listing listing = { .visit = visit, .context = context };
    struct sql_value values[] = { sql_number(STORE_KIN), sql_text(project) };
    return store_ask(store, STORE_LIST_KIN, values, 2, list_kin, &listing);
}

static void take_unkeyed(void *context, const struct sql_row *row)
{
    store_list_append(context, sql_column_number(row, "number"));
}

// key_again has the reports of a step keyed as this program does, and counts what a
// collector of before did not count.
static enum ch_status key_again(struct sql *sql, void *context)
{
    CH_CLEANUP(text_deinit) struct text list = { 0 };
    const struct sql_value most = sql_number(STORE_UNKEYED_STEP);
    bool *out_more = context;
    sql_queue(sql, STORE_UNKEYED_TAKE, &most, 1, take_unkeyed, &list);
    enum ch_status status = sql_flush(sql);
    *out_more = list.size != 0;
    if (status != CH_OK || !*out_more)
        return status;
    struct sql_value values[] = { store_list_end(sql, &list),
                                  sql_number(timestamp_now()) };
    sql_queue(sql, STORE_UNKEYED_PROGRAM, values, 1, NULL, NULL);
    sql_queue(sql, STORE_UNKEYED_COUNT, values, 1, NULL, NULL);
    sql_queue(sql, STORE_UNKEYED_QUEUE, values, 2, NULL, NULL);
    return sql_flush(sql);
}

enum ch_status store_key_again(struct store *store, bool *out_more,
                               char error[STORE_ERROR_SIZE])
{
    struct store_job job = { .what = "key reports again",
                             .alone = true,
                             .work = key_again,
                             .context = out_more };
    int64_t count = 0;
    *out_more = false;
    enum ch_status status =
        store_ask(store, STORE_UNKEYED, NULL, 0, sql_take_number, &count);
    (void)snprintf(error, STORE_ERROR_SIZE, "cannot look for reports to key again");
    return status == CH_OK && count != 0 ? store_transact(store, &job, error) : status;
}
