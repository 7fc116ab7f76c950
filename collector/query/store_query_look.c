// SPDX-License-Identifier: Apache-2.0
//
// What is looked up before a query is put together: how many facets its terms have,
// which releases are new, and the groups that rise.
//
// A group rises if it has more reports in seven days than in the seven before, beyond
// what the other crashes of its program do: with p their share of these seven days, its
// reports of both weeks would fall into the last one like throws of a coin of p. What
// is listed is so unlikely (twice the log-likelihood ratio, G), the least likely first.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system/file.h"

#include "collector/database/timestamp.h"
#include "collector/query/releases.h"
#include "collector/query/store_query.h"
#include "collector/store/store_rising.h"

enum {
    STORE_WIDE = 5000,       // facets of a term are listed; of more, groups are asked
    STORE_WIDE_WORD = 20000, // that takes longer for words and hosts with wildcards
    STORE_MANY = 1000,       // facets: of the groups of fewer all reports are sorted
    MANY_GROUPS = 10000,     // what rises is kept where there are as many
    RISING_DAYS = 7,
    RISING_MOST = 200,
};

void store_look_deinit(struct store_look *look)
{
    text_deinit(&look->rising);
    text_deinit(&look->fresh);
}

// look_count runs a statement that counts what has the term.
static enum ch_status look_count(struct sql *sql, enum store_statement statement,
                                 const struct store_term *term, int64_t most,
                                 int64_t *out)
{
    struct store_filter filter = { .terms = { *term },
                                   .term_count = 1,
                                   .limit = (size_t)most };
    filter.terms[0].alternative = false;
    filter.terms[0].joined = false;
    CH_CLEANUP(store_query_deinit) struct store_query query;
    store_query_begin(&query, sql->dialect, &filter, NULL);
    return store_query_run(&query, sql, statement, sql_take_number, out);
}

static enum ch_status look_at_term(struct sql *sql, const struct store_filter *filter,
                                   size_t i, struct store_look *out)
{
    const struct store_term *term = &filter->terms[i];
    if (!store_query_is_indexed(sql->dialect, term))
        return CH_OK;
    bool slow = term->key == STORE_KEY_WORD || term->wildcard;
    int64_t most = slow ? STORE_WIDE_WORD : STORE_WIDE;
    int64_t count = most + 1;
    enum ch_status status = CH_OK;
    if (store_query_has_trigram(sql->dialect, term))
        status = look_count(sql, STORE_PROBE_TERM, term, most, &count);
    if (status == CH_OK && term->key == STORE_KEY_WORD && count <= most &&
        sql->dialect == SQL_POSTGRES)
        status = look_count(sql, STORE_ESTIMATE_TEXTS, term, most, &count);
    out->wide[i] = count > most;
    out->many[i] = count > STORE_MANY;
    return status;
}

// look_take_cached takes the cached list of groups that rise.
static bool look_take_cached(struct store *store, struct text *out)
{
    pthread_mutex_lock(&store->lock);
    bool cached = cache_age_take(&store->rising_age, timestamp_now());
    if (cached)
        text_append(out, store->rising.bytes, store->rising.size);
    pthread_mutex_unlock(&store->lock);
    return cached;
}

static void look_cache(struct store *store, const struct text *list, int64_t now_ms)
{
    pthread_mutex_lock(&store->lock);
    text_clear(&store->rising);
    text_append(&store->rising, list->bytes, list->size);
    cache_age_renew(&store->rising_age, list->size != 0 && text_ok(&store->rising),
                    now_ms);
    pthread_mutex_unlock(&store->lock);
}

// RISING_LEAST is the G that one of a hundred has at random.
#define RISING_LEAST 6.6

struct risen_group {
    int64_t number;
    char project[ENTRY_PROJECT_SIZE];
    char program[sizeof(((struct entry *)NULL)->executable)];
    int64_t recent;
    int64_t before;
    double unlikely;
};

struct risen_groups {
    struct risen_group *list;
    size_t count;
    size_t capacity;
    bool failed;
};

static void risen_deinit(struct risen_groups *groups)
{
    free(groups->list);
}

static void look_take_rising(void *context, const struct sql_row *row)
{
    struct risen_groups *groups = context;
    if (!array_reserve(&groups->list, &groups->capacity, groups->count,
                       sizeof(groups->list[0]))) {
        groups->failed = true;
        return;
    }
    struct risen_group *group = &groups->list[groups->count++];
    *group = (struct risen_group){ .number = sql_column_number(row, "number"),
                                   .recent = sql_column_number(row, "recent"),
                                   .before = sql_column_number(row, "before") };
    entry_copy(group->project, sizeof(group->project), sql_column_text(row, "project"));
    entry_copy(group->program, sizeof(group->program), sql_column_text(row, "program"));
}

static double log_part(double count, double expected)
{
    return count > 0 ? count * log(count / expected) : 0;
}

// weigh_risen compares a group with the other reports of its program in both weeks; a
// few are added to both, so that few others decide nothing.
static void weigh_risen(struct risen_group *group, int64_t recent, int64_t before)
{
    const double few = 5;
    double others = (double)(recent > group->recent ? recent - group->recent : 0) + few;
    double others_before =
        (double)(before > group->before ? before - group->before : 0) + few;
    double share = others / (others + others_before);
    double all = (double)(group->recent + group->before);
    double expected = all * share;
    bool doubled =
        (double)group->recent * (1 - share) >= 2 * (double)group->before * share;
    group->unlikely = doubled ? 2 * (log_part((double)group->recent, expected) +
                                     log_part((double)group->before, all - expected))
                              : 0;
}

