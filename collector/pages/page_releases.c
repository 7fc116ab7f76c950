// SPDX-License-Identifier: Apache-2.0
//
// The releases of each program: what they crash and when, what began and came back in
// them, how far they are adopted, and which part of their sessions did not crash.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collector/database/timestamp.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/pages/pages.h"
#include "collector/query/releases.h"
#include "collector/query/store_fleet.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/filter.h"
#include "collector/store/store_starts.h"

enum {
    RELEASES_OF_EACH = 12,
    RELEASES_OF_ONE = 200,
    GROUPS_COMPARED = 100,
    PER_MILLE = 1000,
    RELEASES_IN_CHART = 8,
    CHART_HEIGHT = 200,
    BAR = 9, // width of a day
    GAP = 3
};

static void write_release_bar(struct text *out, const struct release *release,
                              size_t series, int64_t most)
{
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    search_write_term(&query, "program", release->program);
    text_append_string(&query, " ");
    search_write_term(&query, "release", release->name);
    html_write(out, "<li class=\"s%zu\"><a class=\"name\" href=\"/groups?q=", series);
    filter_encode(out, text_string(&query));
    html_write(out,
               "\"><bdi>%.*s</bdi> <bdi>%.*s</bdi></a><meter min=\"0\" max=\"%lld\""
               " value=\"%lld\"></meter><b>%'lld</b></li>",
               PAGE_SHORT, release->program, PAGE_SHORT, release->name, (long long)most,
               (long long)release->count, (long long)release->count);
}

// releases_a_program is how many releases of each program are shown, so that each has
// its newest ones there.
static size_t releases_a_program(const struct releases *releases)
{
    size_t programs = 0;
    for (size_t i = 0; i < releases->count; i = releases_program_end(releases, i))
        programs++;
    if (programs == 0 || programs >= RELEASES_IN_CHART)
        return 1;
    return RELEASES_IN_CHART / programs;
}

// first_release_shown is the first of a program's releases that are shown, so that its
// current one is among them where newer ones have few reports.
static size_t first_release_shown(const struct releases *releases, size_t start,
                                  size_t end, size_t each)
{
    size_t current = start;
    while (current < end && !releases->list[current].current)
        current++;
    return current < end && current >= start + each ? current + 1 - each : start;
}

// release_chart is the releases that are shown, and what crashed of each on each day;
// the last row is of all others.
struct release_chart {
    const struct release *shown[RELEASES_IN_CHART];
    size_t count;
    int64_t first_day;
    int64_t days[RELEASES_IN_CHART + 1][STORE_TREND_DAYS];
};

static void choose_releases(struct release_chart *chart,
                            const struct releases *releases)
{
    size_t each = releases_a_program(releases);
    for (size_t start = 0; start < releases->count;) {
        size_t end = releases_program_end(releases, start);
        size_t first = first_release_shown(releases, start, end, each);
        for (size_t i = first; i < end && i < first + each; i++) {
            if (chart->count < RELEASES_IN_CHART)
                chart->shown[chart->count++] = &releases->list[i];
        }
        start = end;
    }
}

static void take_release_day(void *context, const struct release_day *row)
{
    struct release_chart *chart = context;
    size_t series = RELEASES_IN_CHART;
    for (size_t i = 0; i < chart->count; i++) {
        if (strcmp(chart->shown[i]->name, row->release) == 0 &&
            strcmp(chart->shown[i]->program, row->program) == 0 &&
            strcmp(chart->shown[i]->project, row->project) == 0)
            series = i;
    }
    chart->days[series][row->day - chart->first_day] += row->count;
}

// write_series draws the part of one release in the column of each day, above those of
// the series before, whose counts are in below.
static void write_series(struct text *out, const struct release_chart *chart,
                         size_t series, int64_t below[STORE_TREND_DAYS], int64_t most)
{
    const int64_t *days = chart->days[series];
    bool other = series == RELEASES_IN_CHART;
    html_write(out, "<path class=\"s%zu\" d=\"", series);
    for (size_t i = 0; i < STORE_TREND_DAYS; i++) {
        if (days[i] == 0)
            continue;
        int64_t bottom = CHART_HEIGHT - below[i] * CHART_HEIGHT / most;
        below[i] += days[i];
        int64_t top = CHART_HEIGHT - below[i] * CHART_HEIGHT / most;
        html_write(out, "M%zu %lldh%dv%lldh-%dz", i * (BAR + GAP), (long long)top, BAR,
                   (long long)(bottom - top), BAR);
    }
    html_write(out, "\"><title>%.*s %.*s</title></path>", PAGE_SHORT,
               other ? "others" : chart->shown[series]->program, PAGE_SHORT,
               other ? "" : chart->shown[series]->name);
}

