// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "collector/store/moment.h"
#include "collector/store/store_query.h"

#define REPORT_COLUMNS                                                                 \
    "r.id, g.fingerprint, r.title, r.summary, r.signal_name, r.release,"               \
    " r.environment, r.executable, r.hostname, r.signal, r.revision, r.time,"          \
    " r.received, r.number, r.fingerprint"
#define FIND_BODY(condition)                                                           \
    "SELECT " REPORT_COLUMNS ", b.encoding, b.bytes FROM reports r"                    \
    " JOIN groups g ON g.number = r.group_number"                                      \
    " JOIN bodies b ON b.report = r.number" condition " WHERE r.id = ?1"
enum { REPORT_NUMBER = 13, REPORT_COLUMN_COUNT = 15 };

#define GROUP_COLUMNS                                                                  \
    "g.fingerprint, g.title, g.summary, g.status, g.signal, g.count, g.first_seen,"    \
    " g.last_seen, g.number, g.kept, g.status_release, g.status_time, g.note,"         \
    " g.assignee"
enum { GROUP_NUMBER = 8 };

// listing passes on at most limit rows; one row more says that there is another page.
struct listing {
    struct sql *sql;
    store_report_fn *visit_report;
    store_group_fn *visit_group;
    void *context;
    size_t limit;
    size_t count;
    int64_t last_ms;
    int64_t last_number;
    char *next;
};

// takes_row says whether a row is to be passed on; for the first row that is not, it
// writes the cursor.
static bool takes_row(struct listing *listing)
{
    if (listing->count++ < listing->limit)
        return true;
    snprintf(listing->next, STORE_CURSOR_SIZE, "%lld.%lld", (long long)listing->last_ms,
             (long long)listing->last_number);
    return false;
}

static struct store_report read_stored_report(const struct sql_row *row)
{
    return (struct store_report){
        .id = sql_row_text(row, 0),
        .group = sql_row_text(row, 1),
        .title = sql_row_text(row, 2),
        .summary = sql_row_text(row, 3),
        .signal_name = sql_row_text(row, 4),
        .release = sql_row_text(row, 5),
        .environment = sql_row_text(row, 6),
        .executable = sql_row_text(row, 7),
        .hostname = sql_row_text(row, 8),
        .signal = sql_row_number(row, 9),
        .revision = sql_row_number(row, 10),
        .time_ms = sql_row_number(row, 11),
        .received_ms = sql_row_number(row, 12),
        .fingerprint = sql_row_text(row, 14),
    };
}

static void list_report(void *context, const struct sql_row *row)
{
    struct listing *listing = context;
    if (!takes_row(listing))
        return;
    struct store_report report = read_stored_report(row);
    listing->last_ms = report.time_ms;
    listing->last_number = sql_row_number(row, REPORT_NUMBER);
    listing->visit_report(listing->context, &report);
}

enum ch_status store_list_reports(struct store *store,
                                  const struct store_filter *filter,
                                  store_report_fn *visit, void *context,
                                  char next[STORE_CURSOR_SIZE])
{
    CH_CLEANUP(store_query_deinit)
    struct store_query query = { .dialect = store->writer->dialect };
    store_query_add(&query, "SELECT " REPORT_COLUMNS " FROM reports r"
                            " JOIN groups g ON g.number = r.group_number WHERE 1 = 1");
    store_query_narrow_reports(&query, filter);
    enum ch_status status =
        store_query_add_cursor(&query, "r.time, r.number", filter->cursor);
    if (status != CH_OK)
        return status;
    store_query_add_number(&query, " ORDER BY r.time DESC, r.number DESC LIMIT ?",
                           (int64_t)filter->limit + 1);
    next[0] = 0;
    struct listing listing = {
        .visit_report = visit, .context = context, .limit = filter->limit, .next = next
    };
    struct sql *reader = store_borrow(store);
    status = store_query_run(&query, reader, list_report, &listing);
    store_return(store, reader);
    return status;
}

// gathered holds a group's rows of other tables.
struct gathered {
    struct store_group group;
    char releases[STORE_RELEASES][sizeof(((struct entry *)NULL)->release)];
};

