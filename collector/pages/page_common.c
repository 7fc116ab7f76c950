// SPDX-License-Identifier: Apache-2.0
//
// What the reports of a group have in common.
#include <stdio.h>
#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/requests/group_facts.h"
#include "collector/requests/search.h"

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

void page_common_write(struct text *out, struct store *store,
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
