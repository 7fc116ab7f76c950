// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/pages.h"

#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/query/store_values.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/filter.h"

enum { GROUPS_ON_A_PAGE = 50 };

// orders are the ways to sort, in the order of the links.
static const struct {
    enum store_sort sort;
    const char *value;
    const char *label;
} orders[] = {
    { STORE_SORT_LAST_SEEN, "last_seen", "last seen" },
    { STORE_SORT_FIRST_SEEN, "first_seen", "first seen" },
    { STORE_SORT_COUNT, "count", "reports" },
    { STORE_SORT_MACHINES, "machines", "machines" },
    { STORE_SORT_RISING, "rising", "rise" },
};
enum { ORDER_COUNT = sizeof(orders) / sizeof(orders[0]) };

void page_groups_write_search(struct text *out, const struct filter *filter)
{
    struct text CH_CLEANUP(text_deinit) terms = { 0 };
    if (filter != NULL)
        search_write(&filter->search, SIZE_MAX, &terms);
    html_write(out,
               "<form class=\"filters\" method=\"get\" action=\"/groups\""
               " role=\"search\"><label><span>Search</span>"
               "<input name=\"q\" type=\"search\" accesskey=\"/\" value=\"%.*s\""
               " placeholder=\"words, program:shopd, -host:web-13, frame:parse\""
               " autocomplete=\"off\" spellcheck=\"false\"></label>",
               SEARCH_SIZE, text_string(&terms));
    if (filter != NULL && filter->store.sort != STORE_SORT_LAST_SEEN)
        html_write(out, "<input type=\"hidden\" name=\"sort\" value=\"%s\">",
                   orders[filter->store.sort].value);
    html_write(out, "<button>Search</button></form>\n");
}

// order_query is the query of this list with another search or another order.
static const char *order_query(const struct filter *filter, size_t but,
                               const char *sort, struct text *query)
{
    text_clear(query);
    filter_write_search(&filter->search, but, NULL, NULL, query);
    if (strcmp(sort, orders[0].value) != 0)
        text_appendf(query, "%ssort=%s", query->size != 0 ? "&" : "", sort);
    return text_string(query);
}

static void write_orders(struct text *out, const struct filter *filter)
{
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    html_write(out, "<nav class=\"orders\" aria-label=\"Order\"><span>Sort by</span>");
    for (size_t i = 0; i < ORDER_COUNT; i++) {
        if (orders[i].sort == filter->store.sort)
            html_write(out, "<b>%s</b>", orders[i].label);
        else
            html_write(out, "<a href=\"/groups?%.*s\">%s</a>", 3 * SEARCH_SIZE,
                       order_query(filter, SIZE_MAX, orders[i].value, &query),
                       orders[i].label);
    }
    text_clear(&query);
    filter_write_search(&filter->search, SIZE_MAX, NULL, NULL, &query);
    html_write(out, "<a href=\"/facets?%.*s\">Counts</a>", 3 * SEARCH_SIZE,
               text_string(&query));
    html_write(out, "<a href=\"/api/v1/groups?form=csv&sort=%s&%.*s\" download>CSV</a>",
               orders[filter->store.sort].value, 3 * SEARCH_SIZE, text_string(&query));
    html_write(out, "</nav>");
}

#define HELP                                                                           \
    "<details class=\"help\"><summary>How to search</summary><p>Words, and"            \
    " <code>program:</code> <code>release:</code> <code>first_release:</code>"         \
    " <code>environment:</code> <code>host:</code> <code>frame:</code>"                \
    " <code>file:</code> <code>build:</code> <code>kind:</code>"                       \
    " <code>signal:</code> <code>message:</code> <code>tag:key:value</code>"           \
    " <code>assignee:</code> <code>since:7d</code> <code>until:</code>"                \
    " <code>is:new</code> (<code>regressed</code>, <code>rising</code>,"               \
    " <code>open</code>, <code>resolved</code>, <code>ignored</code>,"                 \
    " <code>unassigned</code>, <code>any</code>)"                                      \
    " <code>machines:&gt;30</code> <code>reports:10..20</code>"                        \
    " <code>time:2026-11-01..2026-11-07</code>. <code>-</code> before one means"       \
    " not, <code>OR</code> between two means one of them, and <code>*</code> in a"     \
    " value any text: <code>release:1.4.* OR host:web-*</code>. Put quotes around"     \
    " spaces.</p></details>"

// write_terms writes each term with a link to the same list without it, and how to
// write others.
static void write_terms(struct text *out, const struct filter *filter, bool open_only)
{
    const struct search *search = &filter->search;
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    html_write(out, "<p class=\"terms\">");
    for (size_t i = 0; i < search->count; i++) {
        html_write(out,
                   "<a href=\"/groups?%.*s\" class=\"chip\" "
                   "title=\"Remove\">%s%s%s%s%.*s \u00d7</a>",
                   3 * SEARCH_SIZE,
                   order_query(filter, i, orders[filter->store.sort].value, &query),
                   search->terms[i].joined ? "or " : "",
                   search_was_negated(search, i) ? "-" : "",
                   search->said[i].key != NULL ? search->said[i].key : "",
                   search->said[i].key != NULL ? ":" : "", PAGE_SHORT,
                   search->said[i].value);
    }
    if (open_only) {
        text_clear(&query);
        filter_write_search(search, SIZE_MAX, "is", "any", &query);
        html_write(out,
                   "<span>Open groups.</span> <a href=\"/groups?%.*s\">All groups</a>",
                   3 * SEARCH_SIZE, text_string(&query));
    } else if (search->count != 0) {
        html_write(out, "<a href=\"/groups\">Show all open ones</a>");
    }
    html_write(out, "</p>" HELP);
}

