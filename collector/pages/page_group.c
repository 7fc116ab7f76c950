// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/pages.h"

#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/query/releases.h"
#include "collector/query/store_values.h"
#include "collector/query/tickets.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/filter.h"
#include "collector/requests/group_copy.h"
#include "collector/requests/group_facts.h"
#include "collector/requests/search.h"
#include "collector/store/store_symbolization.h"

enum { REPORTS_ON_A_PAGE = 50, CHIP_BYTES = 40, PATH_BYTES = 60, MARKS_SHOWN = 6 };

struct group_page {
    struct http_request *request;
    struct text *out;
    struct store *store;
    int64_t now_ms;
};

static void write_similar(struct text *out, const struct store_group *group,
                          const char *newest, const struct similar_group *near)
{
    html_write(out, "<li><b>%d %%</b> <a href=\"/groups/%s\">%.*s</a> <i>%lld</i>",
               near->percent, near->id, PAGE_NAME, near->title, (long long)near->count);
    if (newest[0] != 0 && near->newest[0] != 0)
        html_write(out, " <a href=\"/compare?r=%s&amp;r=%s\">Compare</a>", newest,
                   near->newest);
    html_write(out,
               "<form method=\"post\" action=\"/groups/%s\"><button class=\"quiet\""
               " name=\"merge_into\" value=\"%s\">Merge into it</button></form></li>",
               group->id, near->id);
}

// write_group_similar lists the groups whose stacks are nearest, to compare or merge.
static void write_group_similar(struct text *out, struct store *store,
                                const struct store_group *group)
{
    struct similar_group near[SIMILAR_GROUPS];
    char newest[REPORT_ID_SIZE];
    size_t count = 0;
    if (similar_groups_find(store, group, near, &count) != CH_OK || count == 0)
        return;
    similar_groups_newest(store, group->id, newest);
    html_write(out,
               "<section class=\"card near\" id=\"near\"><h2>Groups whose stacks are"
               " near</h2><ul class=\"merged\">");
    for (size_t i = 0; i < count; i++)
        write_similar(out, group, newest, &near[i]);
    html_write(out, "</ul></section>\n");
}

// write_common_value writes a value as a link to what else carries it. A tag is stored
// with a line end between its key and its value.
static void write_common_value(struct text *out, const struct group_fact_kind *kind,
                               const char *stored)
{
    char key[GROUP_FACT_VALUE];
    entry_copy(key, sizeof(key), stored);
    char *end = strchr(key, '\n');
    if (kind->facet != FACET_TAG || end == NULL) {
        page_write_link(out, "name", kind->key, stored, stored);
        return;
    }
    struct text CH_CLEANUP(text_deinit) term = { 0 };
    struct text CH_CLEANUP(text_deinit) label = { 0 };
    *end = 0;
    search_write_tag(key, end + 1, &term);
    text_appendf(&label, "%s:%s", key, end + 1);
    if (text_ok(&term) && text_ok(&label))
        page_write_link(out, "name", kind->key, term.bytes, label.bytes);
}

// write_group_common writes what the reports of a group have in common.
static void write_group_common(struct text *out, struct store *store,
                               const struct store_group *group)
{
    struct group_facts facts;
    if (group_facts_read(store, group, &facts) != CH_OK || facts.count == 0)
        return;
    html_write(out, "<section class=\"card\" id=\"common\"><h2>What they have in common"
                    "</h2>");
    if (facts.hardware && group->machines > 0)
        html_write(out,
                   "<p class=\"decision back\">Nearly all are from one machine, and"
                   " many other groups are of it alone: suspect its hardware.</p>");
    html_write(out, "<ul class=\"common\">");
    for (size_t i = 0; i < facts.count; i++) {
        const struct group_fact *fact = &facts.list[i];
        html_write(out, "<li><b>%lld of %lld</b><span>%s ", (long long)fact->count,
                   (long long)group->count, fact->kind->label);
        write_common_value(out, fact->kind, fact->value);
        double lift = group_fact_lift(fact, group);
        char times[32];
        (void)snprintf(times, sizeof(times), "%.1f", lift);
        if (lift > 0)
            html_write(out, "</span><i>\u00d7%s, %d %% of the others</i></li>", times,
                       (int)(fact->elsewhere * 100 + 0.5));
        else
            html_write(out, "</span><i>none of the others</i></li>");
    }
    html_write(out, "</ul></section>\n");
}

