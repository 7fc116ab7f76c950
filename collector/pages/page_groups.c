// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/pages.h"

#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/server/api.h"
#include "collector/server/collector.h"
#include "collector/server/filter.h"
#include "collector/store/moment.h"

enum { GROUPS_ON_A_PAGE = 50, RELEASES_IN_A_ROW = 3 };

// listing is what the rows of a list are written with.
struct listing {
    struct text *out;
    int64_t now_ms;
    size_t count;
};

static void write_row_releases(struct text *out, const struct store_group *group)
{
    for (size_t i = 0; i < group->release_count && i < RELEASES_IN_A_ROW; i++)
        html_write(out, "<span class=\"chip\">%.*s</span>", 60, group->releases[i]);
    if (group->release_count > RELEASES_IN_A_ROW)
        html_write(out, "<span class=\"chip quiet\">%zu more</span>",
                   group->release_count - RELEASES_IN_A_ROW);
}

static void write_group_row(void *context, const struct store_group *group)
{
    struct listing *listing = context;
    struct text *out = listing->out;
    listing->count++;
    html_write(out,
               "<li class=\"group\"><div class=\"what\">"
               "<a class=\"title\" href=\"/groups/%s\">%.*s</a><p>",
               group->id, PAGE_SHORT, group->title);
    page_write_said(out, group->summary, PAGE_SHORT);
    html_write(out,
               "</p><div class=\"meta\"><span class=\"status %s\">%s</span>"
               "<span>last seen ",
               group->status, group->status);
    page_write_time(out, group->last_seen_ms, listing->now_ms);
    html_write(out, "</span><span>first seen ");
    page_write_time(out, group->first_seen_ms, listing->now_ms);
    html_write(out, "</span>");
    if (group->held_back != 0) {
        html_write(out, "<span>");
        page_write_number(out, group->held_back);
        html_write(out, " held back</span>");
    }
    write_row_releases(out, group);
    html_write(out, "</div></div>");
    page_write_trend(out, group, false);
    html_write(out, "<div class=\"count\"><b>");
    page_write_number(out, group->count);
    html_write(out, "</b><span>%s</span></div></li>\n",
               group->count == 1 ? "report" : "reports");
}

static void write_filter_field(struct text *out, const struct http_request *request,
                               const char *name, const char *label, const char *hint)
{
    const char *value = http_parameter_value(request, name);
    html_write(out,
               "<label><span>%s</span><input name=\"%s\" value=\"%.*s\""
               " placeholder=\"%s\" autocomplete=\"off\"></label>",
               label, name, PAGE_SHORT, value != NULL ? value : "", hint);
}

static void write_status(struct text *out, const struct http_request *request)
{
    static const char *const statuses[] = { "open", "regressed", "resolved",
                                            "ignored" };
    const char *value = http_parameter_value(request, "status");
    html_write(out, "<label><span>Status</span><select name=\"status\">"
                    "<option value=\"\">any</option>");
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        html_write(out, "<option%s>%s</option>",
                   value != NULL && strcmp(value, statuses[i]) == 0 ? " selected" : "",
                   statuses[i]);
    html_write(out, "</select></label>");
}

static void write_filters(struct text *out, const struct http_request *request)
{
    html_write(out,
               "<form class=\"filters\" method=\"get\" action=\"/\" role=\"search\">");
    write_filter_field(out, request, "q", "Search", "function, program, host");
    html_write(out,
               "<label class=\"unfold\"><input type=\"checkbox\"%s> More filters"
               "</label>",
               request->parameter_count != 0 ? " checked" : "");
    write_filter_field(out, request, "release", "Release", "any");
    write_filter_field(out, request, "environment", "Environment", "any");
    write_filter_field(out, request, "signal", "Signal", "any");
    write_filter_field(out, request, "tag", "Tag", "key:value");
    write_status(out, request);
    write_filter_field(out, request, "since", "Since", "24h, 7d");
    html_write(out, "<button>Show</button>");
    if (request->parameter_count != 0)
        html_write(out, "<a class=\"clear\" href=\"/\">Show all</a>");
    html_write(out, "</form>\n");
}

static void write_nothing(struct text *out, const struct http_request *request)
{
    if (request->parameter_count != 0) {
        html_write(out, "<div class=\"empty\"><h2>Nothing matches</h2>"
                        "<p>No crash with these filters.</p></div>");
        return;
    }
    html_write(out,
               "<div class=\"empty\"><h2>No crashes yet</h2>"
               "<p>Run a program with its reports sent here:</p>"
               "<pre>crashhook run --url %s://%.*s -- program</pre></div>",
               request->secure ? "https" : "http", PAGE_SHORT,
               request->host != NULL ? request->host : "THIS-ADDRESS");
}

static void write_more(struct text *out, const struct http_request *request,
                       const char *next)
{
    struct text query = { 0 };
    filter_write_query(request, &query);
    html_write(out, "<nav class=\"more\"><a rel=\"next\" href=\"/?%.*s%scursor=%s\">",
               HTML_STRING_LIMIT, query.bytes != NULL ? query.bytes : "",
               query.size != 0 ? "&" : "", next);
    html_write(out, "Older groups</a></nav>");
    text_deinit(&query);
}

void page_groups(struct http_request *request)
{
    struct filter filter;
    char next[STORE_CURSOR_SIZE];
    if (!filter_read(request, GROUPS_ON_A_PAGE, &filter))
        return;

    struct text *out = &request->answer.body;
    struct listing listing = { .out = out, .now_ms = moment_now() };
    struct store_totals totals = { 0 };
    struct store *store = collector_of(request)->store;
    enum ch_status status = store_count(store, &totals);
    page_begin(out, "Groups", NULL);
    html_write(out, "<h1 class=\"plain\">Crashes</h1><p class=\"lead\">");
    page_write_number(out, totals.reports);
    html_write(out, " %s in ", totals.reports == 1 ? "report" : "reports");
    page_write_number(out, totals.groups);
    html_write(out, " %s</p>\n", totals.groups == 1 ? "group" : "groups");
    if (collector_of(request)->tokens[0] != NULL)
        html_write(out, "<form class=\"logout\" method=\"post\" action=\"/logout\">"
                        "<button>Log out</button></form>\n");
    write_filters(out, request);
    html_write(out, "<ol class=\"groups\">"); // the style sheet hides an empty list
    if (status == CH_OK)
        status =
            store_list_groups(store, &filter.store, write_group_row, &listing, next);
    if (status != CH_OK) {
        api_fail_store(request, status, "group");
        return;
    }
    html_write(out, "</ol>\n");
    if (listing.count == 0)
        write_nothing(out, request);
    if (next[0] != 0)
        write_more(out, request, next);
    page_end(out);
    request->answer.status = 200;
    request->answer.content_type = "text/html; charset=utf-8";
}
