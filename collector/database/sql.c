// SPDX-License-Identifier: Apache-2.0
#include "collector/database/sql.h"

#include <string.h>

static const struct {
    const char *prefix;
    size_t skipped; // bytes of the prefix that are no part of the driver's name
    enum ch_status (*open)(const struct sql_options *options, const char *name,
                           char error[SQL_ERROR_SIZE], struct sql **out);
} kinds[] = {
    { "sqlite:", 7, sql_sqlite_open },
    { "postgresql://", 0, sql_postgres_open },
    { "postgres://", 0, sql_postgres_open },
};

static void (*watch)(const char *text);

void sql_watch(void (*seen)(const char *text))
{
    watch = seen;
}

enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

static size_t find_kind(const char *name)
{
    size_t i = 0;
    while (i < KIND_COUNT) {
        size_t length = strlen(kinds[i].prefix);
        if (strncmp(name, kinds[i].prefix, length) == 0 && name[length] != 0)
            break;
        i++;
    }
    return i;
}

bool sql_name_ok(const char *name)
{
    return find_kind(name) < KIND_COUNT;
}

enum ch_status sql_open(const struct sql_options *options, char error[SQL_ERROR_SIZE],
                        struct sql **out)
{
    size_t kind = find_kind(options->name);
    if (kind == KIND_COUNT)
        return CH_ERR_UNSUPPORTED;
    return kinds[kind].open(options, options->name + kinds[kind].skipped, error, out);
}

void sql_close(struct sql *sql)
{
    if (sql != NULL)
        sql->driver->close(sql);
}

void sql_queue(struct sql *sql, unsigned statement, const struct sql_value *values,
               size_t count, sql_row_fn *visit, void *context)
{
    if (sql->failed != CH_OK)
        return;
    if (watch != NULL)
        watch(sql_statement_text(sql, statement));
    sql->driver->queue(sql, statement, values, count, visit, context);
}

enum ch_status sql_flush(struct sql *sql)
{
    return sql->driver->flush(sql);
}

bool sql_rollback(struct sql *sql)
{
    return sql->driver->rollback(sql);
}

enum ch_status sql_query(struct sql *sql, const char *text,
                         const struct sql_value *values, size_t count,
                         sql_row_fn *visit, void *context)
{
    if (watch != NULL)
        watch(text);
    return sql->driver->query(sql, text, values, count, visit, context);
}

enum ch_status sql_ask(struct sql *sql, unsigned statement,
                       const struct sql_value *values, size_t count, sql_row_fn *visit,
                       void *context)
{
    return sql_query(sql, sql_statement_text(sql, statement), values, count, visit,
                     context);
}

enum ch_status sql_script(struct sql *sql, const char *text)
{
    return sql->driver->script(sql, text);
}

void sql_limit_time(struct sql *sql, int64_t until_ms)
{
    sql->driver->limit_time(sql, until_ms);
}

// find_column gives the column of that name, or -1. Columns are mostly read in their
// order, so the search begins after the last one that was read.
static int find_column(const struct sql_row *row, const char *name)
{
    struct sql_columns *columns = row->columns;
    for (int i = 0; i < columns->count; i++) {
        int column = (columns->next + i) % columns->count;
        const char *found = row->sql->driver->column_name(row, column);
        if (found != NULL && strcmp(found, name) == 0) {
            columns->next = column + 1;
            return column;
        }
    }
    if (columns->missing == NULL)
        columns->missing = name;
    return -1;
}

int64_t sql_column_number(const struct sql_row *row, const char *name)
{
    int column = find_column(row, name);
    return column >= 0 ? row->sql->driver->row_number(row, column) : 0;
}

const char *sql_column_text(const struct sql_row *row, const char *name)
{
    int column = find_column(row, name);
    return column >= 0 ? row->sql->driver->row_text(row, column) : "";
}

const void *sql_column_bytes(const struct sql_row *row, const char *name,
                             size_t *out_size)
{
    int column = find_column(row, name);
    *out_size = 0;
    return column >= 0 ? row->sql->driver->row_bytes(row, column, out_size) : NULL;
}

void sql_take_number(void *context, const struct sql_row *row)
{
    *(int64_t *)context = row->sql->driver->row_number(row, 0);
}

void sql_count_row(void *context, const struct sql_row *row)
{
    (void)row;
    ++*(int64_t *)context;
}
