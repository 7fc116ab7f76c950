// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/filter.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collector/database/timestamp.h"
#include "collector/query/store_figures.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"

enum { EDITS_MAX = 2 };

// plain are the parameters that are no keys of searches.
static const char *const plain[] = { "q",     "sort",   "for_release",
                                     "group", "cursor", "limit" };
enum { PLAIN_COUNT = sizeof(plain) / sizeof(plain[0]) };

static const char *const sorts[] = {
    [STORE_SORT_LAST_SEEN] = "last_seen", [STORE_SORT_FIRST_SEEN] = "first_seen",
    [STORE_SORT_COUNT] = "count",         [STORE_SORT_MACHINES] = "machines",
    [STORE_SORT_RISING] = "rising",
};

// given_parameter is a parameter that has a value: an empty field of a form counts as
// absent.
static const char *given_parameter(const struct http_request *request, const char *key)
{
    const char *value = http_parameter_value(request, key);
    return value != NULL && value[0] != 0 ? value : NULL;
}

static bool read_filter_limit(struct http_request *request, size_t fallback,
                              size_t *out)
{
    const char *value = given_parameter(request, "limit");
    *out = fallback;
    if (value == NULL)
        return true;
    char *end = NULL;
    unsigned long number = strtoul(value, &end, 10);
    if (!isdigit((unsigned char)value[0]) || *end != 0 || number == 0 ||
        number > STORE_PAGE_MAX) {
        http_fail(request, 400, "limit is not a number from 1 to %d", STORE_PAGE_MAX);
        return false;
    }
    *out = number;
    return true;
}

static bool read_sort(struct http_request *request, enum store_sort *out)
{
    const char *value = given_parameter(request, "sort");
    if (value == NULL)
        return true;
    for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
        if (strcmp(value, sorts[i]) != 0)
            continue;
        *out = (enum store_sort)i;
        return true;
    }
    http_fail(request, 400,
              "sort is not last_seen, first_seen, count, machines or rising");
    return false;
}

static bool is_plain(const char *key)
{
    for (size_t i = 0; i < PLAIN_COUNT; i++) {
        if (strcmp(key, plain[i]) == 0)
            return true;
    }
    return false;
}

static void fail_parameter(struct http_request *request, const char *key)
{
    const char *nearest = search_nearest_key(key);
    size_t fewest = nearest != NULL ? edit_distance(key, nearest) : EDITS_MAX + 1;
    for (size_t i = 0; i < PLAIN_COUNT; i++) {
        if (edit_distance(key, plain[i]) >= fewest)
            continue;
        nearest = plain[i];
        fewest = edit_distance(key, nearest);
    }
    if (nearest != NULL)
        http_fail(request, 400, "there is no parameter `%.40s`, did you mean `%s`?",
                  key, nearest);
    else
        http_fail(request, 400, "there is no parameter `%.40s`", key);
}

// is_utf8 fails the request for a parameter that is not UTF-8, which no store could
// hold.
static bool is_utf8(struct http_request *request)
{
    for (size_t i = 0; i < request->parameter_count; i++) {
        // json_string returns NULL for what is not UTF-8.
        json_t *string = json_string(request->parameters[i].value);
        json_decref(string);
        if (string != NULL)
            continue;
        http_fail(request, 400, "a parameter is not UTF-8");
        return false;
    }
    return true;
}

// is_listed_word returns true if a word is in a list of words with a space between
// them.
static bool is_listed_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(words, word); at != NULL && length != 0;
         at = strstr(at + 1, word)) {
        if ((at == words || at[-1] == ' ') && (at[length] == 0 || at[length] == ' '))
            return true;
    }
    return false;
}

// read_terms reads the parameters that are searches or terms of one.
static bool read_terms(struct http_request *request, const char *also,
                       struct search *out)
{
    for (size_t i = 0; i < request->parameter_count; i++) {
        const struct http_parameter *parameter = &request->parameters[i];
        enum ch_status status = CH_OK;
        if (strcmp(parameter->key, "q") == 0)
            status = search_read(out, parameter->value);
        else if (is_plain(parameter->key) || is_listed_word(also, parameter->key))
            continue;
        else if (!search_is_key(parameter->key)) {
            fail_parameter(request, parameter->key);
            return false;
        } else if (parameter->value[0] != 0)
            status = search_add(out, parameter->key, parameter->value);
        if (status == CH_OK)
            continue;
        http_fail(request, 400, "%s", out->why);
        return false;
    }
    return true;
}

// name_release has `is:new` and `is:regressed` mean the release that the request names.
static void name_release(const struct http_request *request, struct filter *out)
{
    const char *release = given_parameter(request, "for_release");
    for (size_t i = 0; i < out->search.count && release != NULL; i++) {
        struct store_term *term = &out->store.terms[i];
        if (term->key == STORE_KEY_STATUS && strcmp(term->value, "regressed") == 0) {
            term->key = STORE_KEY_BACK_IN;
            term->value = release;
        } else if (term->key == STORE_KEY_NEW) {
            term->key = STORE_KEY_FIRST_RELEASE;
            term->value = release;
        }
    }
}

