// SPDX-License-Identifier: Apache-2.0
#include "collector/query/store_people.h"

#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/query/store_query.h"

enum ch_status store_login_add(struct store *store, const struct store_login *login,
                               char error[STORE_ERROR_SIZE])
{
    int64_t over_ms = login->created_ms - (int64_t)STORE_LOGIN_DAYS * TIMESTAMP_DAY_MS;
    const struct sql_value over = sql_number(over_ms);
    const struct sql_value values[] = { sql_text(login->id), sql_text(login->token),
                                        sql_text(login->name), sql_text(login->address),
                                        sql_number(login->created_ms) };
    const struct store_step steps[] = { { STORE_LOGIN_OVER, &over, 1, NULL },
                                        { STORE_LOGIN_ADD, values, 5, NULL } };
    return store_change(store, "keep a session", steps, 2, error);
}

struct login_listing {
    store_login_fn *visit;
    void *context;
    size_t count;
};

static void list_login(void *context, const struct sql_row *row)
{
    struct login_listing *listing = context;
    struct store_login login = { .id = sql_column_text(row, "id"),
                                 .token = sql_column_text(row, "token"),
                                 .name = sql_column_text(row, "name"),
                                 .address = sql_column_text(row, "address"),
                                 .created_ms = sql_column_number(row, "created"),
                                 .seen_ms = sql_column_number(row, "seen") };
    listing->count++;
    listing->visit(listing->context, &login);
}

enum ch_status store_login_find(struct store *store, const char *id,
                                store_login_fn *visit, void *context)
{
    struct login_listing listing = { visit, context, 0 };
    struct sql_value values[] = {
        sql_text(id),
        sql_number(timestamp_now() - (int64_t)STORE_LOGIN_DAYS * TIMESTAMP_DAY_MS),
    };
    enum ch_status status =
        store_ask(store, STORE_LOGIN_FIND, values, 2, list_login, &listing);
    return status == CH_OK && listing.count == 0 ? CH_ERR_NOT_FOUND : status;
}

enum ch_status store_list_logins(struct store *store, store_login_fn *visit,
                                 void *context)
{
    struct login_listing listing = { visit, context, 0 };
    struct sql_value limit = sql_number(STORE_PAGE_MAX);
    return store_ask(store, STORE_LOGINS_LIST, &limit, 1, list_login, &listing);
}

enum ch_status store_login_end(struct store *store, const char *id,
                               char error[STORE_ERROR_SIZE])
{
    const struct sql_value value = sql_text(id);
    const struct store_step step = { STORE_LOGIN_END, &value, 1, NULL };
    return store_change(store, "end a session", &step, 1, error);
}

enum ch_status store_login_seen(struct store *store, const char *id, int64_t now_ms,
                                char error[STORE_ERROR_SIZE])
{
    const struct sql_value values[] = { sql_text(id), sql_number(now_ms) };
    const struct store_step step = { STORE_LOGIN_SEEN, values, 2, NULL };
    return store_change(store, "note a session", &step, 1, error);
}

enum ch_status store_audit_add(struct store *store,
                               const struct store_audit_entry *entry,
                               char error[STORE_ERROR_SIZE])
{
    int64_t now_ms = timestamp_now();
    const struct sql_value old =
        sql_number(now_ms - (int64_t)STORE_AUDIT_DAYS * TIMESTAMP_DAY_MS);
    const struct sql_value values[] = { sql_number(now_ms), sql_text(entry->who),
                                        sql_text(entry->project), sql_text(entry->what),
                                        sql_text(entry->detail) };
    const struct store_step steps[] = { { STORE_AUDIT_FORGET, &old, 1, NULL },
                                        { STORE_AUDIT_ADD, values, 5, NULL } };
    return store_change(store, "note what was done", steps, 2, error);
}

struct audit_listing {
    store_audit_fn *visit;
    void *context;
};

