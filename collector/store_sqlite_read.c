// SPDX-License-Identifier: Apache-2.0
#include "collector/store_sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/moment.h"

// A query is a SELECT that grows with what a filter asks for; every value is bound.
struct query {
    struct text sql;
    struct {
        const char *text; // NULL: the number
        int64_t number;
    } values[32];
    int count;
};

enum { STEPS_A_LOOK = 20000 }; // of SQLite's machine, between two looks at the clock

// is_late ends a query when its time, a moment, has come.
static int is_late(void *context)
{
    return moment_now() >= *(const int64_t *)context;
}

// borrow_reader waits for a free connection. Its queries end at *until_ms, which this
// sets and which must outlive them.
static sqlite3 *borrow_reader(struct store_sqlite *store, int64_t *until_ms)
{
    pthread_mutex_lock(&store->lock);
    while (store->idle_count == 0)
        pthread_cond_wait(&store->returned, &store->lock);
    sqlite3 *reader = store->idle[--store->idle_count];
    pthread_mutex_unlock(&store->lock);
    *until_ms = moment_now() + STORE_SQLITE_QUERY_MS;
    sqlite3_progress_handler(reader, STEPS_A_LOOK, is_late, until_ms);
    return reader;
}

static void return_reader(struct store_sqlite *store, sqlite3 *reader)
{
    sqlite3_progress_handler(reader, 0, NULL, NULL);
    pthread_mutex_lock(&store->lock);
    store->idle[store->idle_count++] = reader;
    pthread_cond_signal(&store->returned);
    pthread_mutex_unlock(&store->lock);
}

static void add_sql(struct query *query, const char *sql)
{
    text_append_string(&query->sql, sql);
}

static void add_text(struct query *query, const char *sql, const char *value)
{
    add_sql(query, sql);
    query->values[query->count++].text = value;
}

static void add_number(struct query *query, const char *sql, int64_t value)
{
    add_sql(query, sql);
    query->values[query->count++].number = value;
}

static void query_deinit(struct query *query)
{
    text_deinit(&query->sql);
}

// narrow adds what a filter asks of a report r.
static void narrow(struct query *query, const struct store_filter *filter)
{
    if (filter->release != NULL)
        add_text(query, " AND r.release = ?", filter->release);
    if (filter->environment != NULL)
        add_text(query, " AND r.environment = ?", filter->environment);
    if (filter->signal_name != NULL)
        add_text(query, " AND r.signal_name = ?", filter->signal_name);
    if (filter->signal != 0)
        add_number(query, " AND r.signal = ?", filter->signal);
    if (filter->since_ms != 0)
        add_number(query, " AND r.time >= ?", filter->since_ms);
    if (filter->until_ms != 0)
        add_number(query, " AND r.time < ?", filter->until_ms);
    for (size_t i = 0; i < filter->tag_count; i++) {
        add_text(query,
                 " AND EXISTS(SELECT 1 FROM tags t WHERE t.report = r.number"
                 " AND t.key = ?",
                 filter->tags[i].key);
        add_text(query, " AND t.value = ?)", filter->tags[i].value);
    }
    if (filter->query != NULL)
        add_text(query,
                 " AND instr(lower(r.title || char(10) || r.summary || char(10) ||"
                 " r.executable || char(10) || r.release || char(10) || r.hostname),"
                 " lower(?)) > 0",
                 filter->query);
}

// asks_of_reports says whether only reports can tell if a group passes.
static bool asks_of_reports(const struct store_filter *filter)
{
    return filter->environment != NULL || filter->signal_name != NULL ||
           filter->signal != 0 || filter->since_ms != 0 || filter->until_ms != 0 ||
           filter->tag_count != 0 || filter->query != NULL;
}

// add_cursor goes on behind the row a cursor names: `time.number`, as write_cursor
// wrote it. sql has two holes.
static enum ch_status add_cursor(struct query *query, const char *sql,
                                 const char *cursor)
{
    static const char digits[] = "0123456789";
    if (cursor == NULL)
        return CH_OK;
    size_t first = strspn(cursor, digits);
    size_t second = cursor[first] == '.' ? strspn(cursor + first + 1, digits) : 0;
    if (first == 0 || first > 18 || second == 0 || second > 18 ||
        cursor[first + 1 + second] != 0)
        return CH_ERR_MALFORMED;
    int64_t time_ms = strtoll(cursor, NULL, 10);
    int64_t number = strtoll(cursor + first + 1, NULL, 10);
    add_number(query, sql, time_ms);
    add_number(query, "", number);
    return CH_OK;
}

static void write_cursor(char next[STORE_CURSOR_SIZE], int64_t time_ms, int64_t number)
{
    snprintf(next, STORE_CURSOR_SIZE, "%lld.%lld", (long long)time_ms,
             (long long)number);
}

