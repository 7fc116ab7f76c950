// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_starts.h"

#include "collector/database/timestamp.h"
#include "collector/store/store_internal.h"

enum {
    DAY_MS = 86400000,
    BATCH_DAYS = 60, // a spool gives up a batch before
    SESSION_DAYS = 400,
    ROWS = 1000,
    FORGOTTEN_AT_ONCE = 256,
};

struct adding_starts {
    const struct store_start_batch *batch;
    bool new;
};

static void take_new(void *context, const struct sql_row *row)
{
    struct adding_starts *adding = context;
    (void)row;
    adding->new = true;
}

static enum ch_status add_starts(struct sql *sql, void *context)
{
    struct adding_starts *adding = context;
    const struct store_start_batch *batch = adding->batch;
    const struct sql_value id[] = { sql_text(batch->project), sql_text(batch->id),
                                    sql_number(timestamp_now() / DAY_MS) };
    const struct sql_value row[] = {
        sql_text(batch->project), sql_text(batch->release),  sql_text(batch->host),
        sql_number(batch->day),   sql_number(batch->starts), sql_number(batch->ends)
    };
    adding->new = false;
    sql_queue(sql, STORE_START_BATCH, id, 3, take_new, adding);
    enum ch_status status = sql_flush(sql);
    if (status != CH_OK || !adding->new)
        return status;
    sql_queue(sql, STORE_START_DAY, row, 6, NULL, NULL);
    return sql_flush(sql);
}

enum ch_status store_add_starts(struct store *store,
                                const struct store_start_batch *batch, bool *out_new,
                                char error[STORE_ERROR_SIZE])
{
    struct adding_starts adding = { .batch = batch };
    struct store_job job = {
        .what = "count starts", .alone = true, .work = add_starts, .context = &adding
    };
    enum ch_status status = store_transact(store, &job, error);
    if (status == CH_OK)
        *out_new = adding.new;
    return status;
}

struct start_listing {
    store_start_fn *visit;
    void *context;
};

static void list_start(void *context, const struct sql_row *row)
{
    const struct start_listing *listing = context;
    const struct store_start_row out = { .release = sql_column_text(row, "release"),
                                         .host = sql_column_text(row, "hostname"),
                                         .day = sql_column_number(row, "day"),
                                         .starts = sql_column_number(row, "begun"),
                                         .ends = sql_column_number(row, "ended"),
                                         .crashes = sql_column_number(row, "crashed") };
    listing->visit(listing->context, &out);
}

// run_listing runs a statement of a project, a day, a limit and, if not NULL, a
// release.
static enum ch_status run_listing(struct store *store, enum store_statement statement,
                                  const char *project, const char *release,
                                  struct start_listing *listing)
{
    const struct sql_value values[] = {
        sql_text(project), sql_number(timestamp_now() / DAY_MS - STORE_START_DAYS),
        sql_number(ROWS), sql_text(release != NULL ? release : "")
    };
    return store_ask(store, statement, values, release != NULL ? 4 : 3, list_start,
                     listing);
}

enum ch_status store_list_starts(struct store *store, const char *project,
                                 const char *release, store_start_fn *visit,
                                 void *context)
{
    struct start_listing listing = { visit, context };
    enum store_statement statement =
        release != NULL ? STORE_LIST_STARTS_OF : STORE_LIST_STARTS;
    return run_listing(store, statement, project, release, &listing);
}

enum ch_status store_list_release_starts(struct store *store, const char *project,
                                         store_start_fn *visit, void *context)
{
    struct start_listing listing = { visit, context };
    return run_listing(store, STORE_LIST_RELEASE_STARTS, project, NULL, &listing);
}

enum ch_status store_list_start_days(struct store *store, const char *project,
                                     const char *release, store_start_fn *visit,
                                     void *context)
{
    struct start_listing listing = { visit, context };
    return run_listing(store, STORE_LIST_START_DAYS, project, release, &listing);
}

static enum ch_status forget_starts(struct sql *sql, void *context)
{
    static const struct {
        enum store_statement statement;
        int days;
    } forgotten[] = { { STORE_START_DAYS_FORGET, STORE_START_DAYS },
                      { STORE_START_SUMS_FORGET, STORE_START_DAYS },
                      { STORE_START_FORGET, BATCH_DAYS },
                      { STORE_SESSION_FORGET, SESSION_DAYS } };
    int64_t *count = context;
    const int64_t today = timestamp_now() / DAY_MS;
    *count = 0;
    for (size_t i = 0; i < sizeof(forgotten) / sizeof(forgotten[0]); i++) {
        const struct sql_value old[] = { sql_number(today - forgotten[i].days),
                                         sql_number(FORGOTTEN_AT_ONCE) };
        sql_queue(sql, forgotten[i].statement, old, 2, sql_count_row, count);
    }
    return sql_flush(sql);
}

enum ch_status store_forget_starts(struct store *store, bool *out_more,
                                   char error[STORE_ERROR_SIZE])
{
    int64_t count = 0;
    struct store_job job = { .what = "forget counted starts",
                             .alone = true,
                             .work = forget_starts,
                             .context = &count };
    enum ch_status status = store_transact(store, &job, error);
    if (status == CH_OK)
        *out_more = count != 0;
    return status;
}
