// SPDX-License-Identifier: Apache-2.0
#include <endian.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "collector/store/sql.h"

enum {
    NUMBER_SIZE = 24,
    NAME_SIZE = 16,
    PATIENCE_MS = 60000,
    UNSENT_MAX = 256 << 10, // bytes that are queued before they are sent together
    STATEMENT_SIZE = 64,    // bytes of a statement without its values, roughly
};

// awaited is the visitor of one result of the pipeline.
struct awaited {
    sql_row_fn *visit;
    void *context;
};

struct postgres {
    struct sql sql;
    PGconn *connection;
    bool reading;
    int64_t query_limit_ms;
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
    if (message == NULL)
        message = PQerrorMessage(postgres->connection);
    state = state != NULL ? state : "";
    // 57014 (the query was cancelled) is how statement_timeout ends a query.
    sql->failed = strcmp(state, "57014") == 0 ? CH_ERR_LIMIT : CH_ERR_IO;
    sql->transient =
        is_transient(state) || PQstatus(postgres->connection) == CONNECTION_BAD;
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

// send_queued sends what is queued without waiting for results, and reads what the
// server sends meanwhile: otherwise both sides could block in a write to the other.
static bool send_queued(struct postgres *postgres)
{
    int left;
    postgres->unsent = 0;
    while ((left = PQflush(postgres->connection)) == 1) {
        struct pollfd socket = { .fd = PQsocket(postgres->connection),
                                 .events = POLLIN | POLLOUT };
        if (poll(&socket, 1, PATIENCE_MS) <= 0)
            return false;
        if ((socket.revents & POLLIN) != 0 && !PQconsumeInput(postgres->connection))
            return false;
    }
    return left == 0;
}

// send_if_much sends once much is queued: sent one by one, small statements would cost
// both sides a system call each.
static bool send_if_much(struct postgres *postgres, const struct bound *bound,
                         size_t count)
{
    postgres->unsent += STATEMENT_SIZE;
    for (size_t i = 0; i < count; i++)
        postgres->unsent += bound->formats[i] == 1 ? (size_t)bound->lengths[i] : 0;
    return postgres->unsent < UNSENT_MAX || send_queued(postgres);
}

static bool await_postgres_result(struct postgres *postgres, sql_row_fn *visit,
                                  void *context)
{
    if (!array_reserve(&postgres->awaited, &postgres->awaited_capacity,
                       postgres->awaited_count, sizeof(postgres->awaited[0])))
        return false;
    postgres->awaited[postgres->awaited_count++] =
        (struct awaited){ .visit = visit, .context = context };
    return true;
}

static bool prepare_postgres_statement(struct postgres *postgres, unsigned statement,
                                       const char *name)
{
    const struct sql_statement *texts = &postgres->sql.statements[statement];
    struct text translated = { 0 };
    append_translated(&translated,
                      texts->postgres != NULL ? texts->postgres : texts->sqlite);
    bool sent = text_ok(&translated) &&
                PQsendPrepare(postgres->connection, name, translated.bytes, 0, NULL) &&
                await_postgres_result(postgres, NULL, NULL);
    text_deinit(&translated);
    postgres->prepared[statement] = sent;
    return sent;
}

static void postgres_queue(struct sql *sql, unsigned statement,
                           const struct sql_value *values, size_t count,
                           sql_row_fn *visit, void *context)
{
    struct postgres *postgres = (struct postgres *)sql;
    PGconn *connection = postgres->connection;
    struct bound bound;
    char name[NAME_SIZE];
    snprintf(name, sizeof(name), "s%u", statement);
    bind_postgres_value(&bound, values, count);
    bool sent = PQpipelineStatus(connection) != PQ_PIPELINE_OFF ||
                PQenterPipelineMode(connection);
    sent = sent && (postgres->prepared[statement] ||
                    prepare_postgres_statement(postgres, statement, name));
    sent = sent &&
           PQsendQueryPrepared(connection, name, (int)count, bound.values,
                               bound.lengths, bound.formats, 1) &&
           await_postgres_result(postgres, visit, context) &&
           send_if_much(postgres, &bound, count);
    if (!sent)
        fail_postgres(postgres, NULL);
}

static void take_result(struct postgres *postgres, const struct awaited *awaited,
                        const PGresult *result)
{
    struct sql_row row = { .sql = &postgres->sql, .handle = result };
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_FATAL_ERROR)
        fail_postgres(postgres, result);
    if (status != PGRES_TUPLES_OK || awaited->visit == NULL)
        return;
    for (; row.index < PQntuples(result); row.index++)
        awaited->visit(awaited->context, &row);
}

// take_results reads the results of everything that was sent, and the sync point after
// them.
static void take_results(struct postgres *postgres)
{
    PGresult *result;
    for (size_t i = 0; i < postgres->awaited_count; i++) {
        while ((result = PQgetResult(postgres->connection)) != NULL) {
            take_result(postgres, &postgres->awaited[i], result);
            PQclear(result);
            if (PQstatus(postgres->connection) == CONNECTION_BAD)
                return;
        }
    }
    result = PQgetResult(postgres->connection);
    if (PQresultStatus(result) != PGRES_PIPELINE_SYNC)
        fail_postgres(postgres, result);
    PQclear(result);
}

static enum ch_status postgres_flush(struct sql *sql)
{
    struct postgres *postgres = (struct postgres *)sql;
    if (postgres->awaited_count == 0)
        return sql->failed;
    if (PQpipelineSync(postgres->connection) && send_queued(postgres))
        take_results(postgres);
    else
        fail_postgres(postgres, NULL);
    postgres->awaited_count = 0;
    if (!PQexitPipelineMode(postgres->connection))
        fail_postgres(postgres, NULL);
    return sql->failed;
}

