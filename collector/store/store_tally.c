// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collector/entry/entry_marks.h"
#include "collector/store/store_internal.h"
#include "collector/store/store_schema.h"

enum {
    DAY_MS = 86400000,
    KIND_DAY = 0, // in place of a facet's kind: number is a day
    VALUE_SIZE = sizeof(((struct entry_tag *)NULL)->key) + 1 +
                 sizeof(((struct entry_tag *)NULL)->value),
};

// store_figure is one occurrence of a day or of a facet of a group. What it counts is
// number, or text, or for a tag text and more.
struct store_figure {
    int64_t group;
    int64_t kind;
    int64_t number;
    const char *text;
    const char *more;
    int64_t time_ms;
};

void store_tally_deinit(struct store_tally *tally)
{
    free(tally->figures);
    *tally = (struct store_tally){ 0 };
}

void store_tally_clear(struct store_tally *tally)
{
    tally->count = 0;
    tally->failed = false;
}

static void tally_add(struct store_tally *tally, const struct store_figure *figure)
{
    if (!array_reserve(&tally->figures, &tally->capacity, tally->count,
                       sizeof(tally->figures[0]))) {
        tally->failed = true;
        return;
    }
    tally->figures[tally->count++] = *figure;
}

static void tally_add_facet(struct store_tally *tally, struct store_figure figure,
                            enum store_facet kind, const char *text)
{
    figure.kind = kind;
    figure.text = text;
    if (text[0] != 0)
        tally_add(tally, &figure);
}

// is_cut_twin is true for a tag with the key of an earlier tag: both keys were cut.
static bool is_cut_twin(const struct entry *entry, size_t tag)
{
    for (size_t i = 0; i < tag; i++) {
        if (strcmp(entry->tags[i].key, entry->tags[tag].key) == 0)
            return true;
    }
    return false;
}

void store_tally_add(struct store_tally *tally, int64_t group,
                     const struct entry *entry)
{
    struct store_figure figure = {
        .group = group, .text = "", .more = "", .time_ms = entry->time_ms
    };
    figure.kind = KIND_DAY;
    figure.number = entry->time_ms / DAY_MS;
    tally_add(tally, &figure);
    figure.kind = FACET_SIGNAL;
    figure.number = entry->signal;
    tally_add(tally, &figure);
    figure.number = 0;
    tally_add_facet(tally, figure, FACET_TITLE, entry->title);
    tally_add_facet(tally, figure, FACET_SUMMARY, entry->summary);
    tally_add_facet(tally, figure, FACET_EXECUTABLE, entry->executable);
    tally_add_facet(tally, figure, FACET_HOSTNAME, entry->hostname);
    tally_add_facet(tally, figure, FACET_RELEASE, entry->release);
    tally_add_facet(tally, figure, FACET_ENVIRONMENT, entry->environment);
    tally_add_facet(tally, figure, FACET_SIGNAL_NAME, entry->signal_name);
    for (const char *mark = entry_next_mark(entry, NULL); mark != NULL;
         mark = entry_next_mark(entry, mark))
        tally_add_facet(tally, figure, (enum store_facet)entry_mark_kind(mark),
                        mark + ENTRY_MARK_VALUE);
    for (size_t i = 0; i < entry->tag_count; i++) {
        if (is_cut_twin(entry, i))
            continue;
        figure.kind = FACET_TAG;
        figure.text = entry->tags[i].key;
        figure.more = entry->tags[i].value;
        tally_add(tally, &figure);
    }
}

static int by_tally_place(const void *a, const void *b)
{
    const struct store_figure *x = a;
    const struct store_figure *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    int order = strcmp(x->text, y->text);
    return order != 0 ? order : strcmp(x->more, y->more);
}

static void queue_day(struct sql *sql, const struct store_figure *figure, int64_t count)
{
    struct sql_value values[] = { sql_number(figure->group), sql_number(figure->number),
                                  sql_number(count) };
    sql_queue(sql, STORE_GAIN_DAY, values, 3, NULL, NULL);
}

static void queue_facet(struct sql *sql, const struct store_figure *figure,
                        int64_t count, int64_t last_ms)
{
    char value[VALUE_SIZE];
    if (figure->kind == FACET_SIGNAL)
        snprintf(value, sizeof(value), "%" PRId64, figure->number);
    else if (figure->kind == FACET_TAG)
        snprintf(value, sizeof(value), "%s\n%s", figure->text, figure->more);
    struct sql_value values[] = {
        sql_number(figure->group),
        sql_number(figure->kind),
        sql_text(figure->kind == FACET_SIGNAL || figure->kind == FACET_TAG
                     ? value
                     : figure->text),
        sql_number(count),
        sql_number(last_ms),
    };
    sql_queue(sql, STORE_GAIN_FACET, values, 5, NULL, NULL);
}

enum ch_status store_tally_queue(struct store_tally *tally, struct sql *sql)
{
    if (tally->failed)
        return CH_ERR_NO_MEMORY;
    if (tally->count != 0)
        qsort(tally->figures, tally->count, sizeof(*tally->figures), by_tally_place);
    for (size_t start = 0; start < tally->count;) {
        const struct store_figure *first = &tally->figures[start];
        int64_t last_ms = first->time_ms;
        size_t end = start;
        for (; end < tally->count && by_tally_place(first, &tally->figures[end]) == 0;
             end++)
            last_ms = tally->figures[end].time_ms > last_ms
                          ? tally->figures[end].time_ms
                          : last_ms;
        int64_t count = (int64_t)(end - start);
        if (first->kind == KIND_DAY)
            queue_day(sql, first, count);
        else
            queue_facet(sql, first, count, last_ms);
        start = end;
    }
    return CH_OK;
}