static void list_audit_entry(void *context, const struct sql_row *row)
{
    const struct audit_listing *listing = context;
    struct store_audit_entry entry = { .time_ms = sql_column_number(row, "time"),
                                       .who = sql_column_text(row, "who"),
                                       .project = sql_column_text(row, "project"),
                                       .what = sql_column_text(row, "what"),
                                       .detail = sql_column_text(row, "detail") };
    listing->visit(listing->context, &entry);
}

enum ch_status store_list_audit(struct store *store, const char *project,
                                const char *text, store_audit_fn *visit, void *context)
{
    struct audit_listing listing = { visit, context };
    struct sql_value values[] = { sql_text(project), sql_number(STORE_AUDIT_MOST),
                                  sql_text(text) };
    return store_ask(store, STORE_AUDIT_LIST, values, 3, list_audit_entry, &listing);
}

enum ch_status store_token_add(struct store *store, const struct store_token *token,
                               size_t most, char error[STORE_ERROR_SIZE])
{
    int64_t done_ms = 0;
    const struct sql_value now = sql_number(token->created_ms);
    const struct sql_value values[] = {
        sql_text(token->sum),          sql_text(token->name),
        sql_number(token->scopes),     sql_text(token->project),
        sql_number(token->expires_ms), now,
        sql_text(token->who),          sql_number((int64_t)most)
    };
    const struct store_step steps[] = { { STORE_TOKENS_OVER, &now, 1, NULL },
                                        { STORE_TOKEN_ADD, values, 8, &done_ms } };
    enum ch_status status = store_change(store, "keep a token", steps, 2, error);
    return status == CH_OK && done_ms == 0 ? CH_ERR_LIMIT : status;
}

enum ch_status store_token_remove(struct store *store, const char *sum,
                                  char error[STORE_ERROR_SIZE])
{
    int64_t done_ms = 0;
    const struct sql_value value = sql_text(sum);
    const struct store_step step = { STORE_TOKEN_REMOVE, &value, 1, &done_ms };
    enum ch_status status = store_change(store, "remove a token", &step, 1, error);
    return status == CH_OK && done_ms == 0 ? CH_ERR_NOT_FOUND : status;
}

struct token_listing {
    store_token_fn *visit;
    void *context;
};

static void list_token(void *context, const struct sql_row *row)
{
    const struct token_listing *listing = context;
    const struct store_token token = {
        .sum = sql_column_text(row, "sum"),
        .name = sql_column_text(row, "name"),
        .scopes = (unsigned)sql_column_number(row, "scopes"),
        .project = sql_column_text(row, "project"),
        .expires_ms = sql_column_number(row, "expires"),
        .created_ms = sql_column_number(row, "created"),
        .who = sql_column_text(row, "who"),
    };
    listing->visit(listing->context, &token);
}

enum ch_status store_list_tokens(struct store *store, store_token_fn *visit,
                                 void *context)
{
    struct token_listing listing = { visit, context };
    return store_ask(store, STORE_TOKENS, NULL, 0, list_token, &listing);
}

static void take_salt(void *context, const struct sql_row *row)
{
    entry_copy(context, USER_SALT_SIZE, sql_column_text(row, "salt"));
}

enum ch_status store_user_salt(struct store *store, const char *fresh,
                               char out[USER_SALT_SIZE], char error[STORE_ERROR_SIZE])
{
    const struct sql_value value = sql_text(fresh);
    const struct store_step step = { STORE_SALT_ADD, &value, 1, NULL };
    enum ch_status status = CH_OK;
    out[0] = 0;
    if (fresh != NULL)
        status = store_change(store, "keep a salt", &step, 1, error);
    if (status != CH_OK)
        return status;
    (void)snprintf(error, STORE_ERROR_SIZE, "cannot read the salt of users");
    return store_ask(store, STORE_SALT, NULL, 0, take_salt, out);
}

struct erasing {
    const struct store_filter *filter;
    size_t removed;
    struct text reports;
    struct text groups;
    struct text lost; // facets that nobody has any more
};

