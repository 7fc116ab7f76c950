// SPDX-License-Identifier: Apache-2.0
//
// How it works: statements are queued to libpq's pipeline and sent once they are many
// (send_if_much); flush sends a sync point and reads all results in order, each handed
// to the visitor that waits for it (`awaited`).
// Invariants: every wait has a limit or ends when the connection is cut (link_wait);
// the first error stays until rollback; after a loss the next use connects again;
// behind a pooler nothing is kept in a session, so settings go with each transaction.
#include <endian.h>
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "collector/database/sql.h"
#include "collector/database/timestamp.h"

// A connection to PostgreSQL on which no wait lasts for ever.
//
// A host that is gone answers nothing, not even that it is gone. TCP notices that
// within seconds, on both sides, however long a statement may take; a server that hangs
// on a living host is given up after a limit; and a collector that stops ends all
// waits.
//
// A pooler between (pgbouncer in transaction mode) gives each transaction another
// session of the server. It is recognized by the server's process, which is not the one
// that the pooler named: then nothing may be kept in a session, neither settings nor
// prepared statements.

enum { POSTGRES_SETTINGS_SIZE = 1000 };

struct postgres_link {
    PGconn *connection;
    bool reading;
    int64_t limit_ms;           // longest statement; 0: no limit
    const atomic_bool *abandon; // set: waits end and nothing is connected; or NULL
    bool pooled;
    bool late; // a wait has ended without an answer, and so has the connection
};

enum {
    GRACE_MS = 2000, // for the answer that a statement was ended by its limit
    SLICE_MS = 250,  // between two looks at whether the collector stops
};

static bool link_abandoned(const struct postgres_link *link)
{
    return link->abandon != NULL && atomic_load(link->abandon);
}

// link_cut ends the connection for libpq: a socket that was shut down reads as closed.
// PQfinish would do it too, but leave nothing to ask for results.
static void link_cut(struct postgres_link *link)
{
    link->late = true;
    shutdown(PQsocket(link->connection), SHUT_RDWR);
}

// link_wait waits for the socket until a time, 0 being never. It returns what the
// socket is ready for, or 0 after the connection was cut.
static short link_wait(struct postgres_link *link, short events, int64_t until_ms)
{
    for (;;) {
        struct pollfd socket = { .fd = PQsocket(link->connection), .events = events };
        int ready = poll(&socket, 1, SLICE_MS);
        if (ready > 0)
            return socket.revents;
        bool over = until_ms != 0 && (int64_t)clock_now_ms(CLOCK_MONOTONIC) >= until_ms;
        if (over || link_abandoned(link) || (ready < 0 && errno != EINTR)) {
            link_cut(link);
            return 0;
        }
    }
}

static int64_t link_deadline(const struct postgres_link *link)
{
    return link->limit_ms == 0
               ? 0
               : (int64_t)clock_now_ms(CLOCK_MONOTONIC) + link->limit_ms + GRACE_MS;
}

// postgres_link_send sends what libpq has queued.
static bool postgres_link_send(struct postgres_link *link)
{
    int64_t until_ms = link_deadline(link);
    int left;
    while ((left = PQflush(link->connection)) == 1) {
        short ready = link_wait(link, POLLIN | POLLOUT, until_ms);
        // What the server sends meanwhile is read: otherwise both sides could block in
        // a write to the other.
        if (ready == 0 || ((ready & POLLIN) != 0 && !PQconsumeInput(link->connection)))
            return false;
    }
    return left == 0;
}

// postgres_link_result is PQgetResult, which waits at most for the limit.
static PGresult *postgres_link_result(struct postgres_link *link)
{
    int64_t until_ms = link_deadline(link);
    while (PQisBusy(link->connection)) {
        if (link_wait(link, POLLIN, until_ms) == 0 || !PQconsumeInput(link->connection))
            break; // PQgetResult then says that the connection is lost
    }
    return PQgetResult(link->connection);
}

// link_run runs statements that return at most one row, and copies its first column.
static bool link_run(struct postgres_link *link, const char *text, char *out,
                     size_t size)
{
    bool ok = true;
    PGresult *result;
    if (!PQsendQuery(link->connection, text) || !postgres_link_send(link))
        return false;
    while ((result = postgres_link_result(link)) != NULL) {
        if (PQresultStatus(result) == PGRES_TUPLES_OK)
            snprintf(out, size, "%s", PQgetvalue(result, 0, 0));
        else
            ok = false;
        PQclear(result);
    }
    return ok;
}

