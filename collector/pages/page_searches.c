// SPDX-License-Identifier: Apache-2.0
//
// Saved searches: their links in the list of groups, the forms that save and forget
// one, and the requests of the API for the same.
#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/page_sections.h"
#include "collector/pages/pages.h"
#include "collector/query/saved_searches.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/filter.h"
#include "collector/server/form.h"

static const char *const sorts[] = { "",      "last_seen", "first_seen",
                                     "count", "machines",  "rising" };

// saved_lists are two lists that are made of the same searches.
struct saved_lists {
    struct text links;
    struct text forms;
};

static void write_saved(void *context, const struct saved_search *saved)
{
    struct saved_lists *lists = context;
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    filter_encode(&query, saved->query);
    html_write(&lists->links, "<a class=\"chip\" href=\"/groups?q=%.*s",
               3 * SEARCH_SIZE, text_string(&query));
    if (saved->sort[0] != 0)
        html_write(&lists->links, "&sort=%s", saved->sort);
    html_write(&lists->links, "\">%.*s</a>", PAGE_SHORT, saved->name);
    html_write(&lists->forms,
               "<li><b>%.*s</b><span>%.*s</span><span>%.*s</span><form method=\"post\""
               " action=\"/searches\"><input type=\"hidden\" name=\"forget\""
               " value=\"%.*s\"><button class=\"quiet\">Remove</button></form></li>",
               PAGE_SHORT, saved->name, PAGE_SHORT, saved->query, PAGE_SHORT,
               saved->who, PAGE_SHORT, saved->name);
}

void page_searches_write(struct text *out, struct http_request *request,
                         const struct search *search, const char *sort)
{
    struct saved_lists lists = { { 0 }, { 0 } };
    struct text CH_CLEANUP(text_deinit) terms = { 0 };
    search_write(search, SIZE_MAX, &terms);
    // A list without the saved searches is better than no list.
    if (saved_searches_list(collector_of(request)->store, request->who.project,
                            write_saved, &lists) != CH_OK)
        text_clear(&lists.links);
    if (lists.links.size != 0) {
        html_write(out,
                   "<nav class=\"terms\" aria-label=\"Saved searches\"><span>Saved:"
                   "</span>");
        text_append(out, lists.links.bytes, lists.links.size);
        html_write(out, "</nav>");
    }
    html_write(out, "<details class=\"help\"><summary>Save this search</summary><form"
                    " class=\"filters\" method=\"post\" action=\"/searches\"><label>"
                    "<span>Name</span><input name=\"name\" required maxlength=\"80\""
                    " autocomplete=\"off\"></label>");
    html_write(out,
               "<input type=\"hidden\" name=\"q\" value=\"%.*s\"><input type=\"hidden\""
               " name=\"sort\" value=\"%s\"><button>Save</button></form>",
               SEARCH_SIZE, text_string(&terms), sort);
    if (lists.forms.size != 0) {
        html_write(out, "<ul class=\"entries\">");
        text_append(out, lists.forms.bytes, lists.forms.size);
        html_write(out, "</ul>");
    }
    html_write(out, "</details>\n");
    text_deinit(&lists.links);
    text_deinit(&lists.forms);
}

static bool is_sort(const char *sort)
{
    for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
        if (strcmp(sorts[i], sort) == 0)
            return true;
    }
    return false;
}

