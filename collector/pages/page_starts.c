// SPDX-License-Identifier: Apache-2.0
//
// How many sessions of each release ended without a crash, where starts are counted.
#include <string.h>

#include "base/wilson.h"
#include "collector/database/timestamp.h"
#include "collector/entry/release_order.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/store/store_starts.h"

enum {
    RELEASES_SUMMED = 64,
    HOSTS_SHOWN = 5,
    RELEASES_SHOWN = 8,
    PER_MILLE = 1000,
    MILLION = 1000000,
    BAR = 9, // width of a day in the chart
    GAP = 3,
    HEIGHT = 100
};

// summed is a release on all of its hosts, or a host's part of the chosen release.
struct summed {
    char name[sizeof(((struct entry *)NULL)->release)];
    int64_t starts;
    int64_t ends;
    int64_t crashes;
};

struct start_totals {
    struct summed list[RELEASES_SUMMED];
    size_t count;
    const char *release;              // whose hosts are shown
    struct summed hosts[HOSTS_SHOWN]; // of which most sessions crashed, the worst first
    size_t host_count;
};

// insert_release makes room for a release before the first one that is older.
static size_t insert_release(struct start_totals *totals, const char *release)
{
    size_t at = 0;
    int order = 0;
    while (at < totals->count &&
           !(release_order(release, totals->list[at].name, &order) && order > 0))
        at++;
    memmove(&totals->list[at + 1], &totals->list[at],
            (totals->count - at) * sizeof(totals->list[0]));
    totals->list[at] = (struct summed){ 0 };
    entry_copy(totals->list[at].name, sizeof(totals->list[at].name), release);
    totals->count++;
    return at;
}

// insert_host keeps a host before those with a smaller share of crashes.
static void insert_host(struct start_totals *totals, const struct store_start_row *row)
{
    size_t at = 0;
    while (at < totals->host_count && row->crashes * totals->hosts[at].starts <=
                                          totals->hosts[at].crashes * row->starts)
        at++;
    if (at == HOSTS_SHOWN)
        return;
    size_t kept =
        totals->host_count < HOSTS_SHOWN ? totals->host_count : HOSTS_SHOWN - 1;
    memmove(&totals->hosts[at + 1], &totals->hosts[at],
            (kept - at) * sizeof(totals->hosts[0]));
    totals->hosts[at] = (struct summed){ .starts = row->starts,
                                         .ends = row->ends,
                                         .crashes = row->crashes };
    entry_copy(totals->hosts[at].name, sizeof(totals->hosts[at].name), row->host);
    totals->host_count = kept + 1;
}

static void add_release(void *context, const struct store_start_row *row)
{
    struct start_totals *totals = context;
    if (totals->count == RELEASES_SUMMED)
        return;
    size_t i = insert_release(totals, row->release);
    totals->list[i].starts = row->starts;
    totals->list[i].ends = row->ends;
    totals->list[i].crashes = row->crashes;
}

static void add_host(void *context, const struct store_start_row *row)
{
    if (row->starts > 0)
        insert_host(context, row);
}

static int64_t crashed_sessions(const struct summed *summed)
{
    return summed->crashes < summed->starts ? summed->crashes : summed->starts;
}

// worst_share is the greatest share of crashed sessions, in millionths, and 1 at least.
static int64_t worst_share(const struct summed *list, size_t count)
{
    int64_t worst = 1;
    for (size_t i = 0; i < count; i++) {
        int64_t share = list[i].starts > 0
                            ? crashed_sessions(&list[i]) * MILLION / list[i].starts
                            : 0;
        worst = share > worst ? share : worst;
    }
    return worst;
}

// write_summed_row writes a release or, by key, a host: which part of its sessions did
// not crash, and how many neither ended nor crashed as far as is known. The bar is the
// distance from 100 %, relative to that of the worst row: all of them are near 100 %.
static void write_summed_row(struct text *out, const char *key,
                             const struct summed *summed, int64_t worst)
{
    int64_t crashes = crashed_sessions(summed);
    int64_t known = summed->ends + crashes;
    int64_t free_mille = (summed->starts - crashes) * PER_MILLE / summed->starts;
    html_write(out, "<li>");
    if (summed->name[0] != 0)
        page_write_link(out, "name", key, summed->name, summed->name);
    else
        html_write(out, "<span class=\"name\">without a name</span>");
    html_write(
        out,
        "<meter min=\"0\" max=\"%lld\" value=\"%lld\"></meter><b>%lld.%lld\u2009%%"
        "</b><span>of %'lld %s",
        (long long)worst, (long long)(crashes * MILLION / summed->starts),
        (long long)(free_mille / 10), (long long)(free_mille % 10),
        (long long)summed->starts, summed->starts == 1 ? "session" : "sessions");
    if (summed->starts > known)
        html_write(out, ", %'lld unknown", (long long)(summed->starts - known));
    html_write(out, "</span></li>");
}

static void write_start_hosts(struct text *out, const struct start_totals *totals)
{
    if (totals->host_count == 0)
        return;
    html_write(out, "<h3>Hosts of %.*s</h3><ul class=\"bars\">", PAGE_SHORT,
               totals->release[0] != 0 ? totals->release : "no release");
    for (size_t i = 0; i < totals->host_count; i++)
        write_summed_row(out, "host", &totals->hosts[i],
                         worst_share(totals->hosts, totals->host_count));
    html_write(out, "</ul>");
}