// postgres_link_settings writes a statement that makes the settings of this program;
// of_transaction: for the current transaction alone.
static void postgres_link_settings(const struct postgres_link *link,
                                   bool of_transaction,
                                   char out[POSTGRES_SETTINGS_SIZE])
{
    const char *local = of_transaction ? "true" : "false";
    int at = snprintf(out, POSTGRES_SETTINGS_SIZE,
                      "SELECT set_config('statement_timeout', '%lld', %s),"
                      " set_config('%s_read_only', '%s', %s),"
                      // Compiling a plan takes longer than to run it.
                      " set_config('jit', 'off', %s)",
                      (long long)link->limit_ms, local,
                      of_transaction ? "transaction" : "default_transaction",
                      link->reading ? "on" : "off", local, local);
    if (!link->reading)
        // Writers look rows up by key only. Generic plans are made once, perhaps while
        // the tables are still empty, and must fit when the tables hold millions of
        // rows: so no sequential scans. A collector that was frozen must not keep its
        // locks from others.
        at += snprintf(out + at, POSTGRES_SETTINGS_SIZE - (size_t)at,
                       ", set_config('synchronous_commit', 'on', %s)"
                       ", set_config('enable_seqscan', 'off', %s)"
                       ", set_config('idle_in_transaction_session_timeout', '15000',"
                       " %s)",
                       local, local, local);
    if (!of_transaction)
        // The server, too, has to notice that we are gone: the transaction of a
        // connection that was lost keeps its locks until then.
        snprintf(out + at, POSTGRES_SETTINGS_SIZE - (size_t)at,
                 ", set_config('plan_cache_mode', '%s', false)"
                 ", set_config('tcp_keepalives_idle', '2', false)"
                 ", set_config('tcp_keepalives_interval', '1', false)"
                 ", set_config('tcp_keepalives_count', '3', false)"
                 ", set_config('tcp_user_timeout', '5000', false)",
                 link->reading ? "auto" : "force_generic_plan");
}

static void hear_nothing(void *context, const char *message)
{
    (void)context;
    (void)message;
}

// link_begin prepares a new connection.
static bool link_begin(struct postgres_link *link)
{
    char process[24] = "";
    char settings[POSTGRES_SETTINGS_SIZE];
    link->late = false;
    if (PQstatus(link->connection) != CONNECTION_OK ||
        PQsetnonblocking(link->connection, 1) != 0)
        return false;
    PQsetNoticeProcessor(link->connection, hear_nothing, NULL);
    if (!link_run(link, "SELECT pg_backend_pid()", process, sizeof(process)))
        return false;
    link->pooled = strtoll(process, NULL, 10) != PQbackendPID(link->connection);
    postgres_link_settings(link, false, settings);
    return link->pooled || link_run(link, settings, process, sizeof(process));
}

// postgres_link_open connects to the database that url names, and connects again after
// a loss. On failure PQerrorMessage of the connection says why.
static bool postgres_link_open(struct postgres_link *link, const char *url)
{
    // A later keyword wins, so the URL in dbname can override those before it.
    static const char *const keywords[] = {
        "fallback_application_name",
        "connect_timeout", // of each host that the URL names
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
        "tcp_user_timeout",
        "dbname",
        "client_encoding",
        NULL,
    };
    const char *const values[] = {
        "crashhook-collector", "4", "2", "1", "3", "5000", url, "UTF8", NULL
    };
    link->connection = PQconnectdbParams(keywords, values, 1);
    return link_begin(link);
}

static bool postgres_link_again(struct postgres_link *link)
{
    if (link_abandoned(link))
        return false;
    PQreset(link->connection);
    return link_begin(link);
}

enum {
    NUMBER_SIZE = 24,
    NAME_SIZE = 16,
    UNSENT_MAX = 256 << 10, // bytes that are queued before they are sent together
    STATEMENT_SIZE = 64,    // bytes of a statement without its values, roughly
};

// awaited is the visitor of one result of the pipeline.
struct awaited {
    sql_row_fn *visit;
    void *context;
    PGresult **keep; // not NULL: the result is kept there, and visited later
};

