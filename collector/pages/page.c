// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/page.h"

#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/pages/html.h"
#include "collector/pages/pages.h"
#include "collector/pages/style.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/filter.h"
#include "collector/server/time_zone.h"

enum {
    BAR = 6, // of a large trend, in its own units
    GAP = 2,
    LARGE_HEIGHT = 64,
    SMALL_HEIGHT = 9, // a day is one unit wide
    LONG_HEADING = 120,
};

// page_zone is the zone of the page that this thread makes; NULL: UTC.
static _Thread_local const struct time_zone *page_zone;

void page_begin(struct text *out, const char *title, const char *crumb)
{
    html_write(out,
               "<!doctype html>\n"
               "<html lang=\"en\"><head><meta charset=\"utf-8\">"
               "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
               "<meta name=\"color-scheme\" content=\"light dark\">"
               "<title>%.*s \u00b7 crashhook</title>"
               "<link rel=\"stylesheet\" href=\"/style.css?%s\"></head>\n"
               "<body><a class=\"skip\" href=\"#content\">Skip to content</a>"
               "<header class=\"top\"><div class=\"wide\">"
               "<a class=\"brand\" href=\"/\">crashhook</a>"
               "<nav aria-label=\"Where you are\"><a href=\"/groups\">Groups</a>"
               "<a href=\"/releases\">Releases</a><a href=\"/machines\">Machines</a>"
               "<a href=\"/symbols\">Symbols</a><a href=\"/alerts\">Alerts</a>"
               "<a href=\"/access\">Access</a>",
               PAGE_SHORT, title, style_version);
    if (crumb != NULL)
        html_write(out, "<span>%.*s</span>", PAGE_SHORT, crumb);
    html_write(out, "</nav>");
    html_write(out, "</div></header>\n<main id=\"content\" class=\"wide\">\n");
}

void page_end(struct text *out)
{
    html_write(out,
               "</main><footer class=\"wide zone\"><a href=\"/access#zone\">Times in"
               " %s</a></footer>\n</body></html>\n",
               page_zone_name());
}

void page_finish(struct http_request *request, enum ch_status status, const char *what)
{
    if (status == CH_OK) {
        page_end(&request->answer.body);
        request->answer.status = 200;
        request->answer.content_type = "text/html; charset=utf-8";
    } else {
        api_fail_store(request, status, what);
    }
}

void page_choose_zone(struct http_request *request)
{
    const char *chosen = http_cookie_value(request, PAGE_ZONE_COOKIE);
    bool utc = chosen != NULL && strcmp(chosen, "UTC") == 0;
    page_zone = chosen != NULL && !utc ? time_zone_find(chosen) : NULL;
    if (page_zone == NULL && !utc)
        page_zone = collector_of(request)->zone;
}

const char *page_zone_name(void)
{
    return page_zone != NULL ? time_zone_name(page_zone) : "UTC";
}

void page_write_exact(struct text *out, int64_t time_ms)
{
    char exact[TIME_ZONE_TEXT];
    time_zone_write(page_zone, time_ms, false, exact);
    html_write(out, "%s", exact);
}

bool page_is_full(const struct text *out)
{
    return out->size >= PAGE_BYTES;
}

void page_write_cut(struct text *out, size_t shown, size_t count, const char *what)
{
    if (count > shown)
        html_write(out, "<p class=\"cut\">%zu more%s%s are in the JSON.</p>",
                   count - shown, *what != 0 ? " " : "", what);
}

void page_write_time(struct text *out, int64_t time_ms, int64_t now_ms)
{
    char exact[TIMESTAMP_SIZE];
    char local[TIME_ZONE_TEXT];
    char ago[TIMESTAMP_SIZE];
    timestamp_write(time_ms, exact);
    time_zone_write(page_zone, time_ms, false, local);
    timestamp_write_ago(time_ms, now_ms, ago);
    html_write(out, "<time datetime=\"%s\" title=\"%s\">%s</time>", exact, local, ago);
}

void page_write_age(struct text *out, const char *what, int64_t time_ms, int64_t now_ms)
{
    char exact[TIME_ZONE_TEXT];
    char ago[TIMESTAMP_SIZE];
    time_zone_write(page_zone, time_ms, true, exact);
    timestamp_write_ago(time_ms, now_ms, ago);
    html_write(out, "<span title=\"%s\">%s%s</span>", exact, what, ago);
}

