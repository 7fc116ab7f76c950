// SPDX-License-Identifier: Apache-2.0
//
// One SQL connection, to SQLite or to PostgreSQL, so that the store is written only
// once.
//
// Statements of the table are prepared on first use and queued: PostgreSQL sends them
// without waiting for results (pipelining), SQLite runs them at once. Rows are passed
// to the statement's visitor no later than in sql_flush. Errors are sticky: after one,
// queued statements do nothing until sql_rollback, so a transaction is written as a
// plain sequence and checked once. In both dialects `?1` is the first value.
//
// A connection is used by one thread at a time. sql_sqlite.c and sql_postgres.c are the
// drivers; nothing else includes their libraries. Users: store_*.c.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

enum { SQL_STATEMENTS = 288, SQL_VALUES = 512, SQL_ERROR_SIZE = 200 };

enum sql_dialect { SQL_SQLITE, SQL_POSTGRES };

// sql_value is a value bound to a parameter: a text, bytes, or (both pointers NULL) a
// number. Its memory is not needed after sql_queue or sql_query returned.
struct sql_value {
    const char *text;
    const void *bytes;
    size_t size; // of bytes
    int64_t number;
};

// sql_text, sql_number and sql_bytes make values.
static inline struct sql_value sql_text(const char *text)
{
    return (struct sql_value){ .text = text };
}

static inline struct sql_value sql_number(int64_t number)
{
    return (struct sql_value){ .number = number };
}

static inline struct sql_value sql_bytes(const void *bytes, size_t size)
{
    return (struct sql_value){ .bytes = bytes, .size = size };
}

// sql_statement is a statement of the table; postgres is NULL where the dialects agree.
struct sql_statement {
    const char *sqlite;
    const char *postgres;
};

struct sql;
struct sql_row;

// sql_row_fn is called for every row; the row lives until it returns.
typedef void sql_row_fn(void *context, const struct sql_row *row);

// sql_driver is what a driver implements. query is for statements that are not in the
// table, which are answered at once.
struct sql_driver {
    void (*close)(struct sql *sql);
    void (*queue)(struct sql *sql, unsigned statement, const struct sql_value *values,
                  size_t count, sql_row_fn *visit, void *context);
    enum ch_status (*flush)(struct sql *sql);
    enum ch_status (*query)(struct sql *sql, const char *text,
                            const struct sql_value *values, size_t count,
                            sql_row_fn *visit, void *context);
    enum ch_status (*script)(struct sql *sql, const char *text);
    bool (*rollback)(struct sql *sql);
    void (*limit_time)(struct sql *sql, int64_t until_ms);
    const char *(*column_name)(const struct sql_row *row, int column);
    int64_t (*row_number)(const struct sql_row *row, int column);
    const char *(*row_text)(const struct sql_row *row, int column);
    const void *(*row_bytes)(const struct sql_row *row, int column, size_t *out_size);
};

// sql is the part of a connection that both drivers have.
struct sql {
    const struct sql_driver *driver;
    enum sql_dialect dialect;
    const struct sql_statement *statements;
    enum ch_status failed;      // CH_OK, or how the first queued statement failed
    bool transient;             // another attempt may succeed
    char error[SQL_ERROR_SIZE]; // why it failed
};

// sql_columns is what the rows of a result have, and how visitors read them.
struct sql_columns {
    int count;
    int next;            // after the column that was read last
    const char *missing; // the first name that was asked for and is no column
};

// sql_row is a row on its way to a visitor.
struct sql_row {
    const struct sql *sql;
    const void *handle; // the driver's statement or result
    int index;
    struct sql_columns *columns;
};

// sql_options is what a connection is for.
struct sql_options {
    const char *name;                       // sqlite:PATH or postgresql://...
    const struct sql_statement *statements; // at most SQL_STATEMENTS; NULL: none
    bool reading;                           // nothing is changed through it
    int64_t query_limit_ms;                 // longest query; 0: no limit
    int log_pages; // SQLite: from how many on a log is long; 0: SQLITE_LOG_PAGES
    // Once it is true, no call waits for a database on another host; NULL: never.
    const atomic_bool *abandon;
};

