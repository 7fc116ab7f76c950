// SPDX-License-Identifier: Apache-2.0
//
// The reports of a search counted by what they carry: by one key as bars, by two as a
// table, by none as bars of several keys.
#include <stdio.h>
#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/pages/pages.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/counts.h"

enum { VALUES_OF_EACH = 6, VALUES_BESIDE_LIST = 4, REPORTS_BESIDE_LIST = 1000 };

// facet_bars writes values as bars, under a heading for each key.
struct facet_bars {
    struct text *out;
    const struct filter *filter;
    const struct count_key *key; // the last one
    const char *wanted;          // keys, with a space around each; NULL: all
    bool named;                  // the page names the key
};

// write_narrowed begins a link to the groups of the search with one more term or two,
// or to the reports of the only group that it is about.
static void write_narrowed(struct text *out, const struct filter *filter,
                           const struct text *terms)
{
    struct text CH_CLEANUP(text_deinit) all = { 0 };
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    search_write(&filter->search, SIZE_MAX, &all);
    text_append_string(&all, all.size != 0 ? " " : "");
    text_append(&all, terms->bytes, terms->size);
    if (text_ok(&all))
        filter_encode(&query, all.bytes);
    const char *group = filter->store.group;
    html_write(out, "<a class=\"name\" href=\"/groups%s%s?q=%.*s%s\">",
               group != NULL ? "/" : "", group != NULL ? group : "", 3 * SEARCH_SIZE,
               text_string(&query), group != NULL ? "#reports" : "");
}

static void write_value_link(struct text *out, const struct filter *filter,
                             const struct count_key *key, const char *value)
{
    struct text CH_CLEANUP(text_deinit) term = { 0 };
    struct text CH_CLEANUP(text_deinit) label = { 0 };
    counts_write_term(key, value, &term);
    counts_write_value(key->facet, value, &label);
    write_narrowed(out, filter, &term);
    const char *text = text_string(&label);
    html_write(out, "%.*s</a>", PAGE_SHORT,
               key->facet == FACET_EXECUTABLE ? page_base_name(text) : text);
}

static bool is_wanted(const struct facet_bars *bars, const struct count_key *key)
{
    char word[32];
    (void)snprintf(word, sizeof(word), " %s ", key->name);
    return bars->wanted == NULL || strstr(bars->wanted, word) != NULL;
}

static void end_bars(const struct facet_bars *bars)
{
    if (bars->key != NULL)
        html_write(bars->out, "</ul></div>\n");
}

static void write_facet_bar(void *context, const struct store_counted *counted)
{
    struct facet_bars *bars = context;
    struct text *out = bars->out;
    const struct count_key *key = count_key_of(counted->kind);
    if (key == NULL || !is_wanted(bars, key))
        return;
    if (key != bars->key) {
        end_bars(bars);
        html_write(out, "<div>");
        if (!bars->named)
            html_write(out, bars->wanted != NULL ? "<h3>%s</h3>" : "<h2>%s</h2>",
                       key->label);
        html_write(out, "<ul class=\"bars\">");
        bars->key = key;
    }
    html_write(out, "<li>");
    write_value_link(out, bars->filter, key, counted->value);
    html_write(
        out, "<meter min=\"0\" max=\"%lld\" value=\"%lld\"></meter><b>%'lld</b></li>",
        (long long)counted->most, (long long)counted->count, (long long)counted->count);
}

void page_facets_beside_write(struct text *out, struct store *store,
                              const struct filter *filter)
{
    const char *group = filter->store.group;
    struct counts_request counts = { .filter = *filter };
    struct store_found found = { 0 };
    struct text CH_CLEANUP(text_deinit) list = { 0 };
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    struct facet_bars bars = { .out = &list,
                               .filter = filter,
                               .wanted = group != NULL
                                             ? " release environment host kernel"
                                               " processor uptime thread address depth"
                                               " register argument tag "
                                             : " program release environment host kind"
                                               " kernel " };
    counts.filter.store.limit = group != NULL ? COUNTS_DEFAULT : REPORTS_BESIDE_LIST;
    counts.filter.store.cursor = NULL;
    // A list without its counts is better than no list.
    if (counts_run(store, &counts, group != NULL ? VALUES_OF_EACH : VALUES_BESIDE_LIST,
                   write_facet_bar, &bars, &found) != CH_OK ||
        bars.key == NULL)
        return;
    end_bars(&bars);
    filter_write_search(&filter->search, SIZE_MAX, NULL, NULL, &query);
    html_write(out, "<section class=\"card facets\"><h2><a href=\"/facets?%.*s",
               3 * SEARCH_SIZE, text_string(&query));
    if (group != NULL)
        html_write(out, "%sgroup=%s", query.size != 0 ? "&" : "", group);
    html_write(out, "\">Counts</a></h2><p class=\"about\">Of %s%'lld %s</p><div%s>",
               found.more ? "the newest " : "", (long long)found.count,
               found.count == 1 ? "report" : "reports",
               group != NULL ? " class=cards" : "");
    text_append(out, list.bytes, list.size);
    html_write(out, "</div></section>\n");
}