// history_words is how each kind of line begins.
static const struct {
    const char *kind;
    const char *words;
} history_words[] = {
    { "status", "Now" },
    { "assignee", "Assigned to" },
    { "note", "Note:" },
    { "comment", "Comment:" },
    { "regressed", "Came back in" },
    { "moved", "Reports came from" },
    { "decision", "Held before:" },
    { "merged", "Merged into this:" },
    { "split", "Split off:" },
    { "split from", "Split from" },
};

struct history {
    struct text *out;
    int64_t now_ms;
    size_t count;
};

static void write_past(void *context, const struct store_past *past)
{
    struct history *history = context;
    struct text *out = history->out;
    const char *words = past->kind;
    for (size_t i = 0; i < sizeof(history_words) / sizeof(history_words[0]); i++) {
        if (strcmp(history_words[i].kind, past->kind) == 0)
            words = history_words[i].words;
    }
    if (history->count++ == 0)
        html_write(out, "<details class=\"card facets\" id=\"history\"><summary>"
                        "<h2>History</h2></summary><ol class=\"crumbs\">");
    html_write(out, "<li>");
    page_write_age(out, "", past->time_ms, history->now_ms);
    bool comment = strcmp(past->kind, "comment") == 0;
    html_write(out, "<span>%s %.*s", words, comment ? STORE_COMMENT_SIZE : PAGE_SHORT,
               past->detail);
    if (strcmp(past->kind, "assignee") == 0 && past->detail[0] == 0)
        html_write(out, "nobody");
    if (past->other[0] != 0)
        html_write(out, " <i>%.*s</i>", PAGE_SHORT, past->other);
    html_write(out, "</span></li>\n");
}

// write_group_history writes what was done with a group.
static void write_group_history(struct text *out, struct store *store, const char *id)
{
    struct history history = { .out = out, .now_ms = timestamp_now() };
    // A group's page without its history is better than no page.
    enum ch_status status = store_list_history(store, id, write_past, &history);
    (void)status;
    if (history.count != 0)
        html_write(out, "</ol></details>\n");
}

static void write_figure(struct text *out, const char *name, int64_t number)
{
    html_write(out, "<div><dt>%s</dt><dd>%'lld</dd></div>", name, (long long)number);
}

static void write_figures(struct group_page *page, const struct store_group *group)
{
    struct text *out = page->out;
    html_write(out, "<dl class=\"figures\">");
    write_figure(out, "Reports", group->count);
    if (group->held_back != 0)
        html_write(out,
                   "<div><dt>Held back</dt><dd>%'lld<small>not sent, past the senders'"
                   " rate</small></dd></div>",
                   (long long)group->held_back);
    write_figure(out, "Machines", group->machines);
    if (group->users != 0)
        write_figure(out, "Users", group->users);
    html_write(out, "<div><dt>Last seen</dt><dd>");
    page_write_time(out, group->last_seen_ms, page->now_ms);
    html_write(out, "</dd></div><div><dt>First seen</dt><dd>");
    page_write_time(out, group->first_seen_ms, page->now_ms);
    if (group->first_release[0] != 0) {
        html_write(out, "<small>in ");
        page_write_link(out, "", "first_release", group->first_release,
                        group->first_release);
        html_write(out, "</small>");
    }
    html_write(out, "</dd></div></dl>");
}

static void write_ticket(void *context, const struct ticket *ticket)
{
    html_write(context,
               "<li><a rel=\"noreferrer\" href=\"%.*s\">%.*s</a> <i>%.*s</i></li>",
               TICKET_URL, ticket->url, TICKET_TITLE, ticket->title, CHIP_BYTES,
               ticket->state);
}

