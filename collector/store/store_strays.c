// SPDX-License-Identifier: Apache-2.0
//
// Where a store's bodies are, and what is removed there: segments of which no body is
// left, and objects that no row names. Both rest for a day first: somebody may be about
// to refer to them.
#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/store/store_bodies.h"
#include "collector/store/store_internal.h"
#include "collector/store/store_segments.h"
#include "report/file/report_id.h"

enum { DROPPED_AT_ONCE = 64 };

static void take_objects_id(void *context, const struct sql_row *row)
{
    struct store *store = context;
    (void)snprintf(store->objects_id, sizeof(store->objects_id), "%s",
                   sql_column_text(row, "id"));
}

// choose_folder gives the store a folder of its own among the objects, for ever, so
// that no store takes another one's objects for strays.
static enum ch_status choose_folder(struct sql *sql, void *context)
{
    struct store *store = context;
    const struct sql_value id = sql_text(store->objects_owner);
    enum ch_status status = sql_ask(sql, STORE_OBJECTS_CHOOSE, &id, 1, NULL, NULL);
    // A SQLite file is one collector's: who packed is not there any more.
    if (status == CH_OK && sql->dialect == SQL_SQLITE)
        status = sql_ask(sql, STORE_OBJECTS_FREE, NULL, 0, NULL, NULL);
    if (status == CH_OK)
        status = sql_ask(sql, STORE_OBJECTS_ID, NULL, 0, take_objects_id, store);
    return status;
}

enum ch_status store_objects_folder(struct store *store, const char **out,
                                    char error[STORE_ERROR_SIZE])
{
    struct store_job job = { .what = "keep where objects are",
                             .work = choose_folder,
                             .context = store };
    enum ch_status status = CH_OK;
    if (store->objects_id[0] == 0 && !store->reading) {
        report_id_make((uint64_t)timestamp_now(), store->objects_owner);
        status = store_transact(store, &job, error);
    }
    if (status == CH_OK)
        *out = store->objects_id;
    return status;
}

enum ch_status store_use_objects(struct store *store, struct object_store *objects,
                                 char error[STORE_ERROR_SIZE])
{
    struct store_staged staged;
    const char *folder = NULL;
    (void)snprintf(error, STORE_ERROR_SIZE, "cannot read where bodies are");
    enum ch_status status = store_staged_of(store, &staged);
    if (status == CH_OK && objects == NULL && staged.segments != 0) {
        (void)snprintf(error, STORE_ERROR_SIZE,
                       "%lld segments of bodies are not in the database: start with the"
                       " --body-store that has them",
                       (long long)staged.segments);
        return CH_ERR_UNSUPPORTED;
    }
    if (status == CH_OK && objects != NULL)
        status = store_objects_folder(store, &folder, error);
    if (status == CH_OK && objects != NULL)
        store->objects = objects;
    return status;
}

// dropping is what is removed in one step.
struct dropping {
    struct store *store;
    struct object_store *objects_of;
    enum store_statement named; // a query that counts the rows which name an object
    int64_t before_ms;
    struct {
        int64_t number; // of its row; 0: it has none
        char name[OBJECT_NAME_SIZE];
    } objects[DROPPED_AT_ONCE];
    size_t count;
    enum ch_status status;
};

static void take_dropped_segment(void *context, const struct sql_row *row)
{
    struct dropping *dropping = context;
    if (dropping->count == DROPPED_AT_ONCE)
        return;
    dropping->objects[dropping->count].number = sql_column_number(row, "number");
    (void)snprintf(dropping->objects[dropping->count++].name, OBJECT_NAME_SIZE, "%s",
                   sql_column_text(row, "name"));
}

static enum ch_status forget_segments(struct sql *sql, void *context)
{
    const struct dropping *dropping = context;
    enum ch_status status = CH_OK;
    for (size_t i = 0; i < dropping->count && status == CH_OK; i++) {
        const struct sql_value number = sql_number(dropping->objects[i].number);
        status = sql_ask(sql, STORE_SEGMENT_FORGET, &number, 1, NULL, NULL);
    }
    return status;
}

