// SPDX-License-Identifier: Apache-2.0
//
// How many sessions of each release ended without a crash, where starts are counted.
#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/store/moment.h"
#include "collector/store/release_order.h"
#include "collector/store/store_starts.h"

enum { RELEASES_SUMMED = 64, RELEASES_SHOWN = 8, SINCE_DAYS = 30, PER_MILLE = 1000 };

// summed is a release on all of its hosts.
struct summed {
    char release[sizeof(((struct entry *)NULL)->release)];
    int64_t starts;
    int64_t ends;
    int64_t crashes;
};

struct start_sums {
    struct summed list[RELEASES_SUMMED];
    size_t count;
};

// insert_release makes room for a release before the first one that is older.
static size_t insert_release(struct start_sums *sums, const char *release)
{
    size_t at = 0;
    int order = 0;
    while (at < sums->count &&
           !(release_order(release, sums->list[at].release, &order) && order > 0))
        at++;
    memmove(&sums->list[at + 1], &sums->list[at],
            (sums->count - at) * sizeof(sums->list[0]));
    sums->list[at] = (struct summed){ 0 };
    entry_copy(sums->list[at].release, sizeof(sums->list[at].release), release);
    sums->count++;
    return at;
}

static void add_start_row(void *context, const struct store_start_row *row)
{
    struct start_sums *sums = context;
    size_t i = 0;
    while (i < sums->count && strcmp(sums->list[i].release, row->release) != 0)
        i++;
    if (i == RELEASES_SUMMED)
        return;
    if (i == sums->count)
        i = insert_release(sums, row->release);
    sums->list[i].starts += row->starts;
    sums->list[i].ends += row->ends;
    sums->list[i].crashes += row->crashes;
}

// write_summed_row writes a release: which part of its sessions did not crash, and how
// many neither ended nor crashed as far as is known.
static void write_summed_row(struct text *out, const struct summed *summed)
{
    int64_t crashes =
        summed->crashes < summed->starts ? summed->crashes : summed->starts;
    int64_t known = summed->ends + crashes;
    int64_t free_mille = (summed->starts - crashes) * PER_MILLE / summed->starts;
    html_write(out, "<li>");
    page_write_link(out, "name", "release", summed->release,
                    summed->release[0] != 0 ? summed->release : "no release");
    html_write(out,
               "<meter min=\"0\" max=\"%d\" value=\"%lld\"></meter><b>%lld.%lld\u2009%%"
               "</b><span>of ",
               PER_MILLE, (long long)free_mille, (long long)(free_mille / 10),
               (long long)(free_mille % 10));
    page_write_number(out, summed->starts);
    html_write(out, " sessions");
    if (summed->starts > known) {
        html_write(out, ", ");
        page_write_number(out, summed->starts - known);
        html_write(out, " unknown");
    }
    html_write(out, "</span></li>");
}

enum ch_status page_starts_write(struct text *out, struct store *store,
                                 const char *project)
{
    struct start_sums sums = { .count = 0 };
    const struct store_starts_wanted wanted = {
        .project = project,
        .release = "",
        .since_day = moment_now() / MOMENT_DAY_MS - SINCE_DAYS,
    };
    size_t shown = 0;
    enum ch_status status = store_list_starts(store, &wanted, add_start_row, &sums);
    for (size_t i = 0; i < sums.count && shown < RELEASES_SHOWN; i++) {
        if (sums.list[i].starts <= 0)
            continue;
        if (shown++ == 0)
            html_write(out, "<section class=\"card\" id=\"starts\"><h2>Without a crash"
                            "</h2><p class=\"about\">Sessions of the last 30 days that"
                            " did not crash. Unknown are those that run, or were"
                            " killed.</p><ul class=\"bars\">");
        write_summed_row(out, &sums.list[i]);
    }
    if (shown != 0)
        html_write(out, "</ul></section>\n");
    return status;
}