// leave_out_users has reports of a user whom the search leaves out not match under the
// user's other name either: a store before layout 19, and one that was served with
// another `--users`, have such.
static bool leave_out_users(struct http_request *request, struct filter *out)
{
    for (size_t i = 0; i < out->search.count; i++) {
        struct store_term term = out->store.terms[i];
        if (out->search.said[i].user == NULL || !term.negated || term.alternative)
            continue;
        if (out->store.term_count == STORE_TERMS) {
            http_fail(request, 400, "the search has too many terms");
            return false;
        }
        term.value = out->search.said[i].user;
        out->store.terms[out->store.term_count++] = term;
    }
    return true;
}

// default_sort orders what rises by how unlikely that is.
static enum store_sort default_sort(const struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        if (search->terms[i].key == STORE_KEY_RISING && !search->terms[i].negated)
            return STORE_SORT_RISING;
    }
    return STORE_SORT_LAST_SEEN;
}

static void note_project(void *context, const struct store_project_figures *row)
{
    bool *some = context;
    *some |= row->project[0] != 0;
}

// hide_users has the search find users by the names under which they are stored. A user
// has another pseudonym in each project. It returns false after it has failed the
// request.
static bool hide_users(struct http_request *request, struct search *search)
{
    const struct collector *collector = collector_of(request);
    const char *named = search_project(search);
    const char *project = named != NULL ? named : request->who.project;
    bool some = false;
    enum ch_status status = CH_OK;
    if (collector->user_salt[0] == 0 || !search_names_user(search))
        return true;
    if (project[0] == 0)
        status = store_list_project_figures(collector->store, note_project, &some);
    if (status != CH_OK) {
        api_fail_store(request, status, "project");
        return false;
    }
    if (!some) {
        status = search_hide_users(search, collector->user_salt, project,
                                   collector->plain_users);
        if (status != CH_OK)
            http_fail(request, 400, "%s", search->why);
        return status == CH_OK;
    }
    if (collector->plain_users && strcmp(request->route->method, "DELETE") != 0)
        return true; // found by the names that are stored now
    http_fail(request, 400,
              "a user has another pseudonym in each project: name the project, or the"
              " pseudonym that a report shows");
    return false;
}

bool filter_read(struct http_request *request, size_t default_limit, struct filter *out)
{
    return filter_read_with(request, default_limit, "", out);
}

bool filter_read_with(struct http_request *request, size_t default_limit,
                      const char *also, struct filter *out)
{
    *out = (struct filter){ .search = { .now_ms = timestamp_now() } };
    if (!is_utf8(request) || !read_terms(request, also, &out->search) ||
        !hide_users(request, &out->search))
        return false;
    out->store.project = request->who.project;
    out->store.group = given_parameter(request, "group");
    out->store.cursor = given_parameter(request, "cursor");
    memcpy(out->store.terms, out->search.terms, sizeof(out->store.terms));
    out->store.term_count = out->search.count;
    name_release(request, out);
    out->store.sort = default_sort(&out->search);
    return leave_out_users(request, out) && read_sort(request, &out->store.sort) &&
           read_filter_limit(request, default_limit, &out->store.limit);
}

bool filter_knows(struct http_request *request, const char *taken)
{
    if (!is_utf8(request))
        return false;
    for (size_t i = 0; i < request->parameter_count; i++) {
        const char *key = request->parameters[i].key;
        if (taken != NULL && is_listed_word(taken, key))
            continue;
        if (taken != NULL && edit_distance(key, taken) <= EDITS_MAX)
            http_fail(request, 400, "there is no parameter `%.40s`, did you mean `%s`?",
                      key, taken);
        else
            http_fail(request, 400, "there is no parameter `%.40s`", key);
        return false;
    }
    return true;
}

void filter_open_only(struct filter *filter)
{
    struct store_filter *store = &filter->store;
    for (size_t i = 0; i < store->term_count; i++) {
        enum store_key key = store->terms[i].key;
        if (key == STORE_KEY_STATUS || key == STORE_KEY_OPEN || key == STORE_KEY_ANY ||
            key == STORE_KEY_BACK_IN)
            return;
    }
    if (store->term_count < STORE_TERMS)
        store->terms[store->term_count++] =
            (struct store_term){ .key = STORE_KEY_OPEN, .value = "" };
}

void filter_encode(struct text *out, const char *value)
{
    for (; *value != 0; value++) {
        unsigned char c = (unsigned char)*value;
        if (isalnum(c) || strchr("-._~:/", c) != NULL)
            text_append(out, value, 1);
        else if (c == ' ')
            text_append_string(out, "+");
        else
            text_appendf(out, "%%%02X", c);
    }
}

void filter_write_search(const struct search *search, size_t but, const char *key,
                         const char *value, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) terms = { 0 };
    search_write(search, but, &terms);
    if (key != NULL) {
        text_append_string(&terms, terms.size != 0 ? " " : "");
        search_write_term(&terms, key, value);
    }
    if (terms.size == 0 || !text_ok(&terms))
        return;
    text_append_string(out, "q=");
    filter_encode(out, terms.bytes);
}

void filter_write_query(const struct http_request *request, const struct filter *filter,
                        struct text *out)
{
    filter_write_search(&filter->search, SIZE_MAX, NULL, NULL, out);
    for (size_t i = 0; i < PLAIN_COUNT; i++) {
        const char *value = given_parameter(request, plain[i]);
        if (value == NULL || strcmp(plain[i], "q") == 0 ||
            strcmp(plain[i], "cursor") == 0)
            continue;
        text_appendf(out, "%s%s=", out->size != 0 ? "&" : "", plain[i]);
        filter_encode(out, value);
    }
}