// write_tickets lists the issues about a group.
static void write_tickets(struct group_page *page, const struct store_group *group)
{
    struct text CH_CLEANUP(text_deinit) list = { 0 };
    enum ch_status status = tickets_list(page->store, group->id, write_ticket, &list);
    if (status != CH_OK || list.size == 0 || !text_ok(&list))
        return;
    html_write(page->out, "<section class=\"card\"><h2>Issues</h2><ul"
                          " class=\"merged\">");
    text_append(page->out, list.bytes, list.size);
    html_write(page->out, "</ul></section>\n");
}

// write_decision writes what people decided, and whether a resolved group came back.
static void write_decision(struct group_page *page, const struct store_group *group)
{
    struct text *out = page->out;
    bool resolved = strcmp(group->status, "resolved") == 0;
    bool regressed = strcmp(group->status, "regressed") == 0;
    if (group->status_time_ms != 0) {
        html_write(out, "<p class=\"decision%s\">", regressed ? " back" : "");
        html_write(out, "%s ",
                   regressed  ? "It was resolved, and is back:"
                   : resolved ? "Resolved"
                              : "Changed");
        page_write_time(out, group->status_time_ms, page->now_ms);
        if (group->status_release[0] != 0)
            html_write(out, " %s release <b>%.*s</b>",
                       resolved && !group->resolved_in_it ? "after" : "in", PAGE_SHORT,
                       group->status_release);
        if (regressed && group->resolved_in[0] != 0)
            html_write(out, ", resolved in <b>%.*s</b>", PAGE_SHORT,
                       group->resolved_in);
        html_write(out, "</p>");
    }
    if (group->assignee[0] != 0)
        html_write(out, "<p class=\"decision\">Assigned to <b>%.*s</b></p>",
                   STORE_ASSIGNEE_SIZE, group->assignee);
    if (group->note[0] != 0)
        html_write(out, "<pre class=\"note-text\">%.*s</pre>", STORE_NOTE_SIZE,
                   group->note);
    if (group->kept < group->count)
        html_write(out, "<p class=\"decision\">%lld of %lld reports are kept here.</p>",
                   (long long)group->kept, (long long)group->count);
}

// write_ends adds links to the most telling and the oldest report of the group.
static void write_ends(struct group_page *page, const char *group, const char *newest)
{
    struct store_around around;
    char telling[REPORT_ID_SIZE];
    // A page without the links is better than no page.
    if (store_find_telling(page->store, group, telling) == CH_OK && telling[0] != 0 &&
        strcmp(telling, newest) != 0)
        html_write(page->out,
                   " \u00b7 <a href=\"/reports/%s\" title=\"Of the newest, the one with"
                   " most names, arguments and messages\">the most telling report</a>",
                   telling);
    if (store_reports_around(page->store, newest, &around) == CH_OK &&
        around.oldest[0] != 0 && strcmp(around.oldest, newest) != 0)
        html_write(page->out, " \u00b7 <a href=\"/reports/%s\">the oldest report</a>",
                   around.oldest);
}

// write_newest writes the crashed thread of the group's newest report.
static void write_newest(struct group_page *page, const struct store_group *group)
{
    struct viewed_report viewed;
    char id[REPORT_ID_SIZE];
    char address[PAGE_SHORT + 16];
    if (!viewed_report_open_newest(page->request, group->id, id, &viewed))
        return;
    snprintf(address, sizeof(address), "%s://%.*s",
             page->request->secure ? "https" : "http", PAGE_SHORT,
             page->request->host != NULL ? page->request->host : "THIS-ADDRESS");
    html_write(page->out,
               "<p class=\"newest\"><a href=\"/reports/%s\">The newest report"
               "</a>, ",
               id);
    page_write_time(page->out, group->last_seen_ms, page->now_ms);
    write_ends(page, group->id, id);
    html_write(page->out, "</p>");
    page_suspects_write(page->out, page->store, group, viewed.opened.json,
                        page->now_ms);
    page_threads_write_crashed(page->out, &viewed, address);
    viewed_report_close(&viewed);
}