static void take_release(void *context, const struct sql_row *row)
{
    struct gathered *gathered = context;
    struct store_group *group = &gathered->group;
    size_t i = group->release_count;
    if (i == STORE_RELEASES)
        return;
    entry_copy(gathered->releases[i], sizeof(gathered->releases[i]),
               sql_row_text(row, 0));
    group->releases[i] = gathered->releases[i];
    group->release_counts[i] = sql_row_number(row, 1);
    group->release_count++;
}

static void take_day(void *context, const struct sql_row *row)
{
    struct store_group *group = context;
    int64_t back = group->trend_day - sql_row_number(row, 0);
    if (back >= 0 && back < STORE_TREND_DAYS)
        group->trend[STORE_TREND_DAYS - 1 - back] = sql_row_number(row, 1);
}

static enum ch_status gather(struct sql *sql, int64_t number, struct gathered *out)
{
    out->group.trend_day = moment_now() / MOMENT_DAY_MS;
    struct sql_value values[] = { sql_number(number), sql_number(STORE_RELEASES) };
    enum ch_status status = sql_query(sql,
                                      "SELECT value, count FROM facets WHERE"
                                      " group_number = ?1 AND kind = 5"
                                      " ORDER BY last_seen DESC, value DESC LIMIT ?2",
                                      values, 2, take_release, out);
    if (status != CH_OK)
        return status;
    struct sql_value id = sql_text(out->group.id);
    status = sql_query(sql,
                       "SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM held_back"
                       " WHERE fingerprint = ?1 OR fingerprint IN (SELECT fingerprint"
                       " FROM merged WHERE target = ?1)",
                       &id, 1, sql_take_number, &out->group.held_back);
    if (status != CH_OK)
        return status;
    values[1] = sql_number(out->group.trend_day - STORE_TREND_DAYS);
    return sql_query(sql,
                     "SELECT day, count FROM group_days WHERE group_number = ?1"
                     " AND day > ?2",
                     values, 2, take_day, &out->group);
}

static void list_group(void *context, const struct sql_row *row)
{
    struct listing *listing = context;
    if (!takes_row(listing))
        return;
    struct gathered gathered = { .group = {
                                     .id = sql_row_text(row, 0),
                                     .title = sql_row_text(row, 1),
                                     .summary = sql_row_text(row, 2),
                                     .status = sql_row_text(row, 3),
                                     .signal = sql_row_number(row, 4),
                                     .count = sql_row_number(row, 5),
                                     .first_seen_ms = sql_row_number(row, 6),
                                     .last_seen_ms = sql_row_number(row, 7),
                                     .kept = sql_row_number(row, 9),
                                     .status_release = sql_row_text(row, 10),
                                     .status_time_ms = sql_row_number(row, 11),
                                     .note = sql_row_text(row, 12),
                                     .assignee = sql_row_text(row, 13),
                                 } };
    listing->last_ms = gathered.group.last_seen_ms;
    listing->last_number = sql_row_number(row, GROUP_NUMBER);
    // A group without its trend is better than no group.
    enum ch_status status = gather(listing->sql, listing->last_number, &gathered);
    (void)status;
    listing->visit_group(listing->context, &gathered.group);
}

static enum ch_status run_group_query(struct store *store,
                                      const struct store_query *query,
                                      struct listing *listing)
{
    struct sql *reader = store_borrow(store);
    listing->sql = reader;
    listing->next[0] = 0;
    enum ch_status status = store_query_run(query, reader, list_group, listing);
    store_return(store, reader);
    return status;
}

enum ch_status store_list_groups(struct store *store, const struct store_filter *filter,
                                 store_group_fn *visit, void *context,
                                 char next[STORE_CURSOR_SIZE])
{
    CH_CLEANUP(store_query_deinit)
    struct store_query query = { .dialect = store->writer->dialect };
    store_query_add(&query,
                    "SELECT " GROUP_COLUMNS " FROM groups g WHERE g.number"
                    " NOT IN (SELECT source FROM moves WHERE fingerprint = '')");
    store_query_narrow_groups(&query, filter);
    enum ch_status status =
        store_query_add_cursor(&query, "g.last_seen, g.number", filter->cursor);
    if (status != CH_OK)
        return status;
    store_query_add_number(&query, " ORDER BY g.last_seen DESC, g.number DESC LIMIT ?",
                           (int64_t)filter->limit + 1);
    struct listing listing = {
        .visit_group = visit, .context = context, .limit = filter->limit, .next = next
    };
    return run_group_query(store, &query, &listing);
}

