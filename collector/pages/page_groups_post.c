// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "collector/pages/page_sections.h"
#include "collector/pages/pages.h"
#include "collector/requests/triage.h"
#include "collector/server/form.h"

// is_query returns true if a text may stand in a Location after `/groups?`: it comes
// from a form and could hold anything.
static bool is_query(const char *text)
{
    size_t i = 0;
    while (isalnum((unsigned char)text[i]) ||
           (text[i] != 0 && strchr("-._~:/%+&=", text[i]) != NULL))
        i++;
    return text[i] == 0;
}

// triage_each does the same for every chosen group; a merge goes into the first one.
static bool triage_each(struct http_request *request, const struct form *form,
                        struct triage *triage, bool merge)
{
    size_t chosen = 0;
    char id[ENTRY_GROUP_SIZE];
    for (size_t i = 0; i < form->count; i++) {
        if (strcmp(form->fields[i].name, "id") != 0)
            continue;
        chosen++;
        if (merge && triage->merge_into == NULL) {
            triage->merge_into = form->fields[i].value;
            continue;
        }
        snprintf(request->id, sizeof(request->id), "%s", form->fields[i].value);
        if (!triage_do(request, triage, id))
            return false;
    }
    if (chosen < (merge ? 2 : 1)) {
        http_fail(request, 400,
                  merge ? "choose at least two groups to merge" : "choose a group");
        return false;
    }
    return true;
}

// ask_first asks before groups are merged; false: too few are chosen for a question.
static bool ask_first(struct http_request *request, const struct form *form)
{
    const char *ids[FORM_FIELDS];
    size_t count = 0;
    for (size_t i = 0; i < form->count; i++) {
        if (strcmp(form->fields[i].name, "id") == 0)
            ids[count++] = form->fields[i].value;
    }
    if (count >= 2)
        page_ask_merge(request, form, ids, count);
    return count >= 2;
}

void page_post_groups(struct http_request *request)
{
    struct form form;
    if (form_read(&request->body, &form) != CH_OK) {
        http_fail(request, 400, "this is not a form of this page");
        return;
    }
    const char *back = form_value(&form, "back");
    bool assign = form_value(&form, "assign") != NULL;
    struct triage triage = {
        .decision = { .status = form_value(&form, "status"),
                      .assignee = assign ? form_value(&form, "assignee") : NULL },
    };
    if (form_value(&form, "merge") != NULL && form_value(&form, "confirm") == NULL &&
        ask_first(request, &form))
        return;
    if (!triage_each(request, &form, &triage, form_value(&form, "merge") != NULL))
        return;
    bool fits = back != NULL && back[0] != 0 && is_query(back) &&
                strlen(back) < sizeof(request->answer.location) - sizeof("/groups?");
    http_see_other(request, fits ? "/groups?%s" : "/groups", back);
}
