// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_starts.h"

#include "collector/store/moment.h"
#include "collector/store/store_internal.h"

enum {
    DAY_MS = 86400000,
    BATCH_DAYS = 60, // a spool gives up a batch before
    SESSION_DAYS = 400,
    ROWS = 1000,
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
    const int64_t today = moment_now() / DAY_MS;
    const struct sql_value id[] = { sql_text(batch->project), sql_text(batch->id),
                                    sql_number(today) };
    const struct sql_value row[] = {
        sql_text(batch->project), sql_text(batch->release),  sql_text(batch->host),
        sql_number(batch->day),   sql_number(batch->starts), sql_number(batch->ends)
    };
    const struct sql_value old[] = { sql_number(today - BATCH_DAYS) };
    const struct sql_value old_session[] = { sql_number(today - SESSION_DAYS) };
    adding->new = false;
    sql_queue(sql, STORE_START_BATCH, id, 3, take_new, adding);
    enum ch_status status = sql_flush(sql);
    if (status != CH_OK || !adding->new)
        return status;
    sql_queue(sql, STORE_START_DAY, row, 6, NULL, NULL);
    sql_queue(sql, STORE_START_FORGET, old, 1, NULL, NULL);
    sql_queue(sql, STORE_SESSION_FORGET, old_session, 1, NULL, NULL);
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
                                         .starts = sql_column_number(row, "begun"),
                                         .ends = sql_column_number(row, "ended"),
                                         .crashes = sql_column_number(row, "crashed") };
    listing->visit(listing->context, &out);
}

enum ch_status store_list_starts(struct store *store,
                                 const struct store_starts_wanted *wanted,
                                 store_start_fn *visit, void *context)
{
    struct start_listing listing = { visit, context };
    const struct sql_value values[] = { sql_text(wanted->release),
                                        sql_number(wanted->since_day), sql_number(ROWS),
                                        sql_text(wanted->project) };
    struct sql *reader = store_borrow(store);
    enum ch_status status = sql_query(
        reader,
        "SELECT s.release, s.hostname, CAST(sum(s.begun) AS bigint) AS begun,"
        " CAST(sum(s.ended) AS bigint) AS ended,"
        " CAST(sum(coalesce(c.n, 0)) AS bigint) AS crashed FROM"
        " (SELECT project, release, hostname, sum(begun) AS begun, sum(ended) AS ended"
        " FROM start_days WHERE day >= ?2 GROUP BY project, release, hostname) s"
        " LEFT JOIN (SELECT project, release, hostname, count(*) AS n FROM sessions"
        " WHERE day >= ?2 GROUP BY project, release, hostname) c ON c.project ="
        " s.project AND c.release = s.release AND c.hostname = s.hostname"
        " WHERE (?1 = '' OR s.release = ?1) AND (?4 = '' OR s.project = ?4)"
        " GROUP BY s.release, s.hostname ORDER BY 3 DESC, 1, 2 LIMIT ?3",
        values, 4, list_start, &listing);
    store_return(store, reader);
    return status;
}
