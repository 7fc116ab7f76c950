// SPDX-License-Identifier: Apache-2.0
//
// What is looked up before a query is put together: how many facets its terms have, and
// the groups that rise, which takes a look at the days of all groups.
#include <pthread.h>

#include "collector/database/moment.h"
#include "collector/store/store_query.h"
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

// look_count counts the facets that have the term, up to one more than most.
static enum ch_status look_count(struct sql *sql, const struct store_term *term,
                                 int64_t most, int64_t *out)
{
    CH_CLEANUP(store_query_deinit)
    struct store_query query = { .dialect = sql->dialect };
    store_query_add(&query, "SELECT count(*) FROM (");
    store_query_add_wide_probe(&query, term, most + 1);
    store_query_add(&query, ") w");
    return store_query_run(&query, sql, sql_take_number, out);
}

// look_at_texts estimates how many titles, summaries and other columns contain a word.
static enum ch_status look_at_texts(struct sql *sql, const struct store_term *term,
                                    int64_t *out)
{
    CH_CLEANUP(store_query_deinit)
    struct store_query query = { .dialect = sql->dialect };
    store_query_estimate_texts(&query, term->value);
    return store_query_run(&query, sql, sql_take_number, out);
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
    if (!store_query_finds_part(term) ||
        store_query_has_trigram(sql->dialect, term->value))
        status = look_count(sql, term, most, &count);
    if (status == CH_OK && term->key == STORE_KEY_WORD && count <= most &&
        sql->dialect == SQL_POSTGRES)
        status = look_at_texts(sql, term, &count);
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
    CH_CLEANUP(store_query_deinit)
    struct store_query query = { .dialect = sql->dialect };
    int64_t count = 0;
    store_query_add_number(
        &query, "SELECT count(*) FROM (SELECT 1 FROM groups LIMIT ?) w", MANY_GROUPS);
    enum ch_status status = store_query_run(&query, sql, sql_take_number, &count);
    *out = count == MANY_GROUPS;
    return status;
}

static enum ch_status look_at_days(struct sql *sql, struct text *out)
{
    CH_CLEANUP(store_query_deinit)
    struct store_query query = { .dialect = sql->dialect };
    store_query_add(&query, "SELECT g.number FROM groups g WHERE ");
    store_query_add_rising(&query);
    enum ch_status status = store_query_run(&query, sql, look_take_rising, out);
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
    enum ch_status status = sql_query(sql, sql_statement_text(sql, STORE_LAST_REPORT),
                                      NULL, 0, sql_take_number, &last);
    *out = last >= store->many_reports;
    return status;
}

enum ch_status store_query_look(struct store *store, struct sql *sql,
                                const struct store_filter *filter,
                                struct store_look *out)
{
    enum ch_status status = CH_OK;
    if (store_query_counts(filter))
        status = look_at_size(store, sql, &out->large);
    for (size_t i = 0; i < filter->term_count && status == CH_OK; i++) {
        if (filter->terms[i].key == STORE_KEY_RISING && out->rising.size == 0)
            status = look_for_risen(store, sql, &out->rising);
        else
            status = look_at_term(sql, filter, i, out);
    }
    return status;
}