// write_axis writes what the bars of the trend stand for.
static void write_axis(struct text *out, const struct store_group *group)
{
    char first[TIMESTAMP_DAY_SIZE];
    char last[TIMESTAMP_DAY_SIZE];
    int64_t most = 0;
    for (size_t i = 0; i < STORE_TREND_DAYS; i++)
        most = group->trend[i] > most ? group->trend[i] : most;
    timestamp_write_day(group->trend_day - STORE_TREND_DAYS + 1, first);
    timestamp_write_day(group->trend_day, last);
    html_write(
        out,
        "<p class=\"axis\"><span>%s</span><span>at most %'lld a day</span><span>%s"
        "</span></p>",
        first, (long long)most, last);
}

static void write_mark(struct group_page *page, const char *words, const char *what,
                       int64_t time_ms)
{
    html_write(page->out, "<li>%s <b>%.*s</b> ", words, PAGE_SHORT, what);
    page_write_age(page->out, "", time_ms, page->now_ms);
    html_write(page->out, "</li>");
}

// write_marks writes which releases of the program came in the days of the trend, and
// when somebody decided.
static void write_marks(struct group_page *page, const struct store_group *group)
{
    struct text *out = page->out;
    int64_t first_ms = (group->trend_day - STORE_TREND_DAYS + 1) * TIMESTAMP_DAY_MS;
    const struct releases_of of = { group->project, group->program, "" };
    CH_CLEANUP(releases_deinit) struct releases releases = { 0 };
    size_t shown = 0;
    // A trend without marks is better than no page.
    if (releases_find(page->store, &of, &releases) != CH_OK)
        releases.count = 0;
    html_write(out, "<ul class=\"marks\">");
    if (group->status_time_ms >= first_ms)
        write_mark(page, "decided:", group->status, group->status_time_ms);
    for (size_t i = 0; i < releases.count && shown < MARKS_SHOWN; i++) {
        if (releases.list[i].first_seen_ms < first_ms)
            continue;
        write_mark(page, "release", releases.list[i].name,
                   releases.list[i].first_seen_ms);
        shown++;
    }
    html_write(out, "</ul>");
}

static void write_timeline(struct group_page *page, const struct store_group *group)
{
    html_write(page->out,
               "<section class=\"card\" id=\"timeline\"><h2>The last %d days</h2>",
               STORE_TREND_DAYS);
    page_write_trend(page->out, group, true);
    write_axis(page->out, group);
    write_marks(page, group);
    html_write(page->out, "</section>\n");
}

static void write_group_hero(struct group_page *page, const struct store_group *group)
{
    struct text *out = page->out;
    html_write(out,
               "<section class=\"hero\"><p class=\"kicker\"><span class=\"status %s\">"
               "%s</span>Group %.*s",
               group->status, group->status, 12, group->id);
    for (size_t i = 0; i < group->program_count; i++)
        page_write_link(out, "chip", "program", page_base_name(group->programs[i]),
                        page_base_name(group->programs[i]));
    html_write(out, "</p>");
    page_write_summary(out, group->title);
    html_write(out, "<p class=\"lead\">%.*s</p>", PAGE_NAME, group->summary);
    write_decision(page, group);
    html_write(out,
               "<nav class=\"links\" aria-label=\"Parts of this page\">"
               "<a href=\"#stack\" accesskey=\"k\">Stack</a>"
               "<a href=\"#triage\" accesskey=\"d\">Decide</a>"
               "<a href=\"#reports\" accesskey=\"l\">Reports</a></nav></section>\n");
}

// write_group_head writes the page down to its reports: beside the stack of the newest
// one is what people decide and how often it happens.
static void write_group_head(struct group_page *page, const struct store_group *group,
                             const struct filter *filter)
{
    struct text *out = page->out;
    page_begin(out, group->title, group->title);
    write_group_hero(page, group);
    html_write(out,
               "<div class=\"columns\"><aside aria-label=\"Decisions and figures\">");
    html_write(out, "<section class=\"card\">");
    write_figures(page, group);
    html_write(out, "</section>");
    write_tickets(page, group);
    page_triage_write(out, page->store, group);
    write_timeline(page, group);
    write_group_similar(out, page->store, group);
    write_group_history(out, page->store, group->id);
    html_write(out, "</aside><div class=\"body\" id=\"stack\">");
    write_newest(page, group);
    write_group_common(out, page->store, group);
    page_facets_beside_write(out, page->store, filter);
}