static void take_erased(void *context, const struct sql_row *row)
{
    struct erasing *erasing = context;
    erasing->removed++;
    store_list_append(&erasing->reports, sql_column_number(row, "number"));
    store_list_append(&erasing->groups, sql_column_number(row, "group_number"));
}

// forget_user removes the user from what groups count, if the filter is about a user
// alone, or about one of a project.
static enum ch_status forget_user(struct sql *sql, const struct store_filter *filter)
{
    char facet[sizeof(USER_NAME_TAG) + sizeof(((struct entry_tag *)0)->value)] = "";
    const char *project = filter->project;
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (term->negated || term->alternative || term->wildcard)
            return CH_OK;
        if (term->key == STORE_KEY_PROJECT)
            project = term->value;
        else if (term->key != STORE_KEY_TAG || facet[0] != 0 ||
                 strcmp(term->tag, USER_NAME_TAG) != 0)
            return CH_OK;
        else
            (void)snprintf(facet, sizeof(facet), USER_NAME_TAG "\n%s", term->value);
    }
    if (facet[0] == 0 || filter->group != NULL)
        return CH_OK;
    struct sql_value user[] = { sql_text(facet),
                                sql_text(project != NULL ? project : "") };
    sql_queue(sql, STORE_USER_FORGET, user, 2, NULL, NULL);
    sql_queue(sql, STORE_USER_FORGET_FACETS, user, 2, NULL, NULL);
    return sql_flush(sql);
}

static enum ch_status erase_reports(struct sql *sql, void *context)
{
    static const enum store_statement by_report[] = {
        STORE_LOSE_GROUPS,  STORE_LOSE_DAYS,       STORE_REMOVE_TAGS,
        STORE_REMOVE_MARKS, STORE_REMOVE_BODIES,   STORE_REMOVE_JOBS,
        STORE_PLACES_TRIM,  STORE_REMOVE_NAMELESS, STORE_REMOVE_REPORTS,
    };
    struct erasing *erasing = context;
    CH_CLEANUP(store_query_deinit) struct store_query query;
    store_query_begin(&query, sql->dialect, erasing->filter, NULL);
    query.named[VALUE_LIMIT] = sql_number(STORE_TRIM_STEP);
    erasing->removed = 0;
    text_clear(&erasing->reports);
    text_clear(&erasing->groups);
    text_clear(&erasing->lost);
    enum ch_status status = sql_flush(sql);
    if (status == CH_OK)
        status =
            store_query_run(&query, sql, STORE_ERASED_REPORTS, take_erased, erasing);
    if (status == CH_OK && erasing->removed < STORE_TRIM_STEP)
        status = forget_user(sql, erasing->filter);
    if (status != CH_OK || erasing->removed == 0)
        return status;
    struct sql_value reports = store_list_end(sql, &erasing->reports);
    struct sql_value groups = store_list_end(sql, &erasing->groups);
    store_lose_facets(sql, &reports, &erasing->lost); // while marks and tags are there
    for (size_t i = 0; i < sizeof(by_report) / sizeof(by_report[0]); i++)
        sql_queue(sql, by_report[i], &reports, 1, NULL, NULL);
    sql_queue(sql, STORE_SEE_AGAIN, &groups, 1, NULL, NULL);
    status = sql_flush(sql);
    struct sql_value lost = store_list_end(sql, &erasing->lost);
    sql_queue(sql, STORE_DROP_FACETS, &lost, 1, NULL, NULL);
    store_remove_empty(sql, &groups);
    return status == CH_OK ? sql_flush(sql) : status;
}

enum ch_status store_erase(struct store *store, const struct store_filter *filter,
                           size_t *out_removed, char error[STORE_ERROR_SIZE])
{
    struct erasing erasing = { .filter = filter };
    struct store_job job = { .what = "remove reports",
                             .alone = true,
                             .work = erase_reports,
                             .context = &erasing };
    enum ch_status status = store_transact(store, &job, error);
    text_deinit(&erasing.reports);
    text_deinit(&erasing.groups);
    text_deinit(&erasing.lost);
    *out_removed = status == CH_OK ? erasing.removed : 0;
    return status;
}