static void write_days(struct text *out, const struct release_chart *chart)
{
    int64_t below[STORE_TREND_DAYS] = { 0 };
    char first[TIMESTAMP_DAY_SIZE];
    char last[TIMESTAMP_DAY_SIZE];
    int64_t most = 0;
    for (size_t i = 0; i < STORE_TREND_DAYS; i++) {
        int64_t sum = 0;
        for (size_t k = 0; k <= RELEASES_IN_CHART; k++)
            sum += chart->days[k][i];
        most = sum > most ? sum : most;
    }
    if (most == 0)
        return;
    timestamp_write_day(chart->first_day, first);
    timestamp_write_day(chart->first_day + STORE_TREND_DAYS - 1, last);
    html_write(out,
               "<svg class=\"trend large\" viewBox=\"0 0 %d %d\""
               " preserveAspectRatio=none role=img aria-label=\"Crashes of %d days by"
               " release\">",
               STORE_TREND_DAYS * (BAR + GAP) - GAP, CHART_HEIGHT, STORE_TREND_DAYS);
    for (size_t i = 0; i < chart->count; i++)
        write_series(out, chart, i, below, most);
    write_series(out, chart, RELEASES_IN_CHART, below, most);
    html_write(out,
               "</svg><p class=\"axis\"><span>%s</span><span>at most %lld a day</span>"
               "<span>%s</span></p>",
               first, (long long)most, last);
}

enum ch_status page_release_chart_write(struct text *out, struct store *store,
                                        const struct releases_of *of,
                                        const struct releases *releases)
{
    int64_t today = timestamp_now() / TIMESTAMP_DAY_MS;
    struct release_chart chart = { .first_day = today - STORE_TREND_DAYS + 1 };
    const int64_t days[] = { chart.first_day, today };
    int64_t most = 1;
    if (releases->count == 0)
        return CH_OK;
    choose_releases(&chart, releases);
    enum ch_status status =
        releases_list_days(store, of, days, take_release_day, &chart);
    for (size_t i = 0; i < chart.count; i++)
        most = chart.shown[i]->count > most ? chart.shown[i]->count : most;
    html_write(out, "<section class=\"card chart\"><h2>Crashes by release</h2>"
                    "<p class=\"about\">Reports of each day, others in grey; below, all"
                    " reports of a release.</p>");
    write_days(out, &chart);
    html_write(out, "<ul class=\"bars\">");
    for (size_t i = 0; i < chart.count; i++)
        write_release_bar(out, chart.shown[i], i, most);
    html_write(out, "</ul></section>\n");
    return status;
}

// release_row is what is known of a release beside its reports.
struct release_row {
    int64_t began;
    int64_t back;
    int64_t starts;
    int64_t crashes;
};

struct releases_page {
    struct http_request *request;
    struct text *out;
    int64_t now_ms;
    const char *program; // chosen, or empty
    const char *before;  // the releases to compare; NULL: none
    const char *after;
    struct releases releases;
    struct release_row *rows; // of each of the releases
};

static void take_began(void *context, const struct store_release_groups *release)
{
    struct releases_page *page = context;
    for (size_t i = 0; i < page->releases.count; i++) {
        const struct release *known = &page->releases.list[i];
        if (strcmp(known->name, release->release) != 0 ||
            strcmp(known->program, release->program) != 0 ||
            strcmp(known->project, release->project) != 0)
            continue;
        page->rows[i].began = release->began;
        page->rows[i].back = release->back;
    }
}

// take_sessions takes the sessions of a release, which are counted without a program.
static void take_sessions(void *context, const struct store_start_row *row)
{
    struct releases_page *page = context;
    for (size_t i = 0; i < page->releases.count; i++) {
        if (strcmp(page->releases.list[i].name, row->release) != 0)
            continue;
        page->rows[i].starts = row->starts;
        page->rows[i].crashes = row->crashes < row->starts ? row->crashes : row->starts;
    }
}

static void write_per_mille(struct text *out, int64_t part, int64_t whole)
{
    int64_t mille = part * PER_MILLE / whole;
    html_write(out, "%lld.%lld\u2009%%", (long long)(mille / 10),
               (long long)(mille % 10));
}

