// SPDX-License-Identifier: Apache-2.0
//
// Names of places: what the jobs looked up, so that every place is looked up once and
// views read what they show.
#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/store/store_internal.h"
#include "collector/store/store_symbolization.h"

struct place_listing {
    store_place_fn *visit;
    void *context;
};

static void list_place(void *context, const struct sql_row *row)
{
    const struct place_listing *listing = context;
    const struct store_place place = { .build = sql_column_text(row, "build"),
                                       .place = sql_column_text(row, "place"),
                                       .frames = sql_column_text(row, "frames") };
    listing->visit(listing->context, &place);
}

enum ch_status store_list_places(struct store *store, const struct store_place_of *of,
                                 const char *places, store_place_fn *visit,
                                 void *context)
{
    struct place_listing listing = { .visit = visit, .context = context };
    char key[STORE_BUILD_KEY_SIZE];
    store_build_key(of->project, of->build, key);
    struct sql_value values[] = { sql_text(of->build), sql_text(places),
                                  sql_text(key) };
    return store_ask(store, STORE_LIST_PLACES, values, 3, list_place, &listing);
}

enum ch_status store_list_known_places(struct store *store,
                                       const struct store_reports_of *of,
                                       store_place_fn *visit, void *context,
                                       int64_t *out_time)
{
    char prefix[STORE_BUILD_KEY_SIZE];
    store_build_key(of->project, "", prefix);
    struct place_listing listing = { .visit = visit, .context = context };
    struct text CH_CLEANUP(text_deinit) list = { 0 };
    struct sql *reader = store_borrow(store);
    for (size_t i = 0; i < of->count; i++)
        store_list_append(&list, of->numbers[i]);
    struct sql_value values[] = { store_list_end(reader, &list),
                                  sql_number(STORE_KNOWN_PLACES), sql_text(prefix) };
    enum ch_status status =
        sql_ask(reader, STORE_LAST_SYMBOLS, NULL, 0, sql_take_number, out_time);
    if (status == CH_OK)
        status =
            sql_ask(reader, STORE_LIST_KNOWN_PLACES, values, 3, list_place, &listing);
    store_return(store, reader);
    return status;
}

struct place_adding {
    const struct store_place *places;
    size_t count;
    int64_t moment;
};

static enum ch_status add_places(struct sql *sql, void *context)
{
    const struct place_adding *adding = context;
    for (size_t i = 0; i < adding->count; i++) {
        const struct store_place *place = &adding->places[i];
        struct sql_value values[] = { sql_text(place->build), sql_text(place->place),
                                      sql_text(place->frames),
                                      sql_number(adding->moment) };
        sql_queue(sql, STORE_PLACE_ADD, values, 4, NULL, NULL);
    }
    return sql_flush(sql);
}

enum ch_status store_add_places(struct store *store, const struct store_place *places,
                                size_t count, int64_t moment,
                                char error[STORE_ERROR_SIZE])
{
    struct place_adding adding = { places, count, moment };
    struct store_job job = { .what = "keep names of places",
                             .work = add_places,
                             .context = &adding };
    return count != 0 ? store_transact(store, &job, error) : CH_OK;
}

enum ch_status store_name_later(struct store *store, const char *id,
                                enum store_names *out, char error[STORE_ERROR_SIZE])
{
    int64_t until = -1; // of its job; -1: there is none
    const struct sql_value values[] = { sql_text(id), sql_number(timestamp_now()) };
    const struct store_step step = { STORE_JOB_ADD_SEEN, values, 2, NULL };
    enum ch_status status =
        store_ask(store, STORE_JOB_STATE, values, 1, sql_take_number, &until);
    *out = until == 1 ? STORE_NAMES_FAILED : STORE_NAMES_PENDING;
    snprintf(error, STORE_ERROR_SIZE, "cannot read what is to be named");
    if (status != CH_OK || until >= 0)
        return status;
    return store_change(store, "queue a report to be named", &step, 1, error);
}
