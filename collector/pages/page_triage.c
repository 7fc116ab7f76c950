// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/pages/pages.h"
#include "collector/requests/collector.h"
#include "collector/requests/group_copy.h"
#include "collector/requests/triage.h"
#include "collector/server/form.h"

// choices holds the statuses that a group can get, as buttons; key is pressed together
// with the browser's modifier.
static const struct {
    const char *status;
    const char *label;
    const char *key;
} choices[] = {
    { "resolved", "Resolve", "r" },
    { "ignored", "Ignore", "i" },
    { "open", "Reopen", "o" },
};

static void write_status_choices(struct text *out, const struct store_group *group)
{
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        bool resolves = strcmp(choices[i].status, "resolved") == 0;
        bool reopens = strcmp(choices[i].status, "open") == 0;
        if (strcmp(choices[i].status, group->status) == 0 ||
            (reopens && strcmp(group->status, "regressed") == 0))
            continue;
        html_write(out,
                   "<button class=\"%s\" name=\"status\" value=\"%s\" accesskey=\"%s\""
                   " title=\"Access key %s\">%s</button>",
                   resolves ? "main" : "quiet", choices[i].status, choices[i].key,
                   choices[i].key, choices[i].label);
    }
}

static void write_merged_form(void *context, const struct store_merged *merged)
{
    struct text *out = context;
    html_write(
        out,
        "<li><code>%.*s</code> <i>%lld of the last %d</i>"
        "<button class=\"quiet\" name=\"split\" value=\"%s\">Split</button></li>",
        16, merged->fingerprint, (long long)merged->recent, STORE_RECENT,
        merged->fingerprint);
}

void page_triage_write(struct text *out, struct store *store,
                       const struct store_group *group)
{
    html_write(out,
               "<section class=\"card triage\" id=\"triage\"><h2>Decide</h2>"
               "<form method=\"post\" action=\"/groups/%s\">"
               "<input type=\"hidden\" name=\"version\" value=\"%lld\">",
               group->id, (long long)group->version);
    html_write(out, "<p class=\"buttons\">");
    write_status_choices(out, group);
    html_write(
        out,
        "</p><label><span>Assigned to</span><input name=\"assignee\" value=\"%.*s\""
        " maxlength=\"100\" autocomplete=\"off\"></label>"
        "<label class=\"note\"><span>Note</span><textarea name=\"note\" rows=\"2\""
        " maxlength=\"1000\">%.*s</textarea></label>",
        STORE_ASSIGNEE_SIZE, group->assignee, STORE_NOTE_SIZE, group->note);
    html_write(out, "<label class=\"comment\"><span>Comment</span><textarea"
                    " name=\"comment\" rows=\"2\" maxlength=\"1000\"></textarea>"
                    "</label>");
    html_write(out, "<label><span>Resolved in release</span><input name=\"release\""
                    " placeholder=\"the next one\" autocomplete=\"off\"></label>"
                    "<label><span>Ignored until</span><input name=\"until\""
                    " placeholder=\"20 reports, 5 machines, 14d\""
                    " autocomplete=\"off\"></label>"
                    "<p class=\"buttons\"><button name=\"save\" value=\"1\""
                    " accesskey=\"s\" title=\"Access key s\">Save note</button>");
    html_write(out, "</p></form><details class=\"inner\"><summary>Merge and split"
                    "</summary>");
    html_write(
        out,
        "<form method=\"post\" action=\"/groups/%s\"><label><span>Merge this group"
        " into</span><input name=\"merge_into\" placeholder=\"id of the other"
        " group\" pattern=\"[0-9a-f]{8,64}\" required autocomplete=\"off\">"
        "</label><p class=\"buttons\"><button>Merge</button></p></form>",
        group->id);
    struct text list = { 0 };
    enum ch_status status =
        store_list_merged(store, group->id, write_merged_form, &list);
    if (status == CH_OK && list.size != 0) {
        html_write(out,
                   "<form method=\"post\" action=\"/groups/%s\"><p>Merged into this"
                   " group:</p><ul class=\"merged\">",
                   group->id);
        text_append(out, list.bytes, list.size);
        html_write(out, "</ul></form>");
    }
    text_deinit(&list);
    html_write(out,
               "<p class=\"cut\">The id of this group: <code>%s</code></p>"
               "</details></section>\n",
               group->id);
}

// given_field is the value of a field that is not empty, or NULL.
static const char *given_field(const struct form *form, const char *name)
{
    const char *value = form_value(form, name);
    return value != NULL && value[0] != 0 ? value : NULL;
}

// write_merge_side writes one of the groups that are about to be merged.
static void write_merge_side(struct http_request *request, const char *id)
{
    struct text *out = &request->answer.body;
    CH_CLEANUP(group_copy_deinit) struct group_copy copy = { 0 };
    if (group_copy_find(collector_of(request)->store, request->who.project, id,
                        &copy) != CH_OK) {
        html_write(out, "<li><code>%.*s</code>: there is no such group</li>",
                   ENTRY_GROUP_SIZE, id);
        return;
    }
    html_write(out, "<li><a href=\"/groups/%s\">%.*s</a> <i>%lld</i><p>%.*s</p></li>",
               copy.group.id, PAGE_NAME, copy.group.title, (long long)copy.group.count,
               PAGE_NAME, copy.group.summary);
}