static void take_program_weeks(void *context, const struct sql_row *row)
{
    const struct risen_groups *groups = context;
    for (size_t i = 0; i < groups->count; i++) {
        struct risen_group *group = &groups->list[i];
        if (strcmp(group->program, sql_column_text(row, "program")) == 0 &&
            strcmp(group->project, sql_column_text(row, "project")) == 0)
            weigh_risen(group, sql_column_number(row, "recent"),
                        sql_column_number(row, "before"));
    }
}

static int by_unlikeliness(const void *a, const void *b)
{
    const struct risen_group *x = a;
    const struct risen_group *y = b;
    if (x->unlikely != y->unlikely)
        return x->unlikely < y->unlikely ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static enum ch_status look_for_many(struct sql *sql, bool *out)
{
    const struct sql_value most = sql_number(MANY_GROUPS);
    int64_t count = 0;
    enum ch_status status =
        sql_ask(sql, STORE_COUNT_SOME_GROUPS, &most, 1, sql_take_number, &count);
    *out = count == MANY_GROUPS;
    return status;
}

static enum ch_status look_at_days(struct sql *sql, struct text *out)
{
    CH_CLEANUP(risen_deinit) struct risen_groups groups = { 0 };
    int64_t today = timestamp_now() / TIMESTAMP_DAY_MS;
    int64_t week = today - RISING_DAYS;
    const struct sql_value days[] = { sql_number((week + 1) * TIMESTAMP_DAY_MS),
                                      sql_number(week), sql_number(today),
                                      sql_number(week - RISING_DAYS) };
    const struct sql_value weeks[] = { days[0], days[1], days[2], days[3],
                                       sql_number((week - RISING_DAYS + 1) *
                                                  TIMESTAMP_DAY_MS) };
    enum ch_status status =
        sql_ask(sql, STORE_RISEN, days, 4, look_take_rising, &groups);
    if (status == CH_OK)
        status =
            sql_ask(sql, STORE_PROGRAM_WEEKS, weeks, 5, take_program_weeks, &groups);
    if (status == CH_OK && groups.failed)
        status = CH_ERR_NO_MEMORY;
    if (status == CH_OK && groups.count != 0)
        qsort(groups.list, groups.count, sizeof(groups.list[0]), by_unlikeliness);
    for (size_t i = 0;
         i < groups.count && i < RISING_MOST && groups.list[i].unlikely >= RISING_LEAST;
         i++)
        store_list_append(out, groups.list[i].number);
    (void)store_list_end(sql, out);
    return status == CH_OK && !text_ok(out) ? CH_ERR_NO_MEMORY : status;
}

static enum ch_status look_for_risen(struct store *store, struct sql *sql,
                                     struct text *out)
{
    bool many = false;
    if (look_take_cached(store, out))
        return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
    enum ch_status status = look_at_days(sql, out);
    if (status == CH_OK)
        status = look_for_many(sql, &many);
    if (status == CH_OK && many)
        look_cache(store, out, timestamp_now());
    return status;
}

enum ch_status store_renew_rising(struct store *store, int64_t now_ms)
{
    struct text CH_CLEANUP(text_deinit) list = { 0 };
    bool many = false;
    pthread_mutex_lock(&store->lock);
    bool due = cache_age_is_due(&store->rising_age, true, now_ms);
    pthread_mutex_unlock(&store->lock);
    if (!due)
        return CH_OK;
    struct sql *sql = store_borrow_to_list(store);
    enum ch_status status = look_for_many(sql, &many);
    if (status == CH_OK && many)
        status = look_at_days(sql, &list);
    store_return(store, sql);
    if (status == CH_OK)
        look_cache(store, &list, now_ms);
    return status;
}

// look_at_size looks at the number of the last report, which is at hand.
static enum ch_status look_at_size(struct store *store, struct sql *sql, bool *out)
{
    int64_t last = 0;
    enum ch_status status =
        sql_ask(sql, STORE_LAST_REPORT, NULL, 0, sql_take_number, &last);
    *out = last >= store->many_reports;
    return status;
}

// look_for_fresh finds the releases that are new among those of the program and the
// environment that the filter names.
static enum ch_status look_for_fresh(struct sql *sql, const struct store_filter *filter,
                                     struct text *out)
{
    struct releases_of of = { "", "", "" };
    if (filter->project != NULL)
        of.project = filter->project;
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (term->key == STORE_KEY_PROGRAM && !term->negated && !term->alternative &&
            !term->wildcard)
            of.program = file_name(term->value);
        if (term->key == STORE_KEY_ENVIRONMENT && !term->negated &&
            !term->alternative && !term->wildcard)
            of.environment = term->value;
    }
    CH_CLEANUP(releases_deinit) struct releases releases = { 0 };
    enum ch_status status = releases_read(sql, &of, &releases);
    return status == CH_OK ? releases_write_fresh(&releases, out) : status;
}

enum ch_status store_query_look(struct store *store, struct sql *sql,
                                const struct store_filter *filter,
                                struct store_look *out)
{
    enum ch_status status = CH_OK;
    bool sized = false;
    if (filter->sort == STORE_SORT_RISING)
        status = look_for_risen(store, sql, &out->rising);
    for (size_t i = 0; i < filter->term_count && status == CH_OK; i++) {
        enum store_key key = filter->terms[i].key;
        if (!sized && key < STORE_KEY_FIRST_RELEASE) {
            sized = true;
            status = look_at_size(store, sql, &out->large);
        }
        if (status != CH_OK)
            break;
        if (key == STORE_KEY_RISING && out->rising.size == 0)
            status = look_for_risen(store, sql, &out->rising);
        else if (key == STORE_KEY_NEW && out->fresh.size == 0)
            status = look_for_fresh(sql, filter, &out->fresh);
        else
            status = look_at_term(sql, filter, i, out);
    }
    return status;
}