void page_groups_write_nothing(struct text *out, const struct http_request *request)
{
    html_write(out,
               "<div class=\"empty\"><h2>No crashes yet</h2>"
               "<p>Run a program with its reports sent here:</p>"
               "<pre>crashhook run --url %s://%.*s -- program</pre></div>",
               request->secure ? "https" : "http", PAGE_SHORT,
               request->host != NULL ? request->host : "THIS-ADDRESS");
}

void page_write_logout(struct text *out, const struct http_request *request)
{
    if (access_needed(collector_of(request)->access))
        html_write(out, "<form class=\"logout\" method=\"post\" action=\"/logout\">"
                        "<button>Log out</button></form>\n");
}

// is_slow_to_count returns true if the newest reports of a search in a large store may
// take long to find: those with alternatives or wildcards are looked at one by one.
static bool is_slow_to_count(const struct filter *filter,
                             const struct store_totals *totals)
{
    bool examined = false;
    for (size_t i = 0; i < filter->search.count; i++)
        examined |=
            filter->search.terms[i].alternative || filter->search.terms[i].wildcard;
    return examined && totals->reports >= STORE_MANY_REPORTS;
}

// write_group_list writes the groups; store: of their counts, NULL without them; query:
// of this list, for links.
static void write_group_list(struct text *out, struct store *store,
                             const struct filter *filter, const struct text *query,
                             const struct text *list, const char *next)
{
    write_orders(out, filter);
    if (list->size == 0) {
        html_write(out, "<div class=\"empty\"><h2>Nothing matches</h2>"
                        "<p>No group with these filters.</p></div>");
        return;
    }
    html_write(out, "<div class=\"listed\"><div><form class=\"list\" id=\"groups\""
                    " method=\"post\" action=\"/groups\"><ol class=\"groups\">");
    text_append(out, list->bytes, list->size);
    html_write(
        out,
        "</ol>\n<div class=\"bulk\"><input type=\"hidden\" name=\"back\" "
        "value=\"%.*s\">"
        "<span>Chosen groups:</span>"
        "<button name=\"status\" value=\"resolved\" accesskey=\"r\">Resolve</button>"
        "<button name=\"status\" value=\"ignored\" accesskey=\"i\">Ignore</button>"
        "<button name=\"status\" value=\"open\" accesskey=\"o\">Reopen</button>"
        "<button name=\"merge\" value=\"1\" title=\"Into the first of"
        " them\">Merge</button>"
        "<input name=\"assignee\" placeholder=\"assign to\" aria-label=\"Assign to\""
        " maxlength=\"100\" autocomplete=\"off\" accesskey=\"a\">"
        "<button name=\"assign\" value=\"1\">Assign</button></div></form>",
        4 * SEARCH_SIZE, text_string(query));
    if (next[0] != 0)
        html_write(
            out,
            "<nav class=\"more\"><a rel=\"next\" href=\"/groups?%.*s%scursor=%s\">"
            "More groups</a></nav>",
            4 * SEARCH_SIZE, text_string(query), query->size != 0 ? "&" : "", next);
    html_write(out, "</div>");
    if (store != NULL)
        page_facets_beside_write(out, store, filter);
    html_write(out, "</div>");
}

void page_groups(struct http_request *request)
{
    struct filter filter;
    char next[STORE_CURSOR_SIZE];
    struct text CH_CLEANUP(text_deinit) list = { 0 };
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    struct text *out = &request->answer.body;
    struct collector *collector = collector_of(request);
    struct page_group_rows rows = {
        .out = &list, .now_ms = timestamp_now(), .choosing = true, .filtered = true
    };
    struct store_totals totals = { 0 };
    struct store_found found = { 0 };
    if (!filter_read(request, GROUPS_ON_A_PAGE, &filter))
        return;
    filter_write_query(request, &filter, &query);
    size_t asked = filter.store.term_count;
    filter_open_only(&filter);
    enum ch_status status =
        aggregates_count(&collector->aggregates, request->who.project, &totals);
    if (status == CH_OK)
        status = store_list_counted_groups(collector->store, &filter.store,
                                           page_group_row_write, &rows, next, &found);
    if (status != CH_OK) {
        page_finish(request, status, "group");
        return;
    }
    page_begin(out, "Groups", NULL);
    html_write(out,
               "<h1 class=\"plain\">Crashes</h1><p class=\"lead\">%'lld%s of %'lld %s,"
               " %'lld %s in all</p>\n",
               (long long)found.count, found.more ? "+" : "", (long long)totals.groups,
               totals.groups == 1 ? "group" : "groups", (long long)totals.reports,
               totals.reports == 1 ? "report" : "reports");
    if (found.more && filter.store.sort == STORE_SORT_COUNT)
        html_write(out,
                   "<p class=\"cut\">Sorted are the %lld of them with most reports in"
                   " all.</p>\n",
                   (long long)found.count);
    if (rows.more)
        html_write(out,
                   "<p class=\"cut\">Numbers with + count the newest %d reports of a"
                   " group alone.</p>\n",
                   STORE_COUNTED_MOST);
    page_write_logout(out, request);
    page_groups_write_search(out, &filter);
    if (list.size != 0)
        html_write(out, "<a class=\"skip\" href=\"#groups\" accesskey=\"l\">Skip to the"
                        " groups</a>");
    write_terms(out, &filter, filter.store.term_count > asked);
    page_searches_write(out, request, &filter.search, orders[filter.store.sort].value);
    if (totals.groups == 0)
        page_groups_write_nothing(out, request);
    else
        write_group_list(out,
                         is_slow_to_count(&filter, &totals) ? NULL : collector->store,
                         &filter, &query, &list, next);
    page_finish(request, CH_OK, "group");
}