// start_days is the sums of the last days, the last one first.
struct start_days {
    struct store_start_row list[STORE_START_DAYS];
    size_t count;
};

static void take_start_day(void *context, const struct store_start_row *row)
{
    struct start_days *days = context;
    if (days->count < STORE_START_DAYS)
        days->list[days->count++] = *row;
}

// share is the part of sessions that crashed, with its 95 % interval. A session counts
// on the day of its start, and on that of its crash, which may be a later one: where
// more crashed than began, there is no interval.
struct share {
    double low;
    double part;
    double high;
};

static struct share share_of(const struct store_start_row *row)
{
    struct share share = { 1, 1, 1 };
    if (row->crashes > row->starts)
        return share;
    share.part = (double)row->crashes / (double)row->starts;
    wilson_interval((double)row->crashes, (double)row->starts, &share.low, &share.high);
    return share;
}

static void write_start_day(struct text *out, const struct store_start_row *row,
                            int64_t today, double most)
{
    char day[TIMESTAMP_DAY_SIZE];
    char words[120];
    struct share share = share_of(row);
    double scale = HEIGHT / most;
    int x = (int)(STORE_START_DAYS - 1 - (today - row->day)) * (BAR + GAP);
    int bar = (int)(share.part * scale);
    int low = (int)(share.low * scale);
    int high = (int)(share.high * scale);
    timestamp_write_day(row->day, day);
    if (row->crashes > row->starts) // of sessions that began before that day
        snprintf(words, sizeof(words), "%s: %lld sessions crashed, %lld began", day,
                 (long long)row->crashes, (long long)row->starts);
    else
        snprintf(words, sizeof(words),
                 "%s: %.2f %% without a crash (%.2f to %.2f %%), %lld sessions", day,
                 100 * (1 - share.part), 100 * (1 - share.high), 100 * (1 - share.low),
                 (long long)row->starts);
    html_write(out,
               "<g><title>%s</title><rect class=some x=\"%d\" y=\"%d\" width=\"%d\""
               " height=\"%d\"/><rect class=range x=\"%d\" y=\"%d\" width=\"%d\""
               " height=\"%d\"/></g>",
               words, x, HEIGHT - bar, BAR, bar, x + BAR / 3, HEIGHT - high, BAR / 3,
               high - low);
}

// write_start_days draws the distance from 100 % of each day, with its interval: a day
// with few sessions says little.
static enum ch_status write_start_days(struct text *out, struct store *store,
                                       const char *project, const char *release)
{
    struct start_days days = { .count = 0 };
    int64_t today = timestamp_now() / TIMESTAMP_DAY_MS;
    double most = 0;
    char words[80];
    enum ch_status status =
        store_list_start_days(store, project, release, take_start_day, &days);
    for (size_t i = 0; i < days.count; i++) {
        double high = share_of(&days.list[i]).high;
        most = high > most ? high : most;
    }
    if (days.count == 0)
        return status;
    html_write(out,
               "<h3>By day%s%.*s</h3><svg class=\"trend large\" viewBox=\"0 0 %d %d\""
               " preserveAspectRatio=none role=img aria-label=\"Sessions that crashed,"
               " by day\">",
               release[0] != 0 ? ", " : "", PAGE_SHORT, release,
               STORE_START_DAYS * (BAR + GAP) - GAP, HEIGHT);
    for (size_t i = 0; i < days.count; i++)
        write_start_day(out, &days.list[i], today, most);
    snprintf(words, sizeof(words), "%.2f %% at the top, lines are 95 %% intervals",
             100 * (1 - most));
    html_write(out,
               "</svg><p class=\"axis\"><span>%d days ago</span><span>%s</span>"
               "<span>today</span></p>",
               STORE_START_DAYS - 1, words);
    return status;
}

enum ch_status page_starts_write(struct text *out, struct store *store,
                                 const char *project, const char *release)
{
    struct start_totals totals = { .release = release };
    size_t shown = 0;
    enum ch_status status =
        store_list_release_starts(store, project, add_release, &totals);
    for (size_t i = 0; i < totals.count && totals.release[0] == 0; i++) {
        if (totals.list[i].starts > 0)
            totals.release = totals.list[i].name;
    }
    if (status == CH_OK)
        status = store_list_starts(store, project, totals.release, add_host, &totals);
    for (size_t i = 0; i < totals.count && shown < RELEASES_SHOWN; i++) {
        if (totals.list[i].starts <= 0)
            continue;
        if (shown++ == 0)
            html_write(out, "<section class=\"card\" id=\"starts\"><h2>Without a crash"
                            "</h2><p class=\"about\">Sessions of the last 30 days that"
                            " did not crash; bars show those that did. Unknown are "
                            "those that run, or were"
                            " killed.</p><ul class=\"bars\">");
        write_summed_row(out, "release", &totals.list[i],
                         worst_share(totals.list, totals.count));
    }
    if (shown != 0) {
        html_write(out, "</ul>");
        enum ch_status drawn = write_start_days(out, store, project, release);
        status = status == CH_OK ? drawn : status;
        write_start_hosts(out, &totals);
        html_write(out, "</section>\n");
    }
    return status;
}
