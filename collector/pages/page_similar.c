// SPDX-License-Identifier: Apache-2.0
//
// What a group may be the same as.
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/requests/group_facts.h"

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

void page_similar_write(struct text *out, struct store *store,
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