struct postgres {
    struct sql sql;
    struct postgres_link link;
    bool prepared[SQL_STATEMENTS];
    struct awaited *awaited;
    size_t awaited_count;
    size_t awaited_capacity;
    size_t unsent; // bytes queued since the last send
};

// bound holds values in the form that libpq takes. Numbers are passed as text, so that
// the server chooses the width of the type.
struct bound {
    const char *values[SQL_VALUES];
    int lengths[SQL_VALUES];
    int formats[SQL_VALUES];
    char numbers[SQL_VALUES][NUMBER_SIZE];
};

static void bind_postgres_value(struct bound *out, const struct sql_value *values,
                                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sql_value *value = &values[i];
        out->formats[i] = 0;
        out->lengths[i] = 0;
        if (value->text != NULL) {
            out->values[i] = value->text;
        } else if (value->bytes != NULL) {
            out->values[i] = value->bytes;
            out->lengths[i] = (int)value->size;
            out->formats[i] = 1;
        } else {
            snprintf(out->numbers[i], NUMBER_SIZE, "%lld", (long long)value->number);
            out->values[i] = out->numbers[i];
        }
    }
}

// is_transient is true for a SQLSTATE after which another attempt may succeed
// (PostgreSQL, appendix A): another transaction was in the way (40001, 40P01, 23505,
// 55P03) or dropped the partition that was needed (23514), or the server shuts down or
// is gone (57P.., 08...).
static bool is_transient(const char *state)
{
    static const char *const states[] = { "40001", "40P01", "23505", "23514", "55P03" };
    if (strncmp(state, "08", 2) == 0 || strncmp(state, "57P", 3) == 0)
        return true;
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        if (strcmp(states[i], state) == 0)
            return true;
    }
    return false;
}

// fail_postgres keeps the first failure: a result's, or (NULL) the connection's.
static enum ch_status fail_postgres(struct postgres *postgres, const PGresult *result)
{
    struct sql *sql = &postgres->sql;
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (sql->failed != CH_OK)
        return sql->failed;
    if (postgres->link.late)
        message = "the database did not answer";
    else if (message == NULL)
        message = PQerrorMessage(postgres->link.connection);
    state = state != NULL ? state : "";
    // 57014 (the query was cancelled) is how statement_timeout ends a query.
    sql->failed = strcmp(state, "57014") == 0 ? CH_ERR_LIMIT : CH_ERR_IO;
    // Without a word of the server it is the connection that failed, whatever libpq
    // takes it for.
    sql->transient = state[0] == 0 || is_transient(state) ||
                     PQstatus(postgres->link.connection) == CONNECTION_BAD;
    snprintf(sql->error, sizeof(sql->error), "%.*s", (int)strcspn(message, "\n"),
             message);
    return sql->failed;
}

// append_translated writes `?1` as `$1`.
static void append_translated(struct text *out, const char *statement)
{
    for (; *statement != 0; statement++)
        text_append(out, *statement == '?' ? "$" : statement, 1);
}

// send_if_much sends once much is queued: sent one by one, small statements would cost
// both sides a system call each.
static bool send_if_much(struct postgres *postgres, const struct bound *bound,
                         size_t count)
{
    postgres->unsent += STATEMENT_SIZE;
    for (size_t i = 0; i < count; i++)
        postgres->unsent += bound->formats[i] == 1 ? (size_t)bound->lengths[i] : 0;
    if (postgres->unsent < UNSENT_MAX)
        return true;
    postgres->unsent = 0;
    return postgres_link_send(&postgres->link);
}

static bool await_postgres_result(struct postgres *postgres,
                                  const struct awaited *awaited)
{
    if (!array_reserve(&postgres->awaited, &postgres->awaited_capacity,
                       postgres->awaited_count, sizeof(postgres->awaited[0])))
        return false;
    postgres->awaited[postgres->awaited_count++] = *awaited;
    return true;
}