// save_named_search saves a search that is complete and understood; false: it failed
// the request.
static bool save_named_search(struct http_request *request, struct saved_search *saved)
{
    char error[STORE_ERROR_SIZE];
    struct search search = { .now_ms = timestamp_now() };
    size_t size = saved->name != NULL ? strlen(saved->name) : 0;
    saved->project = request->who.project;
    saved->who = request->who.named ? request->who.name : "";
    saved->query = saved->query != NULL ? saved->query : "";
    saved->sort = saved->sort != NULL ? saved->sort : "";
    if (size == 0 || size > SAVED_SEARCH_NAME) {
        http_fail(request, 400, "a search needs a name of at most %d bytes",
                  SAVED_SEARCH_NAME);
        return false;
    }
    if (!is_sort(saved->sort)) {
        http_fail(request, 400,
                  "sort is not last_seen, first_seen, count, machines or rising");
        return false;
    }
    if (search_read(&search, saved->query) != CH_OK) {
        http_fail(request, 400, "%s", search.why);
        return false;
    }
    if (!api_audit(request, "saved search", saved->name))
        return false;
    enum ch_status status =
        saved_search_save(collector_of(request)->store, saved, error);
    if (status == CH_ERR_LIMIT)
        http_fail(request, 400, "there are %d saved searches: remove one first",
                  SAVED_SEARCHES_MOST);
    else if (status != CH_OK)
        api_fail_store(request, status, "search");
    return status == CH_OK;
}

static bool forget_named_search(struct http_request *request, const char *name)
{
    char error[STORE_ERROR_SIZE];
    const struct saved_search saved = { .project = request->who.project, .name = name };
    if (!api_audit(request, "saved search removed", name))
        return false;
    enum ch_status status =
        saved_search_forget(collector_of(request)->store, &saved, error);
    if (status != CH_OK)
        api_fail_store(request, status, "saved search");
    return status == CH_OK;
}

void page_post_searches(struct http_request *request)
{
    struct form form;
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    if (form_read(&request->body, &form) != CH_OK) {
        http_fail(request, 400, "this is not a form of this page");
        return;
    }
    const char *name = form_value(&form, "forget");
    struct saved_search saved = { .name = form_value(&form, "name"),
                                  .query = form_value(&form, "q"),
                                  .sort = form_value(&form, "sort") };
    if (name != NULL ? !forget_named_search(request, name)
                     : !save_named_search(request, &saved))
        return;
    if (name == NULL) {
        text_append_string(&query, "?q=");
        filter_encode(&query, saved.query);
        text_appendf(&query, "&sort=%s", saved.sort);
    }
    bool fits = query.size != 0 && text_ok(&query) &&
                query.size + sizeof("/groups") <= sizeof(request->answer.location);
    http_see_other(request, "/groups%s", fits ? query.bytes : "");
}

static void append_saved(void *context, const struct saved_search *saved)
{
    json_array_append_new(context, json_pack("{s:s, s:s, s:s, s:s, s:o}", "name",
                                             saved->name, "query", saved->query, "sort",
                                             saved->sort, "who", saved->who, "time",
                                             api_timestamp_json(saved->time_ms)));
}

void api_list_searches(struct http_request *request)
{
    if (!filter_knows(request, NULL))
        return;
    json_t *rows = json_array();
    enum ch_status status = saved_searches_list(
        collector_of(request)->store, request->who.project, append_saved, rows);
    api_answer_store(request, status, "search", json_pack("{s:o}", "searches", rows));
}

void api_post_search(struct http_request *request)
{
    json_auto_t *object = api_body_json(request);
    struct saved_search saved = {
        .name = json_string_value(json_object_get(object, "name")),
        .query = json_string_value(json_object_get(object, "query")),
        .sort = json_string_value(json_object_get(object, "sort"))
    };
    if (saved.name == NULL || saved.query == NULL) {
        http_fail(request, 400, "the body is no object with name and query");
        return;
    }
    if (save_named_search(request, &saved))
        api_answer_json(request, 201, json_pack("{s:s}", "name", saved.name));
}

void api_remove_search(struct http_request *request)
{
    const char *name = http_parameter_value(request, "name");
    if (!filter_knows(request, "name"))
        return;
    if (name == NULL) {
        http_fail(request, 400, "name says which search is removed");
        return;
    }
    if (forget_named_search(request, name))
        api_answer_json(request, 200, json_pack("{s:s}", "removed", name));
}
