// SPDX-License-Identifier: Apache-2.0
#include "collector/query/releases.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collector/database/timestamp.h"
#include "collector/entry/release_order.h"
#include "report/json/json_writer.h"

enum { RECENT_DAYS = 14, ADOPTED_PART = 10 };

void releases_deinit(struct releases *releases)
{
    free(releases->list);
    *releases = (struct releases){ 0 };
}

static void take_release(void *context, const struct sql_row *row)
{
    struct releases *releases = context;
    if (!array_reserve(&releases->list, &releases->capacity, releases->count,
                       sizeof(releases->list[0]))) {
        releases->failed = true;
        return;
    }
    struct release *out = &releases->list[releases->count++];
    *out = (struct release){ .count = sql_column_number(row, "count"),
                             .recent = sql_column_number(row, "recent"),
                             .first_seen_ms = sql_column_number(row, "first_seen"),
                             .last_seen_ms = sql_column_number(row, "last_seen"),
                             .place = sql_column_number(row, "place"),
                             .began = sql_column_number(row, "began") != 0 };
    entry_copy(out->project, sizeof(out->project), sql_column_text(row, "project"));
    entry_copy(out->program, sizeof(out->program), sql_column_text(row, "program"));
    entry_copy(out->name, sizeof(out->name), sql_column_text(row, "release"));
}

static int compare_programs(const struct release *a, const struct release *b)
{
    int order = strcmp(a->project, b->project);
    return order != 0 ? order : strcmp(a->program, b->program);
}

static int by_program(const void *a, const void *b)
{
    const struct release *x = a;
    const struct release *y = b;
    int order = compare_programs(x, y);
    if (order == 0)
        order = (x->first_seen_ms < y->first_seen_ms) -
                (x->first_seen_ms > y->first_seen_ms);
    return order != 0 ? order : strcmp(x->name, y->name);
}

// is_newer_release compares by declared places, else by numbers, else by when they were
// first seen.
static bool is_newer_release(const struct release *a, const struct release *b)
{
    int order = 0;
    if (a->place >= 0 && b->place >= 0)
        return a->place > b->place;
    if (release_order(a->name, b->name, &order))
        return order > 0;
    return a->first_seen_ms > b->first_seen_ms;
}

size_t releases_program_end(const struct releases *releases, size_t start)
{
    size_t end = start;
    while (end < releases->count &&
           compare_programs(&releases->list[start], &releases->list[end]) == 0)
        end++;
    return end;
}

// order_program puts the newest release first.
static void order_program(struct release *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct release moved = list[i];
        size_t at = 0;
        while (at < i && !is_newer_release(&moved, &list[at]))
            at++;
        memmove(&list[at + 1], &list[at], (i - at) * sizeof(list[0]));
        list[at] = moved;
    }
}

static void mark_fresh(struct release *list, size_t count)
{
    int64_t recent = 0;
    size_t current = count;
    for (size_t i = 0; i < count; i++)
        recent += list[i].recent;
    for (size_t i = 0; i < count && current == count; i++) {
        if (list[i].began && list[i].recent * ADOPTED_PART >= recent)
            current = i;
    }
    for (size_t i = 0; i < count && current == count; i++) {
        if (list[i].began)
            current = i;
    }
    if (current == count)
        current = 0;
    list[current].current = true;
    for (size_t i = 0; i <= current; i++)
        list[i].fresh = true;
}

enum ch_status releases_read(struct sql *sql, const struct releases_of *of,
                             struct releases *out)
{
    *out = (struct releases){ 0 };
    const struct sql_value values[] = {
        sql_text(of->project), sql_text(of->program), sql_text(of->environment),
        sql_number(timestamp_now() / TIMESTAMP_DAY_MS - RECENT_DAYS),
        sql_number(RELEASES_MOST)
    };
    enum ch_status status =
        sql_ask(sql, STORE_LIST_RELEASES, values, 5, take_release, out);
    if (status == CH_OK && out->failed)
        status = CH_ERR_NO_MEMORY;
    if (status != CH_OK || out->count == 0)
        return status;
    qsort(out->list, out->count, sizeof(out->list[0]), by_program);
    for (size_t start = 0; start < out->count;) {
        size_t end = releases_program_end(out, start);
        order_program(&out->list[start], end - start);
        mark_fresh(&out->list[start], end - start);
        start = end;
    }
    return CH_OK;
}

enum ch_status releases_find(struct store *store, const struct releases_of *of,
                             struct releases *out)
{
    struct sql *reader = store_borrow_to_list(store);
    enum ch_status status = releases_read(reader, of, out);
    store_return(store, reader);
    return status;
}

struct day_listing {
    release_day_fn *visit;
    void *context;
};

static void take_release_day(void *context, const struct sql_row *row)
{
    const struct day_listing *listing = context;
    const struct release_day day = { .project = sql_column_text(row, "project"),
                                     .program = sql_column_text(row, "program"),
                                     .release = sql_column_text(row, "release"),
                                     .day = sql_column_number(row, "day"),
                                     .count = sql_column_number(row, "count") };
    listing->visit(listing->context, &day);
}

enum ch_status releases_list_days(struct store *store, const struct releases_of *of,
                                  const int64_t first_and_last[2],
                                  release_day_fn *visit, void *context)
{
    struct day_listing listing = { visit, context };
    const struct sql_value values[] = { sql_text(of->project), sql_text(of->program),
                                        sql_text(of->environment),
                                        sql_number(first_and_last[0]),
                                        sql_number(first_and_last[1]) };
    return store_ask(store, STORE_RELEASE_DAYS, values, 5, take_release_day, &listing);
}

enum ch_status releases_write_fresh(const struct releases *releases, struct text *out)
{
    CH_CLEANUP(json_writer_deinit) struct json_writer json;
    json_writer_init(&json, -1);
    json_write_array(&json);
    for (size_t i = 0; i < releases->count; i++) {
        const struct release *release = &releases->list[i];
        CH_CLEANUP(text_deinit) struct text key = { 0 };
        text_appendf(&key, "%s\n%s\n%s", release->project, release->program,
                     release->name);
        if (release->fresh && text_ok(&key))
            json_write_string(&json, key.bytes);
    }
    json_write_end(&json, ']');
    if (json_writer_finish(&json) != CH_OK)
        return CH_ERR_NO_MEMORY;
    text_append(out, json.text.bytes, json.text.size);
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

static enum ch_status declare_order(struct sql *sql, void *context)
{
    const struct store_order *order = context;
    const struct sql_value of[] = { sql_text(order->project),
                                    sql_text(order->program) };
    sql_queue(sql, STORE_ORDER_FORGET, of, 2, NULL, NULL);
    for (size_t i = 0; i < order->count; i++) {
        const struct sql_value values[] = { of[0], of[1], sql_text(order->names[i]),
                                            sql_number((int64_t)i),
                                            sql_number(timestamp_now()) };
        sql_queue(sql, STORE_ORDER_ADD, values, 5, NULL, NULL);
    }
    return sql_flush(sql);
}

enum ch_status store_declare_order(struct store *store, const struct store_order *order,
                                   char error[STORE_ERROR_SIZE])
{
    struct store_job job = { .what = "keep the order of releases",
                             .alone = true,
                             .work = declare_order,
                             .context = (void *)(uintptr_t)order };
    return store_transact(store, &job, error);
}
