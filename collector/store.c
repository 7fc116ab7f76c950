// SPDX-License-Identifier: Apache-2.0
#include "collector/store.h"

#include <stdio.h>
#include <string.h>

#include "collector/store_backend.h"

enum ch_status store_open(const char *name, char error[STORE_ERROR_SIZE],
                          struct store **out)
{
    static const char sqlite[] = "sqlite:";
    size_t length = sizeof(sqlite) - 1;
    if (strncmp(name, sqlite, length) == 0 && name[length] != 0)
        return store_sqlite_open(name + length, error, out);
    snprintf(error, STORE_ERROR_SIZE,
             "cannot open store '%.150s': this build knows sqlite:PATH", name);
    return CH_ERR_UNSUPPORTED;
}

void store_close(struct store *store)
{
    if (store != NULL)
        store->backend->close(store);
}

enum ch_status store_add(struct store *store, struct store_upload *uploads,
                         size_t count, char error[STORE_ERROR_SIZE])
{
    return store->backend->add(store, uploads, count, error);
}

enum ch_status store_list_reports(struct store *store,
                                  const struct store_filter *filter,
                                  store_report_fn *visit, void *context,
                                  char next[STORE_CURSOR_SIZE])
{
    return store->backend->list_reports(store, filter, visit, context, next);
}

enum ch_status store_list_groups(struct store *store, const struct store_filter *filter,
                                 store_group_fn *visit, void *context,
                                 char next[STORE_CURSOR_SIZE])
{
    return store->backend->list_groups(store, filter, visit, context, next);
}

enum ch_status store_find_group(struct store *store, const char *id,
                                store_group_fn *visit, void *context)
{
    return store->backend->find_group(store, id, visit, context);
}

enum ch_status store_find_report(struct store *store, const char *id,
                                 store_body_fn *visit, void *context)
{
    return store->backend->find_report(store, id, visit, context);
}

enum ch_status store_count(struct store *store, struct store_totals *out)
{
    return store->backend->count(store, out);
}