static sqlite3_stmt *prepare(sqlite3 *reader, const struct query *query)
{
    sqlite3_stmt *statement = NULL;
    if (!text_ok(&query->sql) ||
        sqlite3_prepare_v2(reader, query->sql.bytes, (int)query->sql.size, &statement,
                           NULL) != SQLITE_OK)
        return NULL;
    for (int i = 0; i < query->count; i++) {
        if (query->values[i].text != NULL)
            sqlite3_bind_text(statement, i + 1, query->values[i].text, -1,
                              SQLITE_STATIC);
        else
            sqlite3_bind_int64(statement, i + 1, query->values[i].number);
    }
    return statement;
}

// finished is the status of a statement that has given its last row.
static enum ch_status finished(int result)
{
    if (result == SQLITE_DONE)
        return CH_OK;
    return result == SQLITE_INTERRUPT ? CH_ERR_LIMIT : CH_ERR_IO;
}

static const char *column_text(sqlite3_stmt *row, int column)
{
    const unsigned char *text = sqlite3_column_text(row, column);
    return text != NULL ? (const char *)text : "";
}

#define REPORT_COLUMNS                                                                 \
    "r.id, g.fingerprint, r.title, r.summary, r.signal_name, r.release,"               \
    " r.environment, r.executable, r.hostname, r.signal, r.revision, r.time,"          \
    " r.received, r.number"
enum { REPORT_TIME = 11, REPORT_NUMBER = 13, REPORT_COLUMN_COUNT = 14 };

static struct store_report read_report(sqlite3_stmt *row)
{
    return (struct store_report){
        .id = column_text(row, 0),
        .group = column_text(row, 1),
        .title = column_text(row, 2),
        .summary = column_text(row, 3),
        .signal_name = column_text(row, 4),
        .release = column_text(row, 5),
        .environment = column_text(row, 6),
        .executable = column_text(row, 7),
        .hostname = column_text(row, 8),
        .signal = sqlite3_column_int64(row, 9),
        .revision = sqlite3_column_int64(row, 10),
        .time_ms = sqlite3_column_int64(row, REPORT_TIME),
        .received_ms = sqlite3_column_int64(row, 12),
    };
}

static enum ch_status list_reports(sqlite3_stmt *row, size_t limit,
                                   store_report_fn *visit, void *context,
                                   char next[STORE_CURSOR_SIZE])
{
    int result = SQLITE_ROW;
    int64_t time_ms = 0;
    int64_t number = 0;
    for (size_t i = 0; (result = sqlite3_step(row)) == SQLITE_ROW; i++) {
        if (i == limit) {
            write_cursor(next, time_ms, number);
            return CH_OK;
        }
        struct store_report report = read_report(row);
        time_ms = report.time_ms;
        number = sqlite3_column_int64(row, REPORT_NUMBER);
        visit(context, &report);
    }
    return finished(result);
}

enum ch_status store_sqlite_list_reports(struct store *base,
                                         const struct store_filter *filter,
                                         store_report_fn *visit, void *context,
                                         char next[STORE_CURSOR_SIZE])
{
    CH_CLEANUP(query_deinit) struct query query = { 0 };
    add_sql(&query, "SELECT " REPORT_COLUMNS
                    " FROM reports r JOIN groups g ON g.number = r.group_number"
                    " WHERE 1");
    if (filter->group != NULL)
        add_text(&query,
                 " AND r.group_number = (SELECT number FROM groups WHERE"
                 " fingerprint = ?)",
                 filter->group);
    narrow(&query, filter);
    enum ch_status status =
        add_cursor(&query, " AND (r.time, r.number) < (?, ?)", filter->cursor);
    if (status != CH_OK)
        return status;
    add_number(&query, " ORDER BY r.time DESC, r.number DESC LIMIT ?",
               (int64_t)filter->limit + 1);

    struct store_sqlite *store = (struct store_sqlite *)base;
    int64_t until_ms = 0;
    sqlite3 *reader = borrow_reader(store, &until_ms);
    sqlite3_stmt *rows = prepare(reader, &query);
    next[0] = 0;
    status = rows != NULL ? list_reports(rows, filter->limit, visit, context, next)
                          : CH_ERR_IO;
    sqlite3_finalize(rows);
    return_reader(store, reader);
    return status;
}

#define GROUP_COLUMNS                                                                  \
    "g.fingerprint, g.title, g.summary, g.status, g.signal, g.count, g.first_seen,"    \
    " g.last_seen, g.number"
enum { GROUP_LAST_SEEN = 7, GROUP_NUMBER = 8 };

