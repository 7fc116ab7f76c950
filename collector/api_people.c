// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/query/store_people.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/filter.h"
#include "collector/requests/made_tokens.h"

enum { ERASE_MS = 5000, DETAIL_SIZE = 400 };

static void append_audit_entry(void *context, const struct store_audit_entry *entry)
{
    char time[TIMESTAMP_SIZE];
    timestamp_write(entry->time_ms, time);
    json_array_append_new(context,
                          json_pack("{s:s, s:s, s:s, s:s, s:s}", "time", time, "who",
                                    entry->who, "project", entry->project, "what",
                                    entry->what, "detail", entry->detail));
}

void api_list_audit(struct http_request *request)
{
    const char *text = http_parameter_value(request, "q");
    if (!filter_knows(request, "q"))
        return;
    json_t *rows = json_array();
    enum ch_status status =
        store_list_audit(collector_of(request)->store, request->who.project,
                         text != NULL ? text : "", append_audit_entry, rows);
    api_answer_store(request, status, "audit", json_pack("{s:o}", "audit", rows));
}

static void append_token(void *context, const struct store_token *token)
{
    char scopes[64];
    access_write_scopes(token->scopes, scopes, sizeof(scopes));
    json_array_append_new(
        context,
        json_pack("{s:s%, s:s, s:s, s:s, s:o, s:o, s:s}", "id", token->sum,
                  (size_t)MADE_TOKEN_ID_SIZE - 1, "name", token->name, "scopes", scopes,
                  "project", token->project, "expires",
                  token->expires_ms != 0 ? api_timestamp_json(token->expires_ms)
                                         : json_null(),
                  "created", api_timestamp_json(token->created_ms), "who", token->who));
}

void api_list_tokens(struct http_request *request)
{
    json_t *rows = json_array();
    enum ch_status status = made_tokens_list(request, append_token, rows);
    api_answer_store(request, status, "token", json_pack("{s:o}", "tokens", rows));
}

void api_make_token(struct http_request *request)
{
    char token[MADE_TOKEN_SIZE];
    char sum[SHA256_HEX_SIZE];
    json_error_t wrong;
    struct made_token asked = { 0 };
    json_auto_t *object = api_body_json(request);
    if (json_unpack_ex(object, &wrong, JSON_STRICT, "{s:s, s:s, s?s, s?s}", "name",
                       &asked.name, "scopes", &asked.scopes, "project", &asked.project,
                       "expires", &asked.expires) != 0) {
        http_fail(request, 400,
                  "the body is no object with name and scopes, and at most project and"
                  " expires, all of them strings");
        return;
    }
    if (!made_token_make(request, &asked, token))
        return;
    sha256_hex(token, strlen(token), sum);
    api_answer_json(request, 201,
                    json_pack("{s:s%, s:s}", "id", sum, (size_t)MADE_TOKEN_ID_SIZE - 1,
                              "token", token));
}

void api_revoke_token(struct http_request *request)
{
    if (made_token_revoke(request, request->id))
        api_answer_json(request, 200, json_pack("{s:s}", "revoked", request->id));
}

// names_somebody returns true if the filter is about one host or the value of a tag: a
// mistake must not remove everything.
static bool names_somebody(const struct store_filter *filter)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if ((term->key == STORE_KEY_HOST || term->key == STORE_KEY_TAG) &&
            !term->negated && !term->alternative && !term->wildcard)
            return true;
    }
    return false;
}

// erase_for removes reports until none is left, or the request has taken long enough.
// With the last one their words leave the searches.
static enum ch_status erase_for(struct store *store, const struct store_filter *filter,
                                size_t *out_removed, bool *out_more)
{
    int64_t until_ms = timestamp_now() + ERASE_MS;
    char error[STORE_ERROR_SIZE];
    *out_removed = 0;
    *out_more = true;
    while (*out_more && timestamp_now() < until_ms) {
        size_t removed = 0;
        enum ch_status status = store_erase(store, filter, &removed, error);
        if (status != CH_OK)
            return status;
        *out_removed += removed;
        *out_more = removed == STORE_TRIM_STEP;
    }
    int64_t word = 0;
    bool more_words = !*out_more;
    while (more_words) {
        enum ch_status status = store_sweep_words(store, &word, &more_words, error);
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

// name_users has the filter match users by their other names: reports of a store before
// layout 19, and those taken with another `--users`, have them. false: there are none.
static bool name_users(struct filter *filter)
{
    bool some = false;
    for (size_t i = 0; i < filter->search.count; i++) {
        if (filter->search.said[i].user == NULL || filter->store.terms[i].negated)
            continue;
        filter->store.terms[i].value = filter->search.said[i].user;
        some = true;
    }
    return some;
}

void api_erase_reports(struct http_request *request)
{
    struct filter filter;
    struct text CH_CLEANUP(text_deinit) words = { 0 };
    char detail[DETAIL_SIZE];
    size_t removed = 0;
    size_t named = 0;
    bool more = false;
    if (!filter_read(request, 1, &filter))
        return;
    if (!names_somebody(&filter.store)) {
        http_fail(request, 400,
                  "name whose reports are removed: host=NAME, user=NAME or"
                  " tag=KEY:VALUE");
        return;
    }
    search_write(&filter.search, SIZE_MAX, &words);
    (void)snprintf(detail, sizeof(detail), "%s", text_string(&words));
    // Noted before: what was begun is known even if the collector is killed meanwhile.
    if (!api_audit(request, "erase", detail))
        return;
    enum ch_status status =
        erase_for(collector_of(request)->store, &filter.store, &removed, &more);
    if (status == CH_OK && !more && name_users(&filter))
        status = erase_for(collector_of(request)->store, &filter.store, &named, &more);
    if (status == CH_OK)
        api_answer_json(request, 200,
                        json_pack("{s:I, s:b}", "removed",
                                  (json_int_t)removed + (json_int_t)named, "more",
                                  more));
    else
        api_fail_store(request, status, "report");
}
