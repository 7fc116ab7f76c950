// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/counts.h"

enum { VALUES_OF_EACH = 10 };

// facets_answer is what an answer is made of.
struct facets_answer {
    const struct counts_request *counts;
    json_t *rows;   // of one key, or of pairs
    json_t *by_key; // of all keys
    enum list_form form;
    struct text *out; // of other forms than JSON
};

static void append_facet_row(void *context, const struct store_counted *counted)
{
    struct facets_answer *answer = context;
    const struct counts_request *counts = answer->counts;
    const struct count_key *key = count_key_of(counted->kind);
    struct text CH_CLEANUP(text_deinit) value = { 0 };
    struct text CH_CLEANUP(text_deinit) then = { 0 };
    if (key == NULL)
        return;
    counts_write_value(counted->kind, counted->value, &value);
    if (counts->then != NULL)
        counts_write_value(counts->then->facet, counted->then, &then);
    const char *value_text = text_string(&value);
    const char *then_text = text_string(&then);
    if (answer->form == LIST_CSV) {
        csv_append(answer->out, key->name, false);
        csv_append(answer->out, value_text, false);
        csv_append(answer->out, then_text, false);
        csv_append_number(answer->out, counted->count, true);
        return;
    }
    json_t *row = json_pack("{s:s, s:I}", "value", value_text, "count",
                            (json_int_t)counted->count);
    if (counts->then != NULL)
        (void)json_object_set_new(row, "then", json_string(then_text));
    if (answer->form == LIST_LINES) {
        (void)json_object_set_new(row, "key", json_string(key->name));
        csv_append_line(answer->out, row);
        return;
    }
    json_t *rows = answer->rows;
    if (counts->by == NULL) {
        rows = json_object_get(answer->by_key, key->name);
        if (rows == NULL) {
            rows = json_array();
            (void)json_object_set_new(answer->by_key, key->name, rows);
        }
    }
    (void)json_array_append_new(rows, row);
}

void api_list_facets(struct http_request *request)
{
    struct counts_request counts;
    struct store_found found = { 0 };
    enum list_form form;
    if (!counts_read(request, "by then most form", &counts) ||
        !csv_read_form(request, &form))
        return;
    struct facets_answer answer = { .counts = &counts,
                                    .rows = json_array(),
                                    .by_key = json_object(),
                                    .form = form,
                                    .out = &request->answer.body };
    if (form == LIST_CSV)
        text_append_string(answer.out, "key,value,then,reports\r\n");
    enum ch_status status =
        counts_run(collector_of(request)->store, &counts,
                   counts.by != NULL ? COUNTS_VALUES : VALUES_OF_EACH, append_facet_row,
                   &answer, &found);
    json_t *facets = counts.by != NULL ? answer.rows : answer.by_key;
    json_t *json = json_pack("{s:I, s:b, s:O}", "reports", (json_int_t)found.count,
                             "more", found.more, "facets", facets);
    json_decref(answer.rows);
    json_decref(answer.by_key);
    if (status == CH_OK && form == LIST_JSON) {
        api_answer_json(request, 200, json);
        return;
    }
    json_decref(json);
    if (status == CH_OK)
        csv_answer(request, form, "facets.csv");
    else
        api_fail_store(request, status, "report");
}