// write_reports_head begins the list of the group's reports, with a search among them.
static void write_reports_head(struct group_page *page, const struct store_group *group,
                               const struct filter *filter)
{
    struct text *out = page->out;
    struct text CH_CLEANUP(text_deinit) terms = { 0 };
    search_write(&filter->search, SIZE_MAX, &terms);
    html_write(
        out,
        "<section class=\"card\" id=\"reports\"><form class=\"filters\""
        " method=\"get\" action=\"/groups/%s#reports\" role=\"search\"><label>"
        "<span>Search in this group</span><input name=\"q\" type=\"search\""
        " value=\"%.*s\" placeholder=\"host:web-13 release:2.1\""
        " autocomplete=\"off\" spellcheck=\"false\"></label><button>Search</button>"
        "</form><form method=\"get\" action=\"/compare\">"
        "<h2>Reports <button accesskey=\"c\" title=\"Choose two; access key"
        " c\">Compare two</button></h2><ol class=\"reports\">\n",
        group->id, SEARCH_SIZE, text_string(&terms));
}

// write_report_chip writes a link of a row: the whole value filters, and its beginning
// is seen.
static void write_report_chip(struct text *out, const char *class, const char *key,
                              const char *value)
{
    char name[CHIP_BYTES];
    if (value[0] == 0)
        return;
    entry_copy(name, sizeof(name), value);
    page_write_link(out, class, key, value, name);
}

static void write_report_row(void *context, const struct store_report *report)
{
    struct group_page *page = context;
    struct text *out = page->out;
    html_write(out,
               "<li><input type=\"checkbox\" name=\"r\" value=\"%s\""
               " aria-label=\"Compare\"><a href=\"/reports/%s\">",
               report->id, report->id);
    page_write_age(out, "", report->time_ms, page->now_ms);
    html_write(out, "</a><span class=\"path\">%.*s</span>", PATH_BYTES,
               report->executable);
    write_report_chip(out, "chip", "release", report->release);
    write_report_chip(out, "chip quiet", "environment", report->environment);
    write_report_chip(out, "host", "host", report->hostname);
    html_write(out, "</li>\n");
}

void page_group(struct http_request *request)
{
    struct filter filter;
    char next[STORE_CURSOR_SIZE];
    if (!filter_read(request, REPORTS_ON_A_PAGE, &filter))
        return;
    filter.store.group = request->id;

    struct text *out = &request->answer.body;
    struct store *store = collector_of(request)->store;
    struct group_page page = {
        .request = request, .out = out, .store = store, .now_ms = timestamp_now()
    };
    CH_CLEANUP(group_copy_deinit) struct group_copy copy = { 0 };
    enum ch_status status =
        group_copy_find(store, request->who.project, request->id, &copy);
    // The page has the stack of its newest report.
    if (status == CH_OK && !collector_of(request)->reading &&
        !api_audit(request, "view", request->id))
        return;
    if (status == CH_OK) {
        write_group_head(&page, &copy.group, &filter);
        write_reports_head(&page, &copy.group, &filter);
        status =
            store_list_reports(store, &filter.store, write_report_row, &page, next);
    }
    if (status != CH_OK) {
        api_fail_store(request, status, "group");
        return;
    }
    html_write(out, "</ol></form></section>\n");
    if (next[0] != 0) {
        struct text CH_CLEANUP(text_deinit) query = { 0 };
        filter_write_query(request, &filter, &query);
        html_write(out, "<nav class=\"more\"><a rel=\"next\" href=\"/groups/%s?%.*s%s",
                   request->id, 4 * SEARCH_SIZE, text_string(&query),
                   query.size != 0 ? "&" : "");
        html_write(out, "cursor=%s\">Older reports</a></nav>", next);
    }
    html_write(out, "</div></div>\n");
    page_finish(request, CH_OK, "group");
}