// A visit_group needs two more statements beside the rows it comes from.
struct group_reader {
    sqlite3_stmt *releases;
    sqlite3_stmt *days;
};

static bool group_reader_init(struct group_reader *out, sqlite3 *reader)
{
    *out = (struct group_reader){ 0 };
    return sqlite3_prepare_v2(reader,
                              "SELECT release, count FROM group_releases WHERE"
                              " group_number = ?1 AND count > 0"
                              " ORDER BY last_seen DESC, release DESC LIMIT ?2",
                              -1, &out->releases, NULL) == SQLITE_OK &&
           sqlite3_prepare_v2(reader,
                              "SELECT day, count FROM group_days WHERE"
                              " group_number = ?1 AND day > ?2 AND day <= ?3",
                              -1, &out->days, NULL) == SQLITE_OK;
}

static void group_reader_deinit(struct group_reader *reader)
{
    sqlite3_finalize(reader->releases);
    sqlite3_finalize(reader->days);
}

static void read_trend(sqlite3_stmt *days, int64_t number, struct store_group *out)
{
    out->trend_day = moment_now() / MOMENT_DAY_MS;
    sqlite3_bind_int64(days, 1, number);
    sqlite3_bind_int64(days, 2, out->trend_day - STORE_TREND_DAYS);
    sqlite3_bind_int64(days, 3, out->trend_day);
    while (sqlite3_step(days) == SQLITE_ROW) {
        int64_t back = out->trend_day - sqlite3_column_int64(days, 0);
        if (back >= 0 && back < STORE_TREND_DAYS)
            out->trend[STORE_TREND_DAYS - 1 - back] = sqlite3_column_int64(days, 1);
    }
    sqlite3_reset(days);
}

// visit_group reads releases while their statement stands on them, so it copies.
static void visit_group(sqlite3_stmt *row, struct group_reader *reader,
                        store_group_fn *visit, void *context)
{
    char releases[STORE_RELEASES][sizeof(((struct entry *)NULL)->release)];
    struct store_group group = {
        .id = column_text(row, 0),
        .title = column_text(row, 1),
        .summary = column_text(row, 2),
        .status = column_text(row, 3),
        .signal = sqlite3_column_int64(row, 4),
        .count = sqlite3_column_int64(row, 5),
        .first_seen_ms = sqlite3_column_int64(row, 6),
        .last_seen_ms = sqlite3_column_int64(row, GROUP_LAST_SEEN),
    };
    int64_t number = sqlite3_column_int64(row, GROUP_NUMBER);
    sqlite3_bind_int64(reader->releases, 1, number);
    sqlite3_bind_int64(reader->releases, 2, STORE_RELEASES);
    while (group.release_count < STORE_RELEASES &&
           sqlite3_step(reader->releases) == SQLITE_ROW) {
        size_t i = group.release_count++;
        entry_copy(releases[i], sizeof(releases[i]), column_text(reader->releases, 0));
        group.releases[i] = releases[i];
        group.release_counts[i] = sqlite3_column_int64(reader->releases, 1);
    }
    sqlite3_reset(reader->releases);
    read_trend(reader->days, number, &group);
    visit(context, &group);
}

static enum ch_status list_groups(sqlite3_stmt *row, struct group_reader *reader,
                                  size_t limit, store_group_fn *visit, void *context,
                                  char next[STORE_CURSOR_SIZE])
{
    int result = SQLITE_ROW;
    int64_t last_seen_ms = 0;
    int64_t number = 0;
    for (size_t i = 0; (result = sqlite3_step(row)) == SQLITE_ROW; i++) {
        if (i == limit) {
            write_cursor(next, last_seen_ms, number);
            return CH_OK;
        }
        last_seen_ms = sqlite3_column_int64(row, GROUP_LAST_SEEN);
        number = sqlite3_column_int64(row, GROUP_NUMBER);
        visit_group(row, reader, visit, context);
    }
    return finished(result);
}

// run_group_query hands out the groups that a query selects, at most limit.
static enum ch_status run_group_query(struct store_sqlite *store,
                                      const struct query *query, size_t limit,
                                      store_group_fn *visit, void *context,
                                      char next[STORE_CURSOR_SIZE])
{
    int64_t until_ms = 0;
    sqlite3 *reader = borrow_reader(store, &until_ms);
    struct group_reader group_reader;
    bool ready = group_reader_init(&group_reader, reader);
    sqlite3_stmt *rows = prepare(reader, query);
    next[0] = 0;
    enum ch_status status = CH_ERR_IO;
    if (ready && rows != NULL)
        status = list_groups(rows, &group_reader, limit, visit, context, next);
    sqlite3_finalize(rows);
    group_reader_deinit(&group_reader);
    return_reader(store, reader);
    return status;
}