// queue_text queues a statement that nobody prepared; its text has `?1` for `$1`.
static bool queue_text(struct postgres *postgres, const char *text,
                       const struct bound *bound, size_t count,
                       const struct awaited *awaited)
{
    struct text CH_CLEANUP(text_deinit) translated = { 0 };
    append_translated(&translated, text);
    return text_ok(&translated) &&
           PQsendQueryParams(postgres->link.connection, translated.bytes, (int)count,
                             NULL, bound->values, bound->lengths, bound->formats, 1) &&
           await_postgres_result(postgres, awaited) &&
           send_if_much(postgres, bound, count);
}

// queue_settings queues what holds for the transaction that was begun: a pooler gives
// each transaction another session.
static bool queue_settings(struct postgres *postgres)
{
    char settings[POSTGRES_SETTINGS_SIZE];
    const struct bound none = { 0 };
    const struct awaited nobody = { 0 };
    postgres_link_settings(&postgres->link, true, settings);
    return queue_text(postgres, settings, &none, 0, &nobody);
}

static bool prepare_postgres_statement(struct postgres *postgres, unsigned statement,
                                       const char *text, const char *name)
{
    const struct awaited nobody = { 0 };
    struct text translated = { 0 };
    append_translated(&translated, text);
    bool sent =
        text_ok(&translated) &&
        PQsendPrepare(postgres->link.connection, name, translated.bytes, 0, NULL) &&
        await_postgres_result(postgres, &nobody);
    text_deinit(&translated);
    postgres->prepared[statement] = sent;
    return sent;
}

static bool queue_prepared(struct postgres *postgres, unsigned statement,
                           const char *text, const struct bound *bound, size_t count,
                           const struct awaited *awaited)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof(name), "s%u", statement);
    return (postgres->prepared[statement] ||
            prepare_postgres_statement(postgres, statement, text, name)) &&
           PQsendQueryPrepared(postgres->link.connection, name, (int)count,
                               bound->values, bound->lengths, bound->formats, 1) &&
           await_postgres_result(postgres, awaited) &&
           send_if_much(postgres, bound, count);
}

static bool enter_pipeline(struct postgres *postgres)
{
    return PQpipelineStatus(postgres->link.connection) != PQ_PIPELINE_OFF ||
           PQenterPipelineMode(postgres->link.connection);
}

static void postgres_queue(struct sql *sql, unsigned statement,
                           const struct sql_value *values, size_t count,
                           sql_row_fn *visit, void *context)
{
    struct postgres *postgres = (struct postgres *)sql;
    const struct sql_statement *texts = &sql->statements[statement];
    const char *text = texts->postgres != NULL ? texts->postgres : texts->sqlite;
    const struct awaited awaited = { .visit = visit, .context = context };
    struct bound bound;
    bind_postgres_value(&bound, values, count);
    bool sent = enter_pipeline(postgres);
    if (sent && postgres->link.pooled && postgres->link.reading &&
        postgres->awaited_count == 0)
        sent = queue_settings(postgres);
    if (sent && postgres->link.pooled)
        sent = queue_text(postgres, text, &bound, count, &awaited) &&
               (strcmp(text, "BEGIN") != 0 || queue_settings(postgres));
    else if (sent)
        sent = queue_prepared(postgres, statement, text, &bound, count, &awaited);
    if (!sent)
        fail_postgres(postgres, NULL);
}

static void visit_rows(struct postgres *postgres, const PGresult *result,
                       sql_row_fn *visit, void *context)
{
    struct sql_columns columns = { .count = PQnfields(result) };
    struct sql_row row = { .sql = &postgres->sql,
                           .handle = result,
                           .columns = &columns };
    if (PQresultStatus(result) != PGRES_TUPLES_OK || visit == NULL)
        return;
    for (; row.index < PQntuples(result); row.index++)
        visit(context, &row);
    sql_check_columns(&postgres->sql, &columns);
}

// take_result hands out a result's rows, and releases it if nobody keeps it.
static void take_result(struct postgres *postgres, const struct awaited *awaited,
                        PGresult *result)
{
    if (PQresultStatus(result) == PGRES_FATAL_ERROR)
        fail_postgres(postgres, result);
    visit_rows(postgres, result, awaited->visit, awaited->context);
    if (awaited->keep == NULL) {
        PQclear(result);
        return;
    }
    PQclear(*awaited->keep);
    *awaited->keep = result;
}