static enum ch_status drop_objects(const struct dropping *dropping,
                                   char error[STORE_ERROR_SIZE])
{
    char why[OBJECT_WHY_SIZE] = "";
    enum ch_status status = CH_OK;
    for (size_t i = 0; i < dropping->count && status == CH_OK; i++)
        status =
            object_store_remove(dropping->objects_of, dropping->objects[i].name, why);
    if (status != CH_OK)
        (void)snprintf(error, STORE_ERROR_SIZE, "cannot remove an object: %.200s", why);
    return status;
}

enum ch_status store_drop_segments(struct store *store, int64_t now_ms,
                                   size_t *out_dropped, char error[STORE_ERROR_SIZE])
{
    struct dropping dropping = { .store = store, .objects_of = store->objects };
    struct store_job job = { .what = "forget segments",
                             .work = forget_segments,
                             .context = &dropping };
    *out_dropped = 0;
    if (store->objects == NULL)
        return CH_OK;
    const struct sql_value values[] = { sql_number(now_ms - TIMESTAMP_DAY_MS),
                                        sql_number(DROPPED_AT_ONCE) };
    (void)snprintf(error, STORE_ERROR_SIZE, "cannot list segments");
    enum ch_status status = store_ask(store, STORE_SEGMENTS_EMPTY, values, 2,
                                      take_dropped_segment, &dropping);
    if (status != CH_OK || dropping.count == 0)
        return status;
    // The objects first: what remains of a failure is a row that leads here again.
    status = drop_objects(&dropping, error);
    if (status == CH_OK)
        status = store_transact(store, &job, error);
    if (status == CH_OK)
        *out_dropped = dropping.count;
    return status;
}

// take_stray takes an object that is old and that no row names.
static void take_stray(void *context, const struct object_seen *object)
{
    struct dropping *dropping = context;
    int64_t found = 0;
    if (object->changed_ms >= dropping->before_ms || dropping->status != CH_OK ||
        dropping->count == DROPPED_AT_ONCE || strlen(object->name) >= OBJECT_NAME_SIZE)
        return;
    const struct sql_value name = sql_text(object->name);
    dropping->status =
        store_ask(dropping->store, dropping->named, &name, 1, sql_take_number, &found);
    if (dropping->status == CH_OK && found == 0)
        (void)snprintf(dropping->objects[dropping->count++].name, OBJECT_NAME_SIZE,
                       "%s", object->name);
}

// drop_strays removes what is below one of this store's folders.
static enum ch_status drop_strays(struct dropping *dropping, const char *below,
                                  size_t *out_dropped, char error[STORE_ERROR_SIZE])
{
    char why[OBJECT_WHY_SIZE] = "";
    char folder[OBJECT_NAME_SIZE];
    *out_dropped = 0;
    (void)snprintf(folder, sizeof(folder), "%s/%s", below, dropping->store->objects_id);
    enum ch_status status =
        object_store_list(dropping->objects_of, folder, take_stray, dropping, why);
    if (status != CH_OK)
        (void)snprintf(error, STORE_ERROR_SIZE, "cannot list objects: %.200s", why);
    else if (dropping->status != CH_OK)
        (void)snprintf(error, STORE_ERROR_SIZE, "cannot read what objects there are");
    if (status == CH_OK)
        status = dropping->status;
    if (status == CH_OK)
        status = drop_objects(dropping, error);
    if (status == CH_OK)
        *out_dropped = dropping->count;
    return status;
}

enum ch_status store_drop_strays(struct store *store, int64_t now_ms,
                                 size_t *out_dropped, char error[STORE_ERROR_SIZE])
{
    struct dropping dropping = {
        .store = store,
        .objects_of = store->objects,
        .named = STORE_SEGMENT_NAMED,
        .before_ms = now_ms - TIMESTAMP_DAY_MS,
    };
    *out_dropped = 0;
    return store->objects != NULL ? drop_strays(&dropping, "bodies", out_dropped, error)
                                  : CH_OK;
}

enum ch_status store_drop_stray_symbols(struct store *store,
                                        struct object_store *objects, int64_t now_ms,
                                        size_t *out_dropped,
                                        char error[STORE_ERROR_SIZE])
{
    struct dropping dropping = {
        .store = store,
        .objects_of = objects,
        .named = STORE_SYMBOL_NAMED,
        .before_ms = now_ms - TIMESTAMP_DAY_MS,
    };
    return drop_strays(&dropping, "symbols", out_dropped, error);
}
