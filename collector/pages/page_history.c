// SPDX-License-Identifier: Apache-2.0
//
// What people and the collector did with a group, the latest first.
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/store/store_symbolization.h"

// deeds is how each kind of line begins.
static const struct {
    const char *kind;
    const char *words;
} deeds[] = {
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
    for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
        if (strcmp(deeds[i].kind, past->kind) == 0)
            words = deeds[i].words;
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

void page_history_write(struct text *out, struct store *store, const char *id)
{
    struct history history = { .out = out, .now_ms = timestamp_now() };
    // A group's page without its history is better than no page.
    enum ch_status status = store_list_history(store, id, write_past, &history);
    (void)status;
    if (history.count != 0)
        html_write(out, "</ol></details>\n");
}
