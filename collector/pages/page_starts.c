// SPDX-License-Identifier: Apache-2.0
//
// How many sessions of each release ended without a crash, where starts are counted.
#include <string.h>

#include "collector/entry/release_order.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/store/store_starts.h"

enum { RELEASES_SUMMED = 64, HOSTS_SHOWN = 5, RELEASES_SHOWN = 8, PER_MILLE = 1000 };

// summed is a release on all of its hosts, or a host's part of the chosen release.
struct summed {
    char name[sizeof(((struct entry *)NULL)->release)];
    int64_t starts;
    int64_t ends;
    int64_t crashes;
};

struct start_sums {
    struct summed list[RELEASES_SUMMED];
    size_t count;
    const char *release;              // whose hosts are shown
    struct summed hosts[HOSTS_SHOWN]; // of which most sessions crashed, the worst first
    size_t host_count;
};

// insert_release makes room for a release before the first one that is older.
static size_t insert_release(struct start_sums *sums, const char *release)
{
    size_t at = 0;
    int order = 0;
    while (at < sums->count &&
           !(release_order(release, sums->list[at].name, &order) && order > 0))
        at++;
    memmove(&sums->list[at + 1], &sums->list[at],
            (sums->count - at) * sizeof(sums->list[0]));
    sums->list[at] = (struct summed){ 0 };
    entry_copy(sums->list[at].name, sizeof(sums->list[at].name), release);
    sums->count++;
    return at;
}

// insert_host keeps a host before those with a smaller share of crashes.
static void insert_host(struct start_sums *sums, const struct store_start_row *row)
{
    size_t at = 0;
    while (at < sums->host_count && row->crashes * sums->hosts[at].starts <=
                                        sums->hosts[at].crashes * row->starts)
        at++;
    if (at == HOSTS_SHOWN)
        return;
    size_t kept = sums->host_count < HOSTS_SHOWN ? sums->host_count : HOSTS_SHOWN - 1;
    memmove(&sums->hosts[at + 1], &sums->hosts[at],
            (kept - at) * sizeof(sums->hosts[0]));
    sums->hosts[at] = (struct summed){ .starts = row->starts,
                                       .ends = row->ends,
                                       .crashes = row->crashes };
    entry_copy(sums->hosts[at].name, sizeof(sums->hosts[at].name), row->host);
    sums->host_count = kept + 1;
}

static void add_release(void *context, const struct store_start_row *row)
{
    struct start_sums *sums = context;
    if (sums->count == RELEASES_SUMMED)
        return;
    size_t i = insert_release(sums, row->release);
    sums->list[i].starts = row->starts;
    sums->list[i].ends = row->ends;
    sums->list[i].crashes = row->crashes;
}

static void add_host(void *context, const struct store_start_row *row)
{
    if (row->starts > 0)
        insert_host(context, row);
}

// write_summed_row writes a release or, by key, a host: which part of its sessions did
// not crash, and how many neither ended nor crashed as far as is known.
static void write_summed_row(struct text *out, const char *key,
                             const struct summed *summed)
{
    int64_t crashes =
        summed->crashes < summed->starts ? summed->crashes : summed->starts;
    int64_t known = summed->ends + crashes;
    int64_t free_mille = (summed->starts - crashes) * PER_MILLE / summed->starts;
    html_write(out, "<li>");
    if (summed->name[0] != 0)
        page_write_link(out, "name", key, summed->name, summed->name);
    else
        html_write(out, "<span class=\"name\">without a name</span>");
    html_write(out,
               "<meter min=\"0\" max=\"%d\" value=\"%lld\"></meter><b>%lld.%lld\u2009%%"
               "</b><span>of ",
               PER_MILLE, (long long)free_mille, (long long)(free_mille / 10),
               (long long)(free_mille % 10));
    page_write_number(out, summed->starts);
    html_write(out, summed->starts == 1 ? " session" : " sessions");
    if (summed->starts > known) {
        html_write(out, ", ");
        page_write_number(out, summed->starts - known);
        html_write(out, " unknown");
    }
    html_write(out, "</span></li>");
}

static void write_start_hosts(struct text *out, const struct start_sums *sums)
{
    if (sums->host_count == 0)
        return;
    html_write(out, "<h3>Hosts of %.*s</h3><ul class=\"bars\">", PAGE_SHORT,
               sums->release[0] != 0 ? sums->release : "no release");
    for (size_t i = 0; i < sums->host_count; i++)
        write_summed_row(out, "host", &sums->hosts[i]);
    html_write(out, "</ul>");
}

enum ch_status page_starts_write(struct text *out, struct store *store,
                                 const char *project, const char *release)
{
    struct start_sums sums = { .release = release };
    size_t shown = 0;
    enum ch_status status =
        store_list_release_starts(store, project, add_release, &sums);
    for (size_t i = 0; i < sums.count && sums.release[0] == 0; i++) {
        if (sums.list[i].starts > 0)
            sums.release = sums.list[i].name;
    }
    if (status == CH_OK)
        status = store_list_starts(store, project, sums.release, add_host, &sums);
    for (size_t i = 0; i < sums.count && shown < RELEASES_SHOWN; i++) {
        if (sums.list[i].starts <= 0)
            continue;
        if (shown++ == 0)
            html_write(out, "<section class=\"card\" id=\"starts\"><h2>Without a crash"
                            "</h2><p class=\"about\">Sessions of the last 30 days that"
                            " did not crash. Unknown are those that run, or were"
                            " killed.</p><ul class=\"bars\">");
        write_summed_row(out, "release", &sums.list[i]);
    }
    if (shown != 0) {
        html_write(out, "</ul>");
        write_start_hosts(out, &sums);
        html_write(out, "</section>\n");
    }
    return status;
}
