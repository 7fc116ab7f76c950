// SPDX-License-Identifier: Apache-2.0
//
// One SQL connection, to SQLite or to PostgreSQL, so that the store is written once.
//
// Statements of a table are prepared on first use and queued: PostgreSQL sends them
// without waiting for answers (pipelined), SQLite runs them on the spot. What a
// statement gives goes to its visitor at the latest in sql_flush. Errors are sticky:
// after one, queued statements do nothing until sql_rollback, so that a transaction is
// written straight down and asked once. Both dialects take `?1` for the first value.
//
// A connection is used by one thread at a time. sql_sqlite.c and sql_postgres.c are the
// drivers; nothing else includes their libraries. Users: store_*.c.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { SQL_STATEMENTS = 64, SQL_VALUES = 64, SQL_ERROR_SIZE = 200 };

enum sql_dialect { SQL_SQLITE, SQL_POSTGRES };

// A value bound to a hole: a text, bytes, or (both pointers NULL) a number. What it
// points at is not needed any more once sql_queue or sql_query returns.
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

// A statement of a table; where the dialects agree, postgres is NULL.
struct sql_statement {
    const char *sqlite;
    const char *postgres;
};

struct sql;
struct sql_row;

// A sql_row_fn is called for every row; the row lives until it returns.
typedef void sql_row_fn(void *context, const struct sql_row *row);

// What a driver implements. query is for statements without a table, answered at once.
struct sql_driver {
    void (*close)(struct sql *sql);
    void (*queue)(struct sql *sql, unsigned statement, const struct sql_value *values,
                  size_t count, sql_row_fn *visit, void *context);
    enum ch_status (*flush)(struct sql *sql);
    enum ch_status (*query)(struct sql *sql, const char *text,
                            const struct sql_value *values, size_t count,
                            sql_row_fn *visit, void *context);
    enum ch_status (*script)(struct sql *sql, const char *text);
    void (*rollback)(struct sql *sql);
    void (*limit_time)(struct sql *sql, int64_t until_ms);
    int64_t (*row_number)(const struct sql_row *row, int column);
    const char *(*row_text)(const struct sql_row *row, int column);
    const void *(*row_bytes)(const struct sql_row *row, int column, size_t *out_size);
};

// The part of a connection that both drivers have.
struct sql {
    const struct sql_driver *driver;
    enum sql_dialect dialect;
    const struct sql_statement *statements;
    enum ch_status failed;      // CH_OK, or what queued statements came to
    bool transient;             // the failure may be gone when tried again
    char error[SQL_ERROR_SIZE]; // why
};

// A row on its way to a visitor.
struct sql_row {
    const struct sql *sql;
    const void *handle; // the driver's
    int index;
};

// What a connection is for.
struct sql_options {
    const char *name;                       // sqlite:PATH or postgresql://...
    const struct sql_statement *statements; // at most SQL_STATEMENTS; NULL: none
    bool reading;                           // nothing will be changed through it
    int64_t query_limit_ms;                 // longest query, where reading
};

// sql_name_ok says whether sql_open knows that kind of name.
bool sql_name_ok(const char *name);

// sql_open connects. error gets why not.
CH_CHECKED enum ch_status sql_open(const struct sql_options *options,
                                   char error[SQL_ERROR_SIZE], struct sql **out);

// sql_close ends a connection; NULL is fine.
void sql_close(struct sql *sql);

// sql_queue adds a statement of the table; visit may be NULL.
void sql_queue(struct sql *sql, unsigned statement, const struct sql_value *values,
               size_t count, sql_row_fn *visit, void *context);

// sql_flush has every queued statement done and visited. After a failure the
// transaction is over: sql_rollback.
CH_CHECKED enum ch_status sql_flush(struct sql *sql);

// sql_rollback undoes the transaction under way, forgets the failure, and connects
// again where the connection was lost.
void sql_rollback(struct sql *sql);

// sql_query runs one statement, `?1` and on bound to values, and visits its rows.
// CH_ERR_LIMIT: it took longer than it may.
CH_CHECKED enum ch_status sql_query(struct sql *sql, const char *text,
                                    const struct sql_value *values, size_t count,
                                    sql_row_fn *visit, void *context);

// sql_script runs statements without values.
CH_CHECKED enum ch_status sql_script(struct sql *sql, const char *text);

// sql_limit_time ends queries at a moment; 0: at none.
void sql_limit_time(struct sql *sql, int64_t until_ms);

// sql_row_number, sql_row_text and sql_row_bytes read a column; NULL is 0 or empty.
int64_t sql_row_number(const struct sql_row *row, int column);
const char *sql_row_text(const struct sql_row *row, int column);
const void *sql_row_bytes(const struct sql_row *row, int column, size_t *out_size);

// sql_take_number is a sql_row_fn that keeps the first column in an int64_t.
void sql_take_number(void *context, const struct sql_row *row);

// sql_sqlite_open and sql_postgres_open are sql_open's two ways; name is the path of a
// file, or the address of a database.
CH_CHECKED enum ch_status sql_sqlite_open(const struct sql_options *options,
                                          const char *name, char error[SQL_ERROR_SIZE],
                                          struct sql **out);
CH_CHECKED enum ch_status sql_postgres_open(const struct sql_options *options,
                                            const char *name,
                                            char error[SQL_ERROR_SIZE],
                                            struct sql **out);