static void write_key_choice(struct text *out, const char *parameter, const char *label,
                             const char *none, const struct count_key *chosen)
{
    size_t count;
    const struct count_key *keys = count_keys(&count);
    html_write(out,
               "<label><span>%s</span><select name=\"%s\"><option value=\"\">%s"
               "</option>",
               label, parameter, none);
    for (size_t i = 0; i < count; i++)
        html_write(out, "<option value=\"%s\"%s>%s</option>", keys[i].name,
                   &keys[i] == chosen ? " selected" : "", keys[i].label);
    html_write(out, "</select></label>");
}

static void write_facets_form(struct text *out, const struct counts_request *counts)
{
    struct text CH_CLEANUP(text_deinit) terms = { 0 };
    search_write(&counts->filter.search, SIZE_MAX, &terms);
    html_write(out,
               "<form class=\"filters counts\" method=\"get\" action=\"/facets\""
               " role=\"search\"><label><span>Search</span><input name=\"q\""
               " type=\"search\" accesskey=\"/\" value=\"%.*s\""
               " autocomplete=\"off\" spellcheck=\"false\"></label>",
               SEARCH_SIZE, text_string(&terms));
    write_key_choice(out, "by", "Count by", "several keys", counts->by);
    write_key_choice(out, "then", "then by", "nothing", counts->then);
    if (counts->filter.store.group != NULL)
        html_write(out, "<input type=\"hidden\" name=\"group\" value=\"%.*s\">",
                   PAGE_SHORT, counts->filter.store.group);
    html_write(out, "<button>Count</button></form>\n");
}

// facet_table writes pairs of values as the rows of a table.
struct facet_table {
    struct text *out;
    const struct counts_request *counts;
    size_t rows;
};

static void write_facet_pair(void *context, const struct store_counted *counted)
{
    struct facet_table *table = context;
    const struct counts_request *counts = table->counts;
    struct text *out = table->out;
    struct text CH_CLEANUP(text_deinit) terms = { 0 };
    struct text CH_CLEANUP(text_deinit) then = { 0 };
    if (table->rows++ == 0)
        html_write(out,
                   "<div class=\"scroll\"><table class=\"counts\"><thead><tr>"
                   "<th>%s</th><th>%s</th><th>reports</th></tr></thead><tbody>",
                   counts->by->label, counts->then->label);
    html_write(out, "<tr><td>");
    write_value_link(out, &counts->filter, counts->by, counted->value);
    html_write(out, "</td><td>");
    counts_write_value(counts->then->facet, counted->then, &then);
    const char *text = text_string(&then);
    html_write(out, "%.*s</td><td>", PAGE_SHORT,
               counts->then->facet == FACET_EXECUTABLE ? page_base_name(text) : text);
    counts_write_term(counts->by, counted->value, &terms);
    text_append_string(&terms, " ");
    counts_write_term(counts->then, counted->then, &terms);
    write_narrowed(out, &counts->filter, &terms);
    html_write(out, "%'lld</a></td></tr>\n", (long long)counted->count);
}

static enum ch_status write_counts(struct store *store, struct text *out,
                                   const struct counts_request *counts,
                                   struct store_found *found)
{
    struct facet_table table = { .out = out, .counts = counts };
    struct facet_bars bars = { .out = out,
                               .filter = &counts->filter,
                               .named = counts->by != NULL };
    enum ch_status status =
        counts->then != NULL
            ? counts_run(store, counts, COUNTS_VALUES, write_facet_pair, &table, found)
            : counts_run(store, counts,
                         counts->by != NULL ? COUNTS_VALUES : VALUES_OF_EACH,
                         write_facet_bar, &bars, found);
    end_bars(&bars);
    if (table.rows != 0)
        html_write(out, "</tbody></table></div>\n");
    if (table.rows == 0 && bars.key == NULL)
        html_write(out, "<p class=\"cut\">No report of this search has a value.</p>");
    return status;
}

void page_facets(struct http_request *request)
{
    struct counts_request counts;
    struct store_found found = { 0 };
    struct text *out = &request->answer.body;
    struct text CH_CLEANUP(text_deinit) values = { 0 };
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    if (!counts_read(request, "by then most", &counts))
        return;
    enum ch_status status =
        write_counts(collector_of(request)->store, &values, &counts, &found);
    if (status != CH_OK) {
        api_fail_store(request, status, "report");
        return;
    }
    page_begin(out, "Counts", "Counts");
    html_write(out,
               "<h1>Counts</h1><p class=\"lead\">Of %s%'lld reports of this search, how"
               " many have each value. ",
               found.more ? "the newest " : "", (long long)found.count);
    filter_write_search(&counts.filter.search, SIZE_MAX, NULL, NULL, &query);
    html_write(out, "<a href=\"/api/v1/facets?form=csv%s%.*s",
               query.size != 0 ? "&" : "", 3 * SEARCH_SIZE, text_string(&query));
    html_write(out, "&by=%s&then=%s", counts.by != NULL ? counts.by->name : "",
               counts.then != NULL ? counts.then->name : "");
    if (counts.filter.store.group != NULL) {
        html_write(out, "&group=");
        filter_encode(out, counts.filter.store.group);
    }
    html_write(out, "\">As CSV</a></p>");
    write_facets_form(out, &counts);
    html_write(out, "<section class=\"card facets\">");
    html_write(out, counts.by == NULL ? "<div class=\"cards\">" : "<div>");
    text_append(out, values.bytes, values.size);
    html_write(out, "</div></section>\n");
    page_finish(request, CH_OK, "report");
}
