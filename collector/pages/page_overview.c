// SPDX-License-Identifier: Apache-2.0
//
// What a team asks on Monday morning: what is new in a release, what came back, what
// rises, what hits most machines, which release crashes, and which host crashes alone.
// Each figure is a link to the list that it counts.
#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/pages/pages.h"
#include "collector/query/releases.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/filter.h"

enum {
    LINES = 4,
    RISING_LINES = 10,
    PROGRAMS = 50,
    SEEN_LAST = 6,
    RELEASES_CHOSEN_FROM = 24, // of each program
    MOST_IN_A_CARD = 1000,     // groups, where their reports are looked at
};

// overview is what the sections are written with.
struct overview {
    struct text *out;
    struct store *store;
    int64_t now_ms;
    const char *project;     // of who looks; empty: all
    const char *program;     // chosen, or NULL
    const char *chosen;      // a release, or NULL: what is new is so in its program
    const char *environment; // chosen, or NULL
    const char *since;
    const char *release; // chosen, or the current one of the only program, or empty
    struct releases releases;
    enum ch_status status; // of the first failure
};

// overview_filter is a list in the chosen release, environment and time; term is what
// makes it up, a search's key and value.
static bool overview_filter(struct overview *overview, const char *key,
                            const char *value, struct filter *out)
{
    *out = (struct filter){ .search = { .now_ms = overview->now_ms },
                            .store = { .limit = LINES,
                                       .project = overview->project,
                                       .found_most = MOST_IN_A_CARD } };
    struct search *search = &out->search;
    enum ch_status status = key != NULL ? search_add(search, key, value) : CH_OK;
    bool of_release = key != NULL && strcmp(key, "first_release") == 0;
    if (status == CH_OK && overview->chosen != NULL && !of_release)
        status = search_add(search, "release", overview->chosen);
    if (status == CH_OK && overview->program != NULL)
        status = search_add(search, "program", overview->program);
    if (status == CH_OK && overview->environment != NULL)
        status = search_add(search, "environment", overview->environment);
    if (status == CH_OK && overview->since != NULL)
        status = search_add(search, "since", overview->since);
    memcpy(out->store.terms, search->terms, sizeof(out->store.terms));
    out->store.term_count = search->count;
    if (status != CH_OK && overview->status == CH_OK)
        overview->status = status;
    return status == CH_OK;
}

static void keep_failure(struct overview *overview, enum ch_status status)
{
    if (overview->status == CH_OK)
        overview->status = status;
}

// write_filter_link begins a link to the list of a filter.
static void write_filter_link(struct text *out, const struct filter *filter,
                              const char *sort)
{
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    filter_write_search(&filter->search, SIZE_MAX, NULL, NULL, &query);
    html_write(out, "<a href=\"/groups?%.*s%s%s\">", 3 * SEARCH_SIZE,
               text_string(&query), query.size != 0 && sort[0] != 0 ? "&" : "", sort);
}

// card is a section of the overview: a heading, how many groups there are, the first of
// them.
struct card {
    const char *heading;
    const char *about; // what the heading does not say; may be empty
    const char *key;   // of the search
    const char *value;
    const char *sort_parameter;
    enum store_sort sort;
    unsigned lines;
    bool counted;
};

// list_card lists the groups of a card and, unless out_found is NULL, counts them all.
static enum ch_status list_card(struct store *store, const struct store_filter *filter,
                                struct page_group_rows *rows,
                                char next[STORE_CURSOR_SIZE],
                                struct store_found *out_found)
{
    if (out_found == NULL)
        return store_list_groups(store, filter, page_group_line_write, rows, next);
    return store_list_counted_groups(store, filter, page_group_line_write, rows, next,
                                     out_found);
}

static void write_card(struct overview *overview, const struct card *card)
{
    struct text *out = overview->out;
    struct text CH_CLEANUP(text_deinit) lines = { 0 };
    struct filter filter;
    char next[STORE_CURSOR_SIZE];
    struct store_found found = { 0 };
    struct page_group_rows rows = { .out = &lines, .now_ms = overview->now_ms };
    if (!overview_filter(overview, card->key, card->value, &filter))
        return;
    // Counting the reports of every group that two terms hold for would take long.
    bool narrowed = filter.store.term_count - (card->key != NULL) > 1;
    bool by_count = card->sort == STORE_SORT_COUNT && narrowed;
    filter.store.limit = card->lines;
    filter.store.sort = by_count ? STORE_SORT_LAST_SEEN : card->sort;
    filter_open_only(&filter);
    keep_failure(overview, list_card(overview->store, &filter.store, &rows, next,
                                     card->counted ? &found : NULL));
    html_write(out, "<section class=\"card\"><h2>");
    write_filter_link(out, &filter, by_count ? "" : card->sort_parameter);
    html_write(out, "%s", card->heading);
    if (card->counted)
        html_write(out, " <b>%'lld%s</b>", (long long)found.count,
                   found.more ? "+" : "");
    html_write(out, "</a></h2><p class=\"about\">%s</p><ol class=\"leads\">",
               card->about);
    text_append(out, lines.bytes, lines.size);
    html_write(out, "</ol>");
    if (rows.count == 0)
        html_write(out, "<p class=\"cut\">None.</p>");
    html_write(out, "</section>\n");
}