// take_results reads the results of everything that was sent, and the sync point after
// them.
static void take_results(struct postgres *postgres)
{
    PGresult *result;
    for (size_t i = 0; i < postgres->awaited_count; i++) {
        while ((result = postgres_link_result(&postgres->link)) != NULL) {
            take_result(postgres, &postgres->awaited[i], result);
            if (PQstatus(postgres->link.connection) == CONNECTION_BAD)
                return;
        }
    }
    result = postgres_link_result(&postgres->link);
    if (PQresultStatus(result) != PGRES_PIPELINE_SYNC)
        fail_postgres(postgres, result);
    PQclear(result);
}

static enum ch_status postgres_flush(struct sql *sql)
{
    struct postgres *postgres = (struct postgres *)sql;
    if (postgres->awaited_count == 0)
        return sql->failed;
    postgres->unsent = 0;
    if (PQpipelineSync(postgres->link.connection) &&
        postgres_link_send(&postgres->link))
        take_results(postgres);
    else
        fail_postgres(postgres, NULL);
    postgres->awaited_count = 0;
    if (!PQexitPipelineMode(postgres->link.connection))
        fail_postgres(postgres, NULL);
    return sql->failed;
}

static bool run_plain(struct postgres *postgres, const char *text)
{
    bool ok = PQsendQuery(postgres->link.connection, text) &&
              postgres_link_send(&postgres->link);
    PGresult *result = NULL;
    if (!ok)
        fail_postgres(postgres, NULL);
    // All results are taken, also after a failure: what is left would be in the way of
    // the next statement.
    while (ok && (result = postgres_link_result(&postgres->link)) != NULL) {
        ExecStatusType status = PQresultStatus(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            fail_postgres(postgres, result);
        PQclear(result);
    }
    return ok && postgres->sql.failed == CH_OK;
}

static enum ch_status postgres_script(struct sql *sql, const char *text)
{
    return run_plain((struct postgres *)sql, text) ? CH_OK : sql->failed;
}

static bool connect_again(struct postgres *postgres)
{
    memset(postgres->prepared, 0, sizeof(postgres->prepared));
    postgres->awaited_count = 0;
    return postgres_link_again(&postgres->link);
}

static bool postgres_rollback(struct sql *sql)
{
    struct postgres *postgres = (struct postgres *)sql;
    PGconn *connection = postgres->link.connection;
    bool connected = true;
    if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF &&
        postgres_flush(sql) !=
            CH_OK && // which leaves the pipeline, if that is possible
        PQpipelineStatus(connection) != PQ_PIPELINE_OFF)
        connected = connect_again(postgres);
    sql->failed = CH_OK;
    sql->transient = false;
    // Statements that were to be prepared after the failing one were not prepared.
    memset(postgres->prepared, 0, sizeof(postgres->prepared));
    if (connected &&
        (PQstatus(connection) == CONNECTION_BAD || !run_plain(postgres, "ROLLBACK") ||
         (!postgres->link.pooled && !run_plain(postgres, "DEALLOCATE ALL"))))
        connected = connect_again(postgres);
    sql->failed = CH_OK;
    sql->transient = false;
    return connected;
}

// execute_postgres runs one statement. Over a pooler a reader's settings come before it
// in the same pipeline, which is one transaction.
static enum ch_status execute_postgres(struct postgres *postgres, const char *text,
                                       const struct sql_value *values, size_t count,
                                       PGresult **out)
{
    const struct awaited awaited = { .keep = out };
    struct bound bound;
    bind_postgres_value(&bound, values, count);
    bool settings = postgres->link.reading && postgres->link.pooled;
    postgres->sql.failed = CH_OK;
    if (enter_pipeline(postgres) && (!settings || queue_settings(postgres)) &&
        queue_text(postgres, text, &bound, count, &awaited))
        return postgres_flush(&postgres->sql);
    return fail_postgres(postgres, NULL);
}

