// SPDX-License-Identifier: Apache-2.0
//
// What is looked up before a query is put together: how many facets its terms have, and
// the groups that rise, which takes a look at the days of all groups.
#include <pthread.h>

#include "collector/database/moment.h"
#include "collector/query/store_query.h"
#include "collector/store/store_rising.h"

enum {
    STORE_WIDE = 5000,       // facets of a term are listed; of more, groups are asked
    STORE_WIDE_WORD = 20000, // that takes longer for words
    STORE_MANY = 1000,       // facets: of the groups of fewer all reports are sorted
    MANY_GROUPS = 10000,     // what rises is kept where there are as many
};

void store_look_deinit(struct store_look *look)
{
    text_deinit(&look->rising);
}

// look_count runs a statement that counts what has the term.
static enum ch_status look_count(struct sql *sql, enum store_statement statement,
                                 const struct store_term *term, int64_t most,
                                 int64_t *out)
{
    const struct store_filter filter = { .terms = { *term },
                                         .term_count = 1,
                                         .limit = (size_t)most };
    CH_CLEANUP(store_query_deinit) struct store_query query;
    store_query_begin(&query, sql->dialect, &filter, NULL);
    return store_query_run(&query, sql, statement, sql_take_number, out);
}

static enum ch_status look_at_term(struct sql *sql, const struct store_filter *filter,
                                   size_t i, struct store_look *out)
{
    const struct store_term *term = &filter->terms[i];
    if (!store_query_has_probe(term))
        return CH_OK;
    int64_t most = term->key == STORE_KEY_WORD ? STORE_WIDE_WORD : STORE_WIDE;
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

// look_take_kept takes what was found to rise a moment ago.
static bool look_take_kept(struct store *store, struct text *out)
{
    pthread_mutex_lock(&store->lock);
    bool kept = kept_take(&store->rising_kept, moment_now());
    if (kept)
        text_append(out, store->rising.bytes, store->rising.size);
    pthread_mutex_unlock(&store->lock);
    return kept;
}

static void look_keep(struct store *store, const struct text *list, int64_t now_ms)
{
    pthread_mutex_lock(&store->lock);
    text_deinit(&store->rising);
    store->rising = (struct text){ 0 };
    text_append(&store->rising, list->bytes, list->size);
    kept_renew(&store->rising_kept, list->size != 0 && text_ok(&store->rising), now_ms);
    pthread_mutex_unlock(&store->lock);
}

static void look_take_rising(void *context, const struct sql_row *row)
{
    store_list_append(context, sql_column_number(row, "number"));
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
    static const struct store_filter all = { 0 };
    CH_CLEANUP(store_query_deinit) struct store_query query;
    store_query_begin(&query, sql->dialect, &all, NULL);
    enum ch_status status =
        store_query_run(&query, sql, STORE_RISEN, look_take_rising, out);
    (void)store_list_end(sql, out);
    return status == CH_OK && !text_ok(out) ? CH_ERR_NO_MEMORY : status;
}

static enum ch_status look_for_risen(struct store *store, struct sql *sql,
                                     struct text *out)
{
    bool many = false;
    if (look_take_kept(store, out))
        return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
    enum ch_status status = look_at_days(sql, out);
    if (status == CH_OK)
        status = look_for_many(sql, &many);
    if (status == CH_OK && many)
        look_keep(store, out, moment_now());
    return status;
}

enum ch_status store_renew_rising(struct store *store, int64_t now_ms)
{
    struct text CH_CLEANUP(text_deinit) list = { 0 };
    bool many = false;
    pthread_mutex_lock(&store->lock);
    bool due = kept_is_due(&store->rising_kept, true, now_ms);
    pthread_mutex_unlock(&store->lock);
    if (!due)
        return CH_OK;
    struct sql *sql = store_borrow_to_list(store);
    enum ch_status status = look_for_many(sql, &many);
    if (status == CH_OK && many)
        status = look_at_days(sql, &list);
    store_return(store, sql);
    if (status == CH_OK)
        look_keep(store, &list, now_ms);
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

enum ch_status store_query_look(struct store *store, struct sql *sql,
                                const struct store_filter *filter,
                                struct store_look *out)
{
    enum ch_status status = CH_OK;
    bool sized = false;
    for (size_t i = 0; i < filter->term_count && status == CH_OK; i++) {
        if (!sized && filter->terms[i].key < STORE_KEY_FIRST_RELEASE) {
            sized = true;
            status = look_at_size(store, sql, &out->large);
        }
        if (status != CH_OK)
            break;
        if (filter->terms[i].key == STORE_KEY_RISING && out->rising.size == 0)
            status = look_for_risen(store, sql, &out->rising);
        else
            status = look_at_term(sql, filter, i, out);
    }
    return status;
}