static void write_cards(struct overview *overview)
{
    bool named = overview->chosen != NULL;
    char since[PAGE_SHORT + 16] = "New";
    if (!named && overview->release[0] != 0)
        (void)snprintf(since, sizeof(since), "New since %.*s", PAGE_SHORT,
                       overview->release);
    const struct card cards[] = {
        { named ? "New in this release" : since,
          named ? ""
                : "First seen in the newest release of their program that is in use.",
          named ? "first_release" : "is", named ? overview->chosen : "new",
          "sort=count", STORE_SORT_COUNT, LINES, true },
        { "Came back", "Resolved once, and seen again.", "is", "regressed", "",
          STORE_SORT_LAST_SEEN, LINES, true },
        { "Rising",
          "More in seven days than in the seven before, beyond what their program "
          "does.",
          "is", "rising", "", STORE_SORT_RISING, RISING_LINES, true },
        { "Most machines", "", NULL, NULL, "sort=machines", STORE_SORT_MACHINES, LINES,
          false },
        { "Nobody has taken", "", "is", "unassigned", "sort=count", STORE_SORT_COUNT,
          LINES, true },
    };
    html_write(overview->out, "<div class=\"cards\">");
    for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++)
        write_card(overview, &cards[i]);
}

// write_lone_hosts writes the machines that crash in ways of their own: broken memory
// does that.
static void write_lone_hosts(struct overview *overview, struct aggregates *aggregates)
{
    struct text *out = overview->out;
    struct aggregate_hosts hosts = { .count = 0 };
    keep_failure(overview,
                 aggregates_lone_hosts(aggregates, overview->project, &hosts));
    if (hosts.count == 0)
        return;
    html_write(out, "<section class=\"card\"><h2>Machines that crash alone</h2>"
                    "<p class=\"about\">Many groups on one machine alone point"
                    " to its hardware.</p><ol class=\"leads\">");
    for (size_t i = 0; i < hosts.count; i++) {
        const struct aggregate_host *host = &hosts.list[i];
        html_write(out, "<li>");
        page_write_link(out, "", "host", host->name, host->name);
        html_write(out,
                   "<span>%lld groups that no other machine has, %lld reports</span>"
                   "</li>",
                   (long long)host->groups, (long long)host->reports);
    }
    html_write(out, "</ol></section>\n");
}

static void write_choice(struct text *out, const char *name, bool chosen)
{
    html_write(out, "<option%s>%.*s</option>", chosen ? " selected" : "", PAGE_SHORT,
               name);
}

// choices is a list of programs to choose from.
struct choices {
    struct text *out;
    const char *chosen; // or NULL
    bool listed;        // the chosen one was there
};

static void write_program_choice(void *context, const char *program, int64_t count)
{
    struct choices *choices = context;
    bool chosen = choices->chosen != NULL && strcmp(program, choices->chosen) == 0;
    (void)count;
    choices->listed |= chosen;
    write_choice(choices->out, program, chosen);
}

static void write_programs(struct overview *overview)
{
    struct choices choices = { .out = overview->out, .chosen = overview->program };
    html_write(overview->out, "<label><span>Program</span><select name=\"program\">"
                              "<option value=\"\">all</option>");
    keep_failure(overview,
                 store_list_programs(overview->store, overview->project, PROGRAMS,
                                     write_program_choice, &choices));
    if (overview->program != NULL && !choices.listed)
        write_choice(overview->out, overview->program, true);
    html_write(overview->out, "</select></label>");
}

// write_release_choices writes the releases of each program under its name.
static void write_release_choices(struct overview *overview)
{
    struct text *out = overview->out;
    const struct releases *releases = &overview->releases;
    bool listed = overview->chosen == NULL;
    html_write(out, "<label><span>Release</span><select name=\"for_release\">"
                    "<option value=\"\">all</option>");
    for (size_t start = 0; start < releases->count;) {
        size_t end = releases_program_end(releases, start);
        html_write(out, "<optgroup label=\"%.*s\">", PAGE_SHORT,
                   releases->list[start].program);
        for (size_t i = start; i < end && i < start + RELEASES_CHOSEN_FROM; i++) {
            const char *name = releases->list[i].name;
            bool chosen = !listed && strcmp(name, overview->chosen) == 0;
            write_choice(out, name, chosen);
            listed |= chosen;
        }
        html_write(out, "</optgroup>");
        start = end;
    }
    if (!listed)
        write_choice(out, overview->chosen, true);
    html_write(out, "</select></label>");
}

static void write_choices(struct overview *overview)
{
    struct text *out = overview->out;
    html_write(out, "<form class=\"filters overview\" method=\"get\" action=\"/\">");
    write_programs(overview);
    write_release_choices(overview);
    html_write(out,
               "<label><span>Environment</span>"
               "<input name=\"environment\" value=\"%.*s\" placeholder=\"any\""
               " autocomplete=\"off\"></label><label><span>Since</span>"
               "<input name=\"since\" value=\"%.*s\" placeholder=\"always; 24h, 7d\""
               " autocomplete=\"off\"></label><button>Show</button></form>\n",
               PAGE_SHORT, overview->environment != NULL ? overview->environment : "",
               PAGE_SHORT, overview->since != NULL ? overview->since : "");
}

