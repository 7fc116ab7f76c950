// SPDX-License-Identifier: Apache-2.0
//
// The two halves of the SQLite backend, writing (store_sqlite.c) and reading
// (store_sqlite_read.c), and what they share: a pool of reading connections, each with
// its own view of the database, beside the one connection that writes.
#pragma once
#include <pthread.h>
#include <sqlite3.h>

#include "collector/store_backend.h"

enum {
    STORE_SQLITE_READERS = 8,
    STORE_SQLITE_QUERY_MS = 10000, // a longer query is given up
};

struct store_sqlite_writer {
    sqlite3 *db;
    sqlite3_stmt *statements[16]; // in the order of store_sqlite.c's table
};

struct store_sqlite {
    struct store store;
    struct store_sqlite_writer writer;
    pthread_mutex_t lock; // guards idle and idle_count
    pthread_cond_t returned;
    sqlite3 *idle[STORE_SQLITE_READERS];
    size_t idle_count;
};

// store_sqlite_list_reports and its neighbours are store.h's reading functions.
enum ch_status store_sqlite_list_reports(struct store *base,
                                         const struct store_filter *filter,
                                         store_report_fn *visit, void *context,
                                         char next[STORE_CURSOR_SIZE]);
enum ch_status store_sqlite_list_groups(struct store *base,
                                        const struct store_filter *filter,
                                        store_group_fn *visit, void *context,
                                        char next[STORE_CURSOR_SIZE]);
enum ch_status store_sqlite_find_group(struct store *base, const char *id,
                                       store_group_fn *visit, void *context);
enum ch_status store_sqlite_find_report(struct store *base, const char *id,
                                        store_body_fn *visit, void *context);
enum ch_status store_sqlite_count(struct store *base, struct store_totals *out);