enum ch_status store_sqlite_list_groups(struct store *base,
                                        const struct store_filter *filter,
                                        store_group_fn *visit, void *context,
                                        char next[STORE_CURSOR_SIZE])
{
    CH_CLEANUP(query_deinit) struct query query = { 0 };
    add_sql(&query, "SELECT " GROUP_COLUMNS " FROM groups g WHERE 1");
    if (filter->group != NULL)
        add_text(&query, " AND g.fingerprint = ?", filter->group);
    // Every such group holds a report of that release: far fewer are looked into.
    if (filter->release != NULL)
        add_text(&query,
                 " AND EXISTS(SELECT 1 FROM group_releases s WHERE"
                 " s.group_number = g.number AND s.release = ? AND s.count > 0)",
                 filter->release);
    if (asks_of_reports(filter)) {
        add_sql(&query,
                " AND EXISTS(SELECT 1 FROM reports r WHERE r.group_number = g.number");
        narrow(&query, filter);
        add_sql(&query, ")");
    }
    enum ch_status status =
        add_cursor(&query, " AND (g.last_seen, g.number) < (?, ?)", filter->cursor);
    if (status != CH_OK)
        return status;
    add_number(&query, " ORDER BY g.last_seen DESC, g.number DESC LIMIT ?",
               (int64_t)filter->limit + 1);
    return run_group_query((struct store_sqlite *)base, &query, filter->limit, visit,
                           context, next);
}

// found remembers that a visitor was called.
struct found {
    store_group_fn *visit;
    void *context;
    bool any;
};

static void visit_found(void *context, const struct store_group *group)
{
    struct found *found = context;
    found->any = true;
    found->visit(found->context, group);
}

enum ch_status store_sqlite_find_group(struct store *base, const char *id,
                                       store_group_fn *visit, void *context)
{
    CH_CLEANUP(query_deinit) struct query query = { 0 };
    struct found found = { .visit = visit, .context = context };
    char next[STORE_CURSOR_SIZE];
    add_text(&query, "SELECT " GROUP_COLUMNS " FROM groups g WHERE g.fingerprint = ?",
             id);
    enum ch_status status = run_group_query((struct store_sqlite *)base, &query, 1,
                                            visit_found, &found, next);
    return status == CH_OK && !found.any ? CH_ERR_NOT_FOUND : status;
}

enum ch_status store_sqlite_find_report(struct store *base, const char *id,
                                        store_body_fn *visit, void *context)
{
    CH_CLEANUP(query_deinit) struct query query = { 0 };
    add_text(&query,
             "SELECT " REPORT_COLUMNS ", b.encoding, b.bytes FROM reports r"
             " JOIN groups g ON g.number = r.group_number"
             " JOIN bodies b ON b.report = r.number WHERE r.id = ?",
             id);
    struct store_sqlite *store = (struct store_sqlite *)base;
    int64_t until_ms = 0;
    sqlite3 *reader = borrow_reader(store, &until_ms);
    sqlite3_stmt *row = prepare(reader, &query);
    enum ch_status status = CH_ERR_IO;
    int result = row != NULL ? sqlite3_step(row) : SQLITE_ERROR;
    if (result == SQLITE_ROW) {
        struct store_report report = read_report(row);
        struct store_body body = {
            .bytes = sqlite3_column_blob(row, REPORT_COLUMN_COUNT + 1),
            .size = (size_t)sqlite3_column_bytes(row, REPORT_COLUMN_COUNT + 1),
            .encoding =
                (enum decode_encoding)sqlite3_column_int(row, REPORT_COLUMN_COUNT),
        };
        visit(context, &report, &body);
        status = CH_OK;
    } else if (result == SQLITE_DONE) {
        status = CH_ERR_NOT_FOUND;
    }
    sqlite3_finalize(row);
    return_reader(store, reader);
    return status;
}

enum ch_status store_sqlite_count(struct store *base, struct store_totals *out)
{
    struct store_sqlite *store = (struct store_sqlite *)base;
    CH_CLEANUP(query_deinit) struct query query = { 0 };
    add_sql(&query, "SELECT (SELECT coalesce(sum(count), 0) FROM groups),"
                    " (SELECT count(*) FROM groups)");
    int64_t until_ms = 0;
    sqlite3 *reader = borrow_reader(store, &until_ms);
    sqlite3_stmt *row = prepare(reader, &query);
    enum ch_status status = CH_ERR_IO;
    if (row != NULL && sqlite3_step(row) == SQLITE_ROW) {
        *out = (struct store_totals){ .reports = sqlite3_column_int64(row, 0),
                                      .groups = sqlite3_column_int64(row, 1) };
        status = CH_OK;
    }
    sqlite3_finalize(row);
    return_reader(store, reader);
    return status;
}