void page_begin_link(struct text *out, const char *class, const char *key,
                     const char *value)
{
    struct text CH_CLEANUP(text_deinit) term = { 0 };
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    search_write_term(&term, key, value);
    if (text_ok(&term) && term.size != 0)
        filter_encode(&query, term.bytes);
    html_write(out, "<a");
    if (class[0] != 0)
        html_write(out, " class=\"%s\"", class);
    html_write(out, " href=\"/groups?q=%s\">", text_string(&query));
}

void page_write_link(struct text *out, const char *class, const char *key,
                     const char *value, const char *text)
{
    page_begin_link(out, class, key, value);
    html_write(out, "%.*s</a>", PAGE_SHORT, text);
}

const char *page_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != 0 ? slash + 1 : path;
}

void page_write_summary(struct text *out, const char *summary)
{
    bool is_long = strlen(summary) > LONG_HEADING;
    html_write(out, is_long ? "<h1 class=\"long\">" : "<h1>");
    html_write(out, "%.*s", PAGE_NAME, summary);
    html_write(out, "</h1>");
}

static int small_height(int64_t count, int64_t most)
{
    return count == 0 ? 0 : (int)(count * (SMALL_HEIGHT - 1) / most) + 1;
}

// write_bar draws one day.
static void write_bar(struct text *out, const struct store_group *group, size_t i,
                      int64_t most)
{
    char day[TIMESTAMP_DAY_SIZE];
    int64_t count = group->trend[i];
    // A day with any report is visible, however small its share.
    int tall = count == 0 ? 1 : (int)(count * (LARGE_HEIGHT - 3) / most) + 3;
    timestamp_write_day(group->trend_day - STORE_TREND_DAYS + 1 + (int64_t)i, day);
    html_write(out,
               "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\""
               " rx=\"1\"><title>%s: %lld</title></rect>",
               count == 0 ? "none" : "some", (int)i * (BAR + GAP), LARGE_HEIGHT - tall,
               BAR, tall, day, (long long)count);
}

// write_bars draws the days as one path along their tops, from which the style cuts the
// bars: lists have hundreds of them.
static void write_bars(struct text *out, const struct store_group *group, int64_t most)
{
    html_write(out, "<path d=\"M0 %d", SMALL_HEIGHT);
    for (size_t i = 0, from = 0; i < STORE_TREND_DAYS; i = from) {
        int tall = small_height(group->trend[i], most);
        while (from < STORE_TREND_DAYS &&
               small_height(group->trend[from], most) == tall)
            from++;
        html_write(out, "V%dh%d", SMALL_HEIGHT - tall, (int)(from - i));
    }
    html_write(out, "V%d\"/>", SMALL_HEIGHT);
}

void page_write_trend(struct text *out, const struct store_group *group, bool large)
{
    int64_t most = 1;
    int64_t sum = 0;
    for (size_t i = 0; i < STORE_TREND_DAYS; i++) {
        most = group->trend[i] > most ? group->trend[i] : most;
        sum += group->trend[i];
    }
    if (large)
        html_write(out, "<svg class=\"trend large\" viewBox=\"0 0 %d %d\"",
                   STORE_TREND_DAYS * (BAR + GAP) - GAP, LARGE_HEIGHT);
    else
        html_write(out, "<svg class=trend viewBox=\"0 0 %d %d\"", STORE_TREND_DAYS,
                   SMALL_HEIGHT);
    html_write(out,
               " preserveAspectRatio=none role=img aria-label=\"%lld reports"
               " in %d days\">",
               (long long)sum, STORE_TREND_DAYS);
    for (size_t i = 0; large && i < STORE_TREND_DAYS; i++)
        write_bar(out, group, i, most);
    if (!large)
        write_bars(out, group, most);
    html_write(out, "</svg>");
}

void page_style(struct http_request *request)
{
    request->answer.status = 200;
    request->answer.content_type = "text/css; charset=utf-8";
    request->answer.cacheable = true;
    text_append(&request->answer.body, style_bytes, style_size);
}