static enum ch_status postgres_query(struct sql *sql, const char *text,
                                     const struct sql_value *values, size_t count,
                                     sql_row_fn *visit, void *context)
{
    struct postgres *postgres = (struct postgres *)sql;
    PGresult *result = NULL;
    enum ch_status status = execute_postgres(postgres, text, values, count, &result);
    // The server may have been restarted since the last query, or ends the session now:
    // it says so before the connection is closed. What a writer asks belongs to a
    // transaction, which is lost.
    if (status != CH_OK && postgres->link.reading && !postgres->link.late &&
        sql->transient && connect_again(postgres))
        status = execute_postgres(postgres, text, values, count, &result);
    sql->failed = CH_OK; // the failure concerns only this query
    // Visitors may ask more of the same connection, so this query has ended before.
    if (status == CH_OK) {
        visit_rows(postgres, result, visit, context);
        status = sql->failed;
        sql->failed = CH_OK;
    }
    PQclear(result);
    return status;
}

// postgres_limit_time has the server end long statements. The limit is sent where it
// differs from the one before.
static void postgres_limit_time(struct sql *sql, int64_t until_ms)
{
    enum { SAME_MS = 100 };
    struct postgres *postgres = (struct postgres *)sql;
    char setting[64];
    int64_t limit_ms = until_ms - timestamp_now() + SAME_MS / 2;
    limit_ms -= limit_ms % SAME_MS;
    if (until_ms == 0 || limit_ms <= 0 || limit_ms == postgres->link.limit_ms)
        return;
    postgres->link.limit_ms = limit_ms;
    (void)snprintf(setting, sizeof(setting), "SET statement_timeout = %lld",
                   (long long)limit_ms);
    // A pooled connection gets it in each transaction, a lost one when it is back.
    if (!postgres->link.pooled && !run_plain(postgres, setting))
        sql->failed = CH_OK;
}

static const char *postgres_column_name(const struct sql_row *row, int column)
{
    return PQfname(row->handle, column);
}

static int64_t postgres_row_number(const struct sql_row *row, int column)
{
    const char *bytes = PQgetvalue(row->handle, row->index, column);
    uint16_t narrow = 0;
    uint32_t middle = 0;
    uint64_t wide = 0;
    switch (PQgetlength(row->handle, row->index, column)) {
    case 2:
        memcpy(&narrow, bytes, sizeof(narrow));
        return (int16_t)be16toh(narrow);
    case 4:
        memcpy(&middle, bytes, sizeof(middle));
        return (int32_t)be32toh(middle);
    case 8:
        memcpy(&wide, bytes, sizeof(wide));
        return (int64_t)be64toh(wide);
    default:
        return 0;
    }
}

static const char *postgres_row_text(const struct sql_row *row, int column)
{
    return PQgetvalue(row->handle, row->index, column);
}

static const void *postgres_row_bytes(const struct sql_row *row, int column,
                                      size_t *out_size)
{
    *out_size = (size_t)PQgetlength(row->handle, row->index, column);
    return PQgetvalue(row->handle, row->index, column);
}

static void postgres_close(struct sql *sql)
{
    struct postgres *postgres = (struct postgres *)sql;
    PQfinish(postgres->link.connection);
    free(postgres->awaited);
    free(postgres);
}

static const struct sql_driver driver = {
    .close = postgres_close,
    .queue = postgres_queue,
    .flush = postgres_flush,
    .query = postgres_query,
    .script = postgres_script,
    .rollback = postgres_rollback,
    .limit_time = postgres_limit_time,
    .column_name = postgres_column_name,
    .row_number = postgres_row_number,
    .row_text = postgres_row_text,
    .row_bytes = postgres_row_bytes,
};

enum ch_status sql_postgres_open(const struct sql_options *options, const char *name,
                                 char error[SQL_ERROR_SIZE], struct sql **out)
{
    struct postgres *postgres = calloc(1, sizeof(*postgres));
    if (postgres == NULL) {
        snprintf(error, SQL_ERROR_SIZE, "out of memory");
        return CH_ERR_NO_MEMORY;
    }
    postgres->sql = (struct sql){ .driver = &driver,
                                  .dialect = SQL_POSTGRES,
                                  .statements = options->statements };
    postgres->link = (struct postgres_link){ .reading = options->reading,
                                             .limit_ms = options->query_limit_ms,
                                             .abandon = options->abandon };
    if (!postgres_link_open(&postgres->link, name)) {
        fail_postgres(postgres, NULL);
        snprintf(error, SQL_ERROR_SIZE, "%s", postgres->sql.error);
        postgres_close(&postgres->sql);
        return CH_ERR_IO;
    }
    *out = &postgres->sql;
    return CH_OK;
}
