// SPDX-License-Identifier: Apache-2.0
//
// In PostgreSQL bodies are in one partition per week, so that disk space is freed when
// a week's reports are gone. Whoever makes or drops a partition holds LAYOUT_LOCK, so
// that collectors do not interfere with each other.
#include <stdio.h>

#include "collector/store/store_internal.h"

enum { DROPPED_AT_ONCE = 16, NAME_SIZE = 32, SCRIPT_SIZE = 512 };

#define LAYOUT_LOCK "SELECT pg_advisory_xact_lock(7157312091);"
// make_week makes a week's partition unless it exists. The table is created first and
// then attached: CREATE TABLE ... PARTITION OF would lock out readers and writers of
// all others.
static enum ch_status make_week(struct sql *sql, int64_t week)
{
    char name[NAME_SIZE];
    char script[SCRIPT_SIZE];
    int64_t there = 0;
    snprintf(name, sizeof(name), "bodies_%lld", (long long)week);
    struct sql_value value = sql_text(name);
    enum ch_status status =
        sql_ask(sql, STORE_WEEK_THERE, &value, 1, sql_take_number, &there);
    if (status != CH_OK || there != 0)
        return status;
    snprintf(script, sizeof(script),
             "CREATE TABLE %s (LIKE bodies INCLUDING ALL);"
             "ALTER TABLE bodies ATTACH PARTITION %s FOR VALUES FROM (%lld) TO (%lld)",
             name, name, (long long)week * STORE_WEEK_MS,
             (long long)(week + 1) * STORE_WEEK_MS);
    return sql_script(sql, script);
}

enum ch_status store_make_week(struct store *store, int64_t received_ms)
{
    struct sql *sql = store->writer;
    int64_t week = received_ms / STORE_WEEK_MS;
    if (sql->dialect != SQL_POSTGRES || store->ready_week == week)
        return CH_OK;
    enum ch_status status = sql_script(sql, "BEGIN;" LAYOUT_LOCK);
    if (status == CH_OK)
        status = make_week(sql, week);
    if (status == CH_OK) // so that no upload waits for it when its week begins
        status = make_week(sql, week + 1);
    if (status == CH_OK)
        status = sql_script(sql, "COMMIT");
    if (status == CH_OK)
        store->ready_week = week;
    return status;
}

struct weeks {
    int64_t weeks[DROPPED_AT_ONCE];
    size_t count;
};

static void take_week(void *context, const struct sql_row *row)
{
    struct weeks *weeks = context;
    if (weeks->count < DROPPED_AT_ONCE)
        weeks->weeks[weeks->count++] = sql_column_number(row, "week");
}

static enum ch_status find_week_left(struct sql *sql, int64_t week, int64_t *out)
{
    const struct sql_value values[] = { sql_number(week * STORE_WEEK_MS),
                                        sql_number((week + 1) * STORE_WEEK_MS) };
    return sql_ask(sql, STORE_WEEK_LEFT, values, 2, sql_take_number, out);
}

// drop_week drops a week's partition, with what is in it, if no report is left of that
// week, which is checked again after everybody else is locked out.
static enum ch_status drop_week(struct sql *sql, int64_t week, size_t *dropped)
{
    char script[SCRIPT_SIZE];
    int64_t left = 0;
    enum ch_status status = find_week_left(sql, week, &left);
    if (status != CH_OK || left != 0)
        return status;
    status = sql_script(sql, "LOCK TABLE ONLY bodies IN ACCESS EXCLUSIVE MODE");
    if (status == CH_OK)
        status = find_week_left(sql, week, &left);
    if (status != CH_OK || left != 0)
        return status;
    snprintf(script, sizeof(script), "DROP TABLE bodies_%lld", (long long)week);
    ++*dropped;
    return sql_script(sql, script);
}

// drop_empty drops all empty partitions in one transaction. It waits only briefly for a
// lock: transactions that come later would queue after it.
static enum ch_status drop_empty(struct sql *sql, int64_t first_kept, size_t *dropped)
{
    struct weeks weeks = { 0 };
    struct sql_value value = sql_number(first_kept);
    enum ch_status status =
        sql_script(sql, "BEGIN; SET LOCAL lock_timeout = 100;" LAYOUT_LOCK);
    if (status == CH_OK)
        status = sql_ask(sql, STORE_WEEKS_BEFORE, &value, 1, take_week, &weeks);
    for (size_t i = 0; i < weeks.count && status == CH_OK; i++)
        status = drop_week(sql, weeks.weeks[i], dropped);
    return status == CH_OK ? sql_script(sql, "COMMIT") : status;
}

enum ch_status store_drop_weeks(struct store *store, int64_t now_ms,
                                size_t *out_dropped, char error[STORE_ERROR_SIZE])
{
    struct sql *sql = store->writer;
    enum ch_status status = CH_OK;
    size_t dropped = 0;
    if (sql->dialect == SQL_POSTGRES) {
        pthread_mutex_lock(&store->writing);
        status = drop_empty(sql, now_ms / STORE_WEEK_MS - STORE_KEPT_WEEKS, &dropped);
        snprintf(error, STORE_ERROR_SIZE, "cannot drop empty weeks: %.200s",
                 sql->error);
        bool busy = sql->transient; // they can be dropped another time
        if (status != CH_OK) {
            dropped = 0;
            sql_rollback(sql);
        }
        status = busy ? CH_OK : status;
        pthread_mutex_unlock(&store->writing);
    }
    if (status == CH_OK)
        *out_dropped = dropped;
    return status;
}
