// SPDX-License-Identifier: Apache-2.0
#include "collector/database/postgres_link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"

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

bool postgres_link_send(struct postgres_link *link)
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

PGresult *postgres_link_result(struct postgres_link *link)
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

void postgres_link_settings(const struct postgres_link *link, bool of_transaction,
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

bool postgres_link_open(struct postgres_link *link, const char *url)
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

bool postgres_link_again(struct postgres_link *link)
{
    if (link_abandoned(link))
        return false;
    PQreset(link->connection);
    return link_begin(link);
}

void postgres_link_close(struct postgres_link *link)
{
    PQfinish(link->connection);
    link->connection = NULL;
}