// write_release_count writes a number as a link to the groups that it counts: those
// with the release as the value of key, or, where that is NULL, those that came back in
// it.
static void write_release_count(struct text *out, const struct release *release,
                                const char *key, const char *more, int64_t number)
{
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    if (number == 0) {
        html_write(out, "<td>0</td>");
        return;
    }
    search_write_term(&query, "program", release->program);
    text_append_string(&query, key != NULL ? " is:any " : " is:regressed");
    if (key != NULL)
        search_write_term(&query, key, release->name);
    html_write(out, "<td><a href=\"/groups?q=");
    filter_encode(out, text_string(&query));
    html_write(out, "%s", more);
    if (key == NULL)
        filter_encode(out, release->name);
    html_write(out, "\">%'lld</a></td>", (long long)number);
}

static void write_release(struct releases_page *page, size_t i, int64_t starts)
{
    struct text *out = page->out;
    const struct release *release = &page->releases.list[i];
    const struct release_row *row = &page->rows[i];
    html_write(out, "<tr><td><b>%.*s</b>", PAGE_SHORT, release->name);
    html_write(out, release->current ? " <span class=\"mark\">current</span></td>"
                                     : "</td>");
    write_release_count(out, release, "release", "&sort=count", release->count);
    html_write(out, "<td>%'lld</td>", (long long)release->recent);
    write_release_count(out, release, "first_release", "", row->began);
    write_release_count(out, release, NULL, "&for_release=", row->back);
    html_write(out, "<td>");
    if (row->starts > 0)
        write_per_mille(out, row->starts + starts / (2 * PER_MILLE), starts);
    if (starts > 0)
        html_write(out, "</td><td>");
    if (row->starts > 0)
        write_per_mille(out, row->starts - row->crashes, row->starts);
    if (starts > 0)
        html_write(out, "</td><td>");
    page_write_age(out, "", release->first_seen_ms, page->now_ms);
    html_write(out, "</td><td>");
    page_write_age(out, "", release->last_seen_ms, page->now_ms);
    html_write(out, "</td></tr>\n");
}

static void write_program_releases(struct releases_page *page, size_t start, size_t end)
{
    struct text *out = page->out;
    const struct release *first = &page->releases.list[start];
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    size_t most = page->program[0] != 0 ? RELEASES_OF_ONE : RELEASES_OF_EACH;
    size_t shown = end - start < most ? end - start : most;
    int64_t starts = 0;
    for (size_t i = start; i < end; i++)
        starts += page->rows[i].starts;
    filter_encode(&name, first->program);
    html_write(out,
               "<section class=\"card\"><h2><a href=\"/releases?program=%.*s\">%.*s</a>"
               "%s%.*s</h2><div class=\"scroll\"><table class=\"counts\"><thead><tr>"
               "<th>release</th><th>reports</th><th>of 14 days</th><th>new groups</th>"
               "<th>came back</th>",
               3 * PAGE_SHORT, text_string(&name), PAGE_SHORT, first->program,
               first->project[0] != 0 ? " \u00b7 " : "", PAGE_SHORT, first->project);
    if (starts > 0)
        html_write(out, "<th>adoption</th><th>crash-free</th>");
    html_write(out, "<th>first seen</th><th>last seen</th></tr></thead><tbody>\n");
    for (size_t i = start; i < start + shown; i++)
        write_release(page, i, starts);
    html_write(out, "</tbody></table></div>");
    if (shown < end - start)
        html_write(out, "<p class=\"cut\">The newest %zu of %zu.</p>", shown,
                   end - start);
    html_write(out, "</section>\n");
}

static void write_release_select(const struct releases_page *page, const char *name,
                                 const char *label, size_t chosen)
{
    html_write(page->out, "<label><span>%s</span><select name=\"%s\">", label, name);
    for (size_t i = 0; i < page->releases.count && i < RELEASES_OF_ONE; i++)
        html_write(page->out, "<option value=\"%s\"%s>%.*s</option>",
                   page->releases.list[i].name, i == chosen ? " selected" : "",
                   PAGE_SHORT, page->releases.list[i].name);
    html_write(page->out, "</select></label>");
}

// index_of_release gives the chosen release: chosen where the URL names none, the count
// of all where it names one that is not there.
static size_t index_of_release(const struct releases_page *page, const char *name,
                               size_t chosen)
{
    size_t i = 0;
    if (name == NULL)
        return chosen;
    while (i < page->releases.count && strcmp(page->releases.list[i].name, name) != 0)
        i++;
    return i;
}

static void write_compared_group(void *context, const struct store_compared *row)
{
    struct text *out = context;
    html_write(
        out,
        "<tr><td><a href=\"/groups/%s\">%.*s</a></td><td>%'lld</td><td>%'lld</td>"
        "</tr>\n",
        row->group, PAGE_SHORT, row->title, (long long)row->before,
        (long long)row->after);
}