static void write_seen_last(struct overview *overview)
{
    struct text *out = overview->out;
    struct filter filter;
    char next[STORE_CURSOR_SIZE];
    struct page_group_rows rows = { .out = out,
                                    .now_ms = overview->now_ms,
                                    .filtered = true };
    if (!overview_filter(overview, NULL, NULL, &filter))
        return;
    filter_open_only(&filter);
    filter.store.limit = SEEN_LAST;
    html_write(out, "<h2 class=\"above\">");
    write_filter_link(out, &filter, "");
    html_write(out, "Seen last</a></h2><ol class=\"groups\">");
    keep_failure(overview, store_list_groups(overview->store, &filter.store,
                                             page_group_row_write, &rows, next));
    html_write(out, "</ol>\n");
}

static const char *overview_parameter(const struct http_request *request,
                                      const char *key)
{
    const char *value = http_parameter_value(request, key);
    return value != NULL && value[0] != 0 ? value : NULL;
}

// has_filter returns true if the URL asks for a list: overviews have a release, an
// environment and a time alone.
static bool has_filter(const struct http_request *request)
{
    static const char *const own[] = { "program", "for_release", "environment",
                                       "since" };
    for (size_t i = 0; i < request->parameter_count; i++) {
        bool is_own = false;
        for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); k++)
            is_own |= strcmp(request->parameters[i].key, own[k]) == 0;
        if (!is_own)
            return true;
    }
    return false;
}

// find_release finds the release that is looked at: the chosen one, or the current one
// of the only program.
static void find_release(struct overview *overview)
{
    const struct releases *releases = &overview->releases;
    overview->release = overview->chosen != NULL ? overview->chosen : "";
    if (overview->chosen != NULL || releases->count == 0 ||
        releases_program_end(releases, 0) != releases->count)
        return;
    for (size_t i = 0; i < releases->count; i++) {
        if (releases->list[i].current)
            overview->release = releases->list[i].name;
    }
}

static struct releases_of releases_looked_at(const struct overview *overview)
{
    return (struct releases_of){
        .project = overview->project,
        .program = overview->program != NULL ? overview->program : "",
        .environment = overview->environment != NULL ? overview->environment : "",
    };
}

// overview_open reads what is chosen and which releases there are.
static bool overview_open(struct http_request *request, struct overview *overview,
                          struct store_totals *totals)
{
    struct filter filter;
    const struct releases_of of = releases_looked_at(overview);
    if (!filter_read(request, LINES, &filter))
        return false;
    enum ch_status status =
        aggregates_count(&collector_of(request)->aggregates, overview->project, totals);
    if (status == CH_OK)
        status = releases_find(overview->store, &of, &overview->releases);
    if (status != CH_OK) {
        api_fail_store(request, status, "store");
        return false;
    }
    find_release(overview);
    return true;
}

static void write_overview(struct http_request *request, struct overview *overview,
                           const struct store_totals *totals)
{
    struct text *out = overview->out;
    page_begin(out, "Overview", NULL);
    html_write(out,
               "<h1 class=\"plain\">Overview</h1><p class=\"lead\">%'lld %s in"
               " <a href=\"/groups?q=is:any\">%'lld %s</a></p>\n",
               (long long)totals->reports, totals->reports == 1 ? "report" : "reports",
               (long long)totals->groups, totals->groups == 1 ? "group" : "groups");
    page_write_logout(out, request);
    if (totals->groups == 0) {
        page_groups_write_nothing(out, request);
        return;
    }
    const struct releases_of of = releases_looked_at(overview);
    page_groups_write_search(out, NULL);
    write_choices(overview);
    write_cards(overview);
    keep_failure(overview, page_release_chart_write(overview->out, overview->store, &of,
                                                    &overview->releases));
    keep_failure(overview, page_starts_write(overview->out, overview->store,
                                             overview->project, overview->release));
    write_lone_hosts(overview, &collector_of(request)->aggregates);
    html_write(out, "</div>");
    write_seen_last(overview);
}

void page_overview(struct http_request *request)
{
    if (has_filter(request)) {
        page_groups(request);
        return;
    }
    struct overview overview = { .out = &request->answer.body,
                                 .store = collector_of(request)->store,
                                 .now_ms = timestamp_now(),
                                 .project = request->who.project,
                                 .program = overview_parameter(request, "program"),
                                 .chosen = overview_parameter(request, "for_release"),
                                 .environment =
                                     overview_parameter(request, "environment"),
                                 .since = overview_parameter(request, "since") };
    struct store_totals totals = { 0 };
    bool opened = overview_open(request, &overview, &totals);
    if (opened) {
        write_overview(request, &overview, &totals);
        page_finish(request, overview.status, "group");
    }
    releases_deinit(&overview.releases);
}