enum ch_status store_find_group(struct store *store, const char *id,
                                store_group_fn *visit, void *context)
{
    CH_CLEANUP(store_query_deinit)
    struct store_query query = { .dialect = store->writer->dialect };
    struct store_filter filter = { .group = id };
    char next[STORE_CURSOR_SIZE];
    store_query_add(&query, "SELECT " GROUP_COLUMNS " FROM groups g WHERE 1 = 1");
    store_query_narrow_groups(&query, &filter);
    struct listing listing = {
        .visit_group = visit, .context = context, .limit = 1, .next = next
    };
    enum ch_status status = run_group_query(store, &query, &listing);
    return status == CH_OK && listing.count == 0 ? CH_ERR_NOT_FOUND : status;
}

struct finding {
    store_body_fn *visit;
    void *context;
    bool found;
};

static void find_body(void *context, const struct sql_row *row)
{
    struct finding *finding = context;
    struct store_report report = read_stored_report(row);
    struct store_body body = {
        .encoding = (enum decode_encoding)sql_row_number(row, REPORT_COLUMN_COUNT),
    };
    body.bytes = sql_row_bytes(row, REPORT_COLUMN_COUNT + 1, &body.size);
    finding->found = true;
    finding->visit(finding->context, &report, &body);
}

enum ch_status store_find_report(struct store *store, const char *id,
                                 store_body_fn *visit, void *context)
{
    struct finding finding = { .visit = visit, .context = context };
    struct sql_value value = sql_text(id);
    struct sql *reader = store_borrow(store);
    // With the time of receipt PostgreSQL reads one partition and not all of them.
    const char *text = reader->dialect == SQL_POSTGRES
                           ? FIND_BODY(" AND b.received = r.received")
                           : FIND_BODY("");
    enum ch_status status = sql_query(reader, text, &value, 1, find_body, &finding);
    store_return(store, reader);
    return status == CH_OK && !finding.found ? CH_ERR_NOT_FOUND : status;
}

struct merged_listing {
    store_merged_fn *visit;
    void *context;
};

static void list_merged(void *context, const struct sql_row *row)
{
    struct merged_listing *listing = context;
    struct store_merged merged = { .fingerprint = sql_row_text(row, 0),
                                   .kept = sql_row_number(row, 1) };
    listing->visit(listing->context, &merged);
}

enum ch_status store_list_merged(struct store *store, const char *id,
                                 store_merged_fn *visit, void *context)
{
    struct merged_listing listing = { .visit = visit, .context = context };
    struct sql_value value = sql_text(id);
    struct sql *reader = store_borrow(store);
    enum ch_status status = sql_query(
        reader,
        "SELECT m.fingerprint, (SELECT count(*) FROM reports r WHERE r.group_number ="
        " (SELECT number FROM groups WHERE fingerprint = ?1)"
        " AND r.fingerprint = m.fingerprint)"
        " FROM merged m WHERE m.target = ?1 ORDER BY m.fingerprint LIMIT 100",
        &value, 1, list_merged, &listing);
    store_return(store, reader);
    return status;
}

static void take_totals(void *context, const struct sql_row *row)
{
    *(struct store_totals *)context =
        (struct store_totals){ .reports = sql_row_number(row, 0),
                               .groups = sql_row_number(row, 1) };
}

enum ch_status store_count(struct store *store, struct store_totals *out)
{
    struct sql *reader = store_borrow(store);
    enum ch_status status = sql_query(
        reader, "SELECT CAST(coalesce(sum(kept), 0) AS bigint), count(*) FROM groups",
        NULL, 0, take_totals, out);
    store_return(store, reader);
    return status;
}
