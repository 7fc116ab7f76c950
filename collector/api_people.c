// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "collector/database/timestamp.h"
#include "collector/query/store_people.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/filter.h"

enum { ERASE_MS = 5000, DETAIL_SIZE = 400 };

bool api_audit(struct http_request *request, const char *what, const char *detail)
{
    struct collector *collector = collector_of(request);
    const struct store_audit_entry entry = { .who = request->who.name,
                                             .project = request->who.project,
                                             .what = what,
                                             .detail = detail };
    char error[STORE_ERROR_SIZE];
    if (!access_has_users(collector->access) ||
        store_audit_add(collector->store, &entry, error) == CH_OK)
        return true;
    http_fail(request, 503, "the store could not note this, try again later");
    return false;
}

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
    json_t *rows = json_array();
    enum ch_status status = store_list_audit(
        collector_of(request)->store, request->who.project, append_audit_entry, rows);
    if (status == CH_OK) {
        api_answer_json(request, 200, json_pack("{s:o}", "audit", rows));
        return;
    }
    json_decref(rows);
    api_fail_store(request, status, "audit");
}

// names_somebody says whether the filter is about one host or the value of a tag: a
// slip must not remove everything.
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

void api_erase_reports(struct http_request *request)
{
    struct filter filter;
    struct text CH_CLEANUP(text_deinit) words = { 0 };
    char detail[DETAIL_SIZE];
    size_t removed = 0;
    bool more = false;
    if (!filter_read(request, 1, &filter))
        return;
    if (!names_somebody(&filter.store)) {
        http_fail(request, 400,
                  "name whose reports are removed: host=NAME, or"
                  " tag=KEY:VALUE");
        return;
    }
    search_write(&filter.search, SIZE_MAX, &words);
    (void)snprintf(detail, sizeof(detail), "%s", text_ok(&words) ? words.bytes : "");
    // Noted before: what was begun is known even if the collector is killed meanwhile.
    if (!api_audit(request, "erase", detail))
        return;
    enum ch_status status =
        erase_for(collector_of(request)->store, &filter.store, &removed, &more);
    if (status == CH_OK)
        api_answer_json(
            request, 200,
            json_pack("{s:I, s:b}", "removed", (json_int_t)removed, "more", more));
    else
        api_fail_store(request, status, "report");
}