static bool run_plain(struct postgres *postgres, const char *text)
{
    PGresult *result = PQexec(postgres->connection, text);
    ExecStatusType status = PQresultStatus(result);
    bool ok = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (!ok)
        fail_postgres(postgres, result);
    PQclear(result);
    return ok;
}

static enum ch_status postgres_script(struct sql *sql, const char *text)
{
    return run_plain((struct postgres *)sql, text) ? CH_OK : sql->failed;
}

static void hear_nothing(void *context, const char *message)
{
    (void)context;
    (void)message;
}

// begin_session configures a new connection as this program expects it.
static bool begin_session(struct postgres *postgres)
{
    char settings[160];
    memset(postgres->prepared, 0, sizeof(postgres->prepared));
    postgres->awaited_count = 0;
    if (PQstatus(postgres->connection) != CONNECTION_OK)
        return false;
    PQsetNoticeProcessor(postgres->connection, hear_nothing, NULL);
    snprintf(settings, sizeof(settings),
             "SET client_encoding = 'UTF8'; SET synchronous_commit = on;"
             "SET default_transaction_read_only = %s; SET statement_timeout = %lld",
             postgres->reading ? "on" : "off", (long long)postgres->query_limit_ms);
    // Writers look rows up by key only. Generic plans are made once, perhaps while the
    // tables are still empty, and must fit when the tables hold millions of rows: so no
    // sequential scans. A disabled plan node counts as so costly that the plan would be
    // compiled, which takes longer than to run it: so no JIT.
    return run_plain(postgres, settings) &&
           (postgres->reading ||
            run_plain(postgres, "SET plan_cache_mode = force_generic_plan;"
                                "SET enable_seqscan = off; SET jit = off")) &&
           PQsetnonblocking(postgres->connection, 1) == 0;
}

static bool connect_again(struct postgres *postgres)
{
    PQreset(postgres->connection);
    return begin_session(postgres);
}

static void postgres_rollback(struct sql *sql)
{
    struct postgres *postgres = (struct postgres *)sql;
    if (PQpipelineStatus(postgres->connection) != PQ_PIPELINE_OFF &&
        postgres_flush(sql) !=
            CH_OK && // which leaves the pipeline, if that is possible
        PQpipelineStatus(postgres->connection) != PQ_PIPELINE_OFF)
        connect_again(postgres);
    sql->failed = CH_OK;
    sql->transient = false;
    // Statements that were to be prepared after the failing one were not prepared.
    memset(postgres->prepared, 0, sizeof(postgres->prepared));
    if (PQstatus(postgres->connection) == CONNECTION_BAD ||
        !run_plain(postgres, "ROLLBACK") || !run_plain(postgres, "DEALLOCATE ALL"))
        connect_again(postgres);
    sql->failed = CH_OK;
    sql->transient = false;
}

static PGresult *execute_postgres(struct postgres *postgres, const char *text,
                                  const struct sql_value *values, size_t count)
{
    struct bound bound;
    bind_postgres_value(&bound, values, count);
    return PQexecParams(postgres->connection, text, (int)count, NULL, bound.values,
                        bound.lengths, bound.formats, 1);
}

static enum ch_status postgres_query(struct sql *sql, const char *text,
                                     const struct sql_value *values, size_t count,
                                     sql_row_fn *visit, void *context)
{
    struct postgres *postgres = (struct postgres *)sql;
    struct text translated = { 0 };
    append_translated(&translated, text);
    if (!text_ok(&translated))
        return CH_ERR_NO_MEMORY;
    PGresult *result = execute_postgres(postgres, translated.bytes, values, count);
    // The server may have been restarted since the last query.
    if (PQstatus(postgres->connection) == CONNECTION_BAD && connect_again(postgres)) {
        PQclear(result);
        result = execute_postgres(postgres, translated.bytes, values, count);
    }
    text_deinit(&translated);
    struct awaited awaited = { .visit = visit, .context = context };
    sql->failed = CH_OK;
    take_result(postgres, &awaited, result);
    enum ch_status status = sql->failed;
    sql->failed = CH_OK; // the failure concerns only this query
    PQclear(result);
    return status;
}

// postgres_limit_time does nothing: statement_timeout makes the server end long
// queries.
static void postgres_limit_time(struct sql *sql, int64_t until_ms)
{
    (void)sql;
    (void)until_ms;
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
    PQfinish(postgres->connection);
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
    .row_number = postgres_row_number,
    .row_text = postgres_row_text,
    .row_bytes = postgres_row_bytes,
};

enum ch_status sql_postgres_open(const struct sql_options *options, const char *name,
                                 char error[SQL_ERROR_SIZE], struct sql **out)
{
    // A later keyword wins, so the URL in dbname can override those before it.
    static const char *const keywords[] = { "fallback_application_name",
                                            "connect_timeout", "tcp_user_timeout",
                                            "dbname", NULL };
    const char *const values[] = { "crashhook-collector", "15", "30000", name, NULL };
    struct postgres *postgres = calloc(1, sizeof(*postgres));
    if (postgres == NULL) {
        snprintf(error, SQL_ERROR_SIZE, "out of memory");
        return CH_ERR_NO_MEMORY;
    }
    postgres->sql = (struct sql){ .driver = &driver,
                                  .dialect = SQL_POSTGRES,
                                  .statements = options->statements };
    postgres->reading = options->reading;
    postgres->query_limit_ms = options->query_limit_ms;
    postgres->connection = PQconnectdbParams(keywords, values, 1);
    if (!begin_session(postgres)) {
        fail_postgres(postgres, NULL);
        snprintf(error, SQL_ERROR_SIZE, "%s", postgres->sql.error);
        postgres_close(&postgres->sql);
        return CH_ERR_IO;
    }
    *out = &postgres->sql;
    return CH_OK;
}
