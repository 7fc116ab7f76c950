// SPDX-License-Identifier: Apache-2.0
//
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
//
// User: sql_postgres.c. No other file includes libpq.
#pragma once
#include <libpq-fe.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { POSTGRES_SETTINGS_SIZE = 1000 };

struct postgres_link {
    PGconn *connection;
    bool reading;
    int64_t limit_ms;           // longest statement; 0: no limit
    const atomic_bool *abandon; // set: waits end and nothing is connected; or NULL
    bool pooled;
    bool late; // a wait has ended without an answer, and so has the connection
};

// postgres_link_open connects to the database that url names, and connects again after
// a loss. On failure PQerrorMessage of the connection says why.
bool postgres_link_open(struct postgres_link *link, const char *url);
bool postgres_link_again(struct postgres_link *link);
void postgres_link_close(struct postgres_link *link);

// postgres_link_settings writes a statement that makes the settings of this program;
// of_transaction: for the current transaction alone.
void postgres_link_settings(const struct postgres_link *link, bool of_transaction,
                            char out[POSTGRES_SETTINGS_SIZE]);

// postgres_link_send sends what libpq has queued.
bool postgres_link_send(struct postgres_link *link);

// postgres_link_result is PQgetResult, which waits at most for the limit.
PGresult *postgres_link_result(struct postgres_link *link);