void page_ask_merge(struct http_request *request, const struct form *form,
                    const char *const *ids, size_t count)
{
    struct text *out = &request->answer.body;
    page_begin(out, "Merge", NULL);
    html_write(out,
               "<h1 class=\"plain\">Merge these groups?</h1><section class=\"card\">"
               "<p>All reports of the others, and those to come, go into the first"
               " one. Splitting undoes it. Equal stacks may be different defects:"
               " compare them before.</p><ul class=\"merged\">");
    for (size_t i = 0; i < count; i++)
        write_merge_side(request, ids[i]);
    html_write(out, "</ul><form method=\"post\" action=\"%.*s\">", PAGE_NAME,
               request->path);
    for (size_t i = 0; i < form->count; i++)
        html_write(out, "<input type=\"hidden\" name=\"%.*s\" value=\"%.*s\">",
                   PAGE_SHORT, form->fields[i].name, STORE_NOTE_SIZE,
                   form->fields[i].value);
    html_write(out, "<p class=\"buttons\"><button class=\"main\" name=\"confirm\""
                    " value=\"yes\">Merge</button></p></form></section>\n");
    page_finish(request, CH_OK, "group");
}

static void write_field(struct text *out, const char *label, const char *name,
                        const char *value)
{
    html_write(out,
               "<label><span>%s</span><input name=\"%s\" value=\"%.*s\""
               " autocomplete=\"off\"></label>",
               label, name, STORE_NOTE_SIZE, value != NULL ? value : "");
}

// write_conflict replaces the refusal of a form from a page that is out of date by one
// with the same fields, for the group as it is now.
static void write_conflict(struct http_request *request, const struct form *form)
{
    struct text *out = &request->answer.body;
    CH_CLEANUP(group_copy_deinit) struct group_copy copy = { 0 };
    const struct store_group *group = &copy.group;
    const char *status = given_field(form, "status");
    const char *texts[] = { form_value(form, "note"), form_value(form, "comment") };
    if (group_copy_find(collector_of(request)->store, request->who.project, request->id,
                        &copy) != CH_OK)
        return;
    text_clear(out);
    page_begin(out, "Changed meanwhile", group->title);
    html_write(out,
               "<h1>Somebody else changed this group meanwhile</h1><p class=\"lead\">"
               "<a href=\"/groups/%s\">%.*s</a> is now %s, assigned to %.*s. Nothing of"
               " yours is saved yet.</p>",
               group->id, PAGE_NAME, group->title, group->status, STORE_ASSIGNEE_SIZE,
               group->assignee[0] != 0 ? group->assignee : "nobody");
    html_write(out, "<section class=\"card triage\"><h2>Its note now</h2>");
    html_write(out, "<pre class=\"note-text\">%.*s</pre></section>", STORE_NOTE_SIZE,
               group->note[0] != 0 ? group->note : "none");
    html_write(out,
               "<section class=\"card triage\"><h2>What you typed</h2><form"
               " method=\"post\" action=\"/groups/%s\"><input type=\"hidden\""
               " name=\"version\" value=\"%lld\">",
               group->id, (long long)group->version);
    write_field(out, "Assigned to", "assignee", form_value(form, "assignee"));
    html_write(out,
               "<label><span>Note</span><textarea name=\"note\" rows=\"2\""
               " maxlength=\"1000\">%.*s</textarea></label><label><span>Comment</span>"
               "<textarea name=\"comment\" rows=\"2\" maxlength=\"1000\">%.*s"
               "</textarea></label>",
               STORE_NOTE_SIZE, texts[0] != NULL ? texts[0] : "", STORE_NOTE_SIZE,
               texts[1] != NULL ? texts[1] : "");
    write_field(out, "Resolved in release", "release", form_value(form, "release"));
    write_field(out, "Ignored until", "until", form_value(form, "until"));
    html_write(out, "<p class=\"buttons\">");
    if (status != NULL)
        html_write(out,
                   "<button class=\"main\" name=\"status\" value=\"%.*s\">Save it all"
                   ", as %.*s</button>",
                   PAGE_SHORT, status, PAGE_SHORT, status);
    html_write(out, "<button class=\"quiet\" name=\"save\" value=\"1\">Save without a"
                    " new status</button></p></form></section>\n");
    page_end(out);
}

void page_post_group(struct http_request *request)
{
    struct form form;
    char id[ENTRY_GROUP_SIZE];
    if (form_read(&request->body, &form) != CH_OK) {
        http_fail(request, 400, "this is not a form of this page");
        return;
    }
    struct triage triage = {
        .decision = { .status = given_field(&form, "status"),
                      .release = given_field(&form, "release"),
                      .note = form_value(&form, "note"),
                      .assignee = form_value(&form, "assignee"),
                      .comment = given_field(&form, "comment") },
        .until = given_field(&form, "until"),
        .version = given_field(&form, "version"),
        .merge_into = given_field(&form, "merge_into"),
        .split = given_field(&form, "split"),
    };
    const char *const sides[] = { triage.merge_into, request->id };
    if (triage.merge_into != NULL && form_value(&form, "confirm") == NULL) {
        page_ask_merge(request, &form, sides, 2);
        return;
    }
    if (!triage_do(request, &triage, id)) {
        if (request->answer.status == 409)
            write_conflict(request, &form);
        return;
    }
    http_see_other(request, "/groups/%s", id);
}