// sql_name_ok returns true if sql_open has a driver for that name.
bool sql_name_ok(const char *name);

// sql_open connects. On failure error says why.
CH_CHECKED enum ch_status sql_open(const struct sql_options *options,
                                   char error[SQL_ERROR_SIZE], struct sql **out);

// sql_close closes a connection; NULL is allowed.
void sql_close(struct sql *sql);

// sql_queue queues a statement of the table; visit may be NULL.
void sql_queue(struct sql *sql, unsigned statement, const struct sql_value *values,
               size_t count, sql_row_fn *visit, void *context);

// sql_flush waits until every queued statement was run and its rows visited. After a
// failure the transaction cannot go on: call sql_rollback.
CH_CHECKED enum ch_status sql_flush(struct sql *sql);

// sql_rollback rolls back the current transaction, clears the failure, and reconnects
// if the connection was lost. It returns whether there is a connection.
bool sql_rollback(struct sql *sql);

// sql_statement_text is the text of a statement of the table, for a query that is
// planned anew for its values.
static inline const char *sql_statement_text(const struct sql *sql, unsigned statement)
{
    const struct sql_statement *texts = &sql->statements[statement];
    return sql->dialect == SQL_POSTGRES && texts->postgres != NULL ? texts->postgres
                                                                   : texts->sqlite;
}

// sql_query runs one statement with `?1` and so on bound to values, and visits its
// rows. CH_ERR_LIMIT: it took longer than allowed.
CH_CHECKED enum ch_status sql_query(struct sql *sql, const char *text,
                                    const struct sql_value *values, size_t count,
                                    sql_row_fn *visit, void *context);

// sql_ask is sql_query for a statement of the table, which is planned anew for its
// values.
CH_CHECKED enum ch_status sql_ask(struct sql *sql, unsigned statement,
                                  const struct sql_value *values, size_t count,
                                  sql_row_fn *visit, void *context);

// sql_watch passes the text of each statement to seen before it is run, on any thread;
// NULL passes none. Call it before a connection is opened. It passes neither values nor
// scripts.
void sql_watch(void (*seen)(const char *text));

// sql_script runs statements without values.
CH_CHECKED enum ch_status sql_script(struct sql *sql, const char *text);

// sql_limit_time aborts queries at the given time; 0: never.
void sql_limit_time(struct sql *sql, int64_t until_ms);

// sql_column_number, sql_column_text and sql_column_bytes read the column of that name;
// NULL reads as 0 or empty, and so does a name that no column has, after which the
// statement fails.
int64_t sql_column_number(const struct sql_row *row, const char *name);
const char *sql_column_text(const struct sql_row *row, const char *name);
const void *sql_column_bytes(const struct sql_row *row, const char *name,
                             size_t *out_size);

// sql_check_columns fails a connection whose visitor asked for a missing column;
// drivers call it after the rows.
static inline void sql_check_columns(struct sql *sql, const struct sql_columns *columns)
{
    if (columns->missing == NULL || sql->failed != CH_OK)
        return;
    sql->failed = CH_ERR_IO;
    (void)snprintf(sql->error, sizeof(sql->error), "there is no column '%s'",
                   columns->missing);
}

// sql_take_number is a sql_row_fn that stores the first column in an int64_t.
void sql_take_number(void *context, const struct sql_row *row);

// sql_count_row is a sql_row_fn that adds one to an int64_t.
void sql_count_row(void *context, const struct sql_row *row);

// sql_sqlite_log is the log of a connection that writes to a SQLite file, whose path
// path gets.
struct sqlite_log *sql_sqlite_log(struct sql *sql, const char **path);

// sql_sqlite_open and sql_postgres_open are the drivers' sql_open; name is the path of
// a file, or the URL of a database.
CH_CHECKED enum ch_status sql_sqlite_open(const struct sql_options *options,
                                          const char *name, char error[SQL_ERROR_SIZE],
                                          struct sql **out);
CH_CHECKED enum ch_status sql_postgres_open(const struct sql_options *options,
                                            const char *name,
                                            char error[SQL_ERROR_SIZE],
                                            struct sql **out);
