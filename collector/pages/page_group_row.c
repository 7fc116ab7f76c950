// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"

enum {
    TITLE_BYTES = 160,
    SUMMARY_BYTES = 120,
    CHIP_BYTES = 40,
    BRIEF_BYTES = 80, // of the title of a brief row
    ROW_BYTES = 1010, // on average: what fifty rows may weigh
    SLACK_BYTES = 500,
};

static void write_row_programs(struct text *out, const struct store_group *group,
                               size_t most)
{
    for (size_t i = 0; i < group->program_count && i < most; i++) {
        char name[CHIP_BYTES];
        entry_copy(name, sizeof(name), page_base_name(group->programs[i]));
        page_write_link(out, "chip", "program", page_base_name(group->programs[i]),
                        name);
    }
}

static void write_row_releases(struct text *out, const struct store_group *group)
{
    char name[CHIP_BYTES];
    size_t more = group->release_count;
    bool later = more != 0 && strcmp(group->releases[0], group->first_release) != 0;
    if (group->first_release[0] != 0) {
        html_write(out, later ? "<span>from " : "<span>in ");
        entry_copy(name, sizeof(name), group->first_release);
        page_write_link(out, "chip", "first_release", group->first_release, name);
        html_write(out, "</span>");
    }
    html_write(out, "<span>");
    if (later) {
        html_write(out, group->first_release[0] != 0 ? "to " : "in ");
        entry_copy(name, sizeof(name), group->releases[0]);
        page_write_link(out, "chip", "release", group->releases[0], name);
        more--;
    }
    // The first release stands before, unless it is not among those seen last.
    more -= more != 0 && group->first_release[0] != 0 ? 1 : 0;
    if (more != 0)
        html_write(out, " +%zu", more);
    html_write(out, "</span>");
}

// write_figure_of_row writes a number and what it counts.
static void write_figure_of_row(struct text *out, int64_t number, const char *one,
                                const char *many)
{
    html_write(out, "<div class=count><b>%'lld</b><span>%s</span></div>",
               (long long)number, number == 1 ? one : many);
}

static void write_row_meta(const struct page_group_rows *rows,
                           const struct store_group *group, bool brief)
{
    struct text *out = rows->out;
    html_write(out, "<div class=meta><span class=\"status %s\">%s</span>",
               group->status, group->status);
    write_row_programs(out, group, brief ? 1 : STORE_PROGRAMS);
    page_write_age(out, "last seen ", group->last_seen_ms, rows->now_ms);
    page_write_age(out, "first ", group->first_seen_ms, rows->now_ms);
    if (group->held_back != 0)
        html_write(out, "<span>%'lld held back</span>", (long long)group->held_back);
    if (group->assignee[0] != 0)
        page_write_link(out, "chip quiet", "assignee", group->assignee,
                        group->assignee);
    if (!brief)
        write_row_releases(out, group);
    int64_t users = rows->filtered ? group->filtered_users : group->users;
    if (users != 0)
        html_write(out, "<span>%'lld %s</span>", (long long)users,
                   users == 1 ? "user" : "users");
    html_write(out, "</div>");
}

void page_group_row_write(void *context, const struct store_group *group)
{
    struct page_group_rows *rows = context;
    struct text *out = rows->out;
    if (rows->count++ == 0)
        rows->begin = out->size;
    // After long rows a row says less, so that a page of long names weighs no more than
    // others.
    bool brief = rows->out->size > rows->begin + rows->count * ROW_BYTES + SLACK_BYTES;
    rows->more |= group->filtered_more;
    html_write(out, "<li class=group>");
    if (rows->choosing)
        html_write(out,
                   "<input type=checkbox name=id value=\"%s\""
                   " aria-label=Choose>",
                   group->id);
    html_write(out, "<div class=what><a class=title href=\"/groups/%s\">", group->id);
    html_write(out, "%.*s</a>", brief ? BRIEF_BYTES : TITLE_BYTES, group->title);
    if (!brief)
        html_write(out, "<p>%.*s</p>", SUMMARY_BYTES, group->summary);
    write_row_meta(rows, group, brief);
    html_write(out, "</div>");
    page_write_trend(out, group, false);
    if (rows->filtered && group->filtered_count != group->count)
        html_write(out, "<div class=count><b>%'lld%s</b><span>of %'lld</span></div>",
                   (long long)group->filtered_count, group->filtered_more ? "+" : "",
                   (long long)group->count);
    else
        write_figure_of_row(out, group->count, "report", "reports");
    write_figure_of_row(out,
                        rows->filtered ? group->filtered_machines : group->machines,
                        "machine", "machines");
    html_write(out, "</li>\n");
}

void page_group_line_write(void *context, const struct store_group *group)
{
    struct page_group_rows *rows = context;
    struct text *out = rows->out;
    rows->count++;
    html_write(out,
               "<li><a href=\"/groups/%s\">%.*s</a><span>%'lld%s %s on %'lld %s</span>"
               "</li>\n",
               group->id, TITLE_BYTES, group->title, (long long)group->filtered_count,
               group->filtered_more ? "+" : "",
               group->filtered_count == 1 ? "report" : "reports",
               (long long)group->filtered_machines,
               group->filtered_machines == 1 ? "machine" : "machines");
}