static enum ch_status write_compared(const struct releases_page *page,
                                     const struct release *before,
                                     const struct release *after)
{
    const struct store_release_groups of = { .project = page->request->who.project,
                                             .program = before->program,
                                             .release = before->name };
    html_write(page->out,
               "<p class=\"cut\">Reports of the groups that differ most:</p>"
               "<div class=\"scroll\" tabindex=\"0\"><table class=\"counts\">"
               "<thead><tr><th>group</th><th>%.*s</th>"
               "<th>%.*s</th></tr></thead><tbody>\n",
               PAGE_SHORT, before->name, PAGE_SHORT, after->name);
    enum ch_status status =
        store_compare_releases(collector_of(page->request)->store, &of, after->name,
                               GROUPS_COMPARED, write_compared_group, page->out);
    html_write(page->out, "</tbody></table></div>");
    return status;
}

// write_comparison writes the form in which two releases of the only program are
// chosen, and the groups of these.
static enum ch_status write_comparison(struct releases_page *page)
{
    struct text *out = page->out;
    const struct releases *releases = &page->releases;
    if (releases->count < 2 || releases_program_end(releases, 0) != releases->count)
        return CH_OK;
    size_t after = index_of_release(page, page->after, 0);
    size_t before = index_of_release(page, page->before, 1);
    html_write(out,
               "<section class=\"card\" id=\"compared\"><h2>Compare two releases</h2>"
               "<form class=\"filters overview\" action=\"/releases#compared\">"
               "<input type=\"hidden\" name=\"program\" value=\"%.*s\">",
               PAGE_NAME, releases->list[0].program);
    write_release_select(page, "before", "From", before);
    write_release_select(page, "after", "To", after);
    html_write(out, "<button>Compare</button></form>");
    enum ch_status status = CH_OK;
    if (before == releases->count || after == releases->count)
        html_write(out,
                   "<p class=\"cut\">The program has no release of that name.</p>");
    else if (page->before != NULL && page->after != NULL)
        status = write_compared(page, &releases->list[before], &releases->list[after]);
    html_write(out, "</section>\n");
    return status;
}

static enum ch_status read_releases_page(struct releases_page *page)
{
    struct store *store = collector_of(page->request)->store;
    const char *project = page->request->who.project;
    const struct releases_of of = { project, page->program, "" };
    size_t capacity = 0;
    enum ch_status status = releases_find(store, &of, &page->releases);
    if (status != CH_OK || page->releases.count == 0)
        return status;
    if (!array_grow(&page->rows, &capacity, page->releases.count,
                    sizeof(page->rows[0])))
        return CH_ERR_NO_MEMORY;
    memset(page->rows, 0, capacity * sizeof(page->rows[0]));
    status = store_list_release_groups(store, project, page->program, take_began, page);
    return status == CH_OK
               ? store_list_release_starts(store, project, take_sessions, page)
               : status;
}

static enum ch_status write_releases_page(struct releases_page *page)
{
    struct text *out = page->out;
    bool counted = false;
    page_begin(out, "Releases", "Releases");
    html_write(out, "<h1>Releases</h1>");
    for (size_t i = 0; i < page->releases.count; i++)
        counted |= page->rows[i].starts > 0;
    if (counted)
        html_write(out, "<p class=\"lead\">Adoption is a release's part of the sessions"
                        " of the last 30 days, crash-free the part of its sessions"
                        " that did not crash. Sessions are counted by release: programs"
                        " with the same release share them.</p>");
    if (page->releases.count == 0)
        html_write(out, "<p class=\"cut\">No report names a release.</p>");
    for (size_t start = 0; start < page->releases.count;) {
        size_t end = releases_program_end(&page->releases, start);
        write_program_releases(page, start, end);
        start = end;
    }
    return write_comparison(page);
}

void page_releases(struct http_request *request)
{
    const char *program = http_parameter_value(request, "program");
    struct releases_page page = { .request = request,
                                  .out = &request->answer.body,
                                  .now_ms = timestamp_now(),
                                  .program = program != NULL ? program : "",
                                  .before = http_parameter_value(request, "before"),
                                  .after = http_parameter_value(request, "after") };
    if (!filter_knows(request, "program before after"))
        return;
    enum ch_status status = read_releases_page(&page);
    if (status == CH_OK)
        status = write_releases_page(&page);
    releases_deinit(&page.releases);
    free(page.rows);
    page_finish(request, status, "release");
}
