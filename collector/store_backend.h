// SPDX-License-Identifier: Apache-2.0
//
// What a backend of a store implements: the functions of store.h, as a table. A backend
// embeds struct store as its first member and documents nothing twice.
#pragma once
#include "collector/store.h"

struct store_backend {
    void (*close)(struct store *store);
    enum ch_status (*add)(struct store *store, struct store_upload *uploads,
                          size_t count, char error[STORE_ERROR_SIZE]);
    enum ch_status (*list_reports)(struct store *store,
                                   const struct store_filter *filter,
                                   store_report_fn *visit, void *context,
                                   char next[STORE_CURSOR_SIZE]);
    enum ch_status (*list_groups)(struct store *store,
                                  const struct store_filter *filter,
                                  store_group_fn *visit, void *context,
                                  char next[STORE_CURSOR_SIZE]);
    enum ch_status (*find_group)(struct store *store, const char *id,
                                 store_group_fn *visit, void *context);
    enum ch_status (*find_report)(struct store *store, const char *id,
                                  store_body_fn *visit, void *context);
    enum ch_status (*count)(struct store *store, struct store_totals *out);
};

struct store {
    const struct store_backend *backend;
};

// store_sqlite_open opens the database file at path.
CH_CHECKED enum ch_status
store_sqlite_open(const char *path, char error[STORE_ERROR_SIZE], struct store **out);
