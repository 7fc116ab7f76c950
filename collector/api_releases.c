// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/query/commits.h"
#include "collector/query/releases.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"

static bool is_release_name(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) != 0 &&
           json_string_length(value) < sizeof(((struct entry *)NULL)->release);
}

// read_order reads `{"program", "releases"}`; false: it is something else.
static bool read_order(const json_t *object, const char *names[RELEASES_MOST],
                       struct store_order *out)
{
    const json_t *list = json_object_get(object, "releases");
    size_t i;
    json_t *name;
    out->program = json_string_value(json_object_get(object, "program"));
    out->names = names;
    out->count = json_array_size(list);
    if (out->program == NULL || out->program[0] == 0 || out->count == 0 ||
        out->count > RELEASES_MOST || json_object_size(object) != 2)
        return false;
    json_array_foreach(list, i, name)
    {
        if (!is_release_name(name))
            return false;
        names[i] = json_string_value(name);
    }
    return true;
}

void api_post_releases(struct http_request *request)
{
    const char *names[RELEASES_MOST];
    char error[STORE_ERROR_SIZE];
    struct store_order order = { .project = request->who.project };
    json_auto_t *object = api_body_json(request);
    if (!read_order(object, names, &order)) {
        http_fail(request, 400,
                  "the body is no object with program, and releases: a list of at most"
                  " %d, the oldest first",
                  RELEASES_MOST);
        return;
    }
    enum ch_status status =
        store_declare_order(collector_of(request)->store, &order, error);
    if (status == CH_OK && api_audit(request, "release order", order.program))
        api_answer_json(request, 200,
                        json_pack("{s:s, s:I}", "program", order.program, "releases",
                                  (json_int_t)order.count));
    else if (status != CH_OK)
        api_fail_store(request, status, "release");
}

static bool is_short_text(const json_t *value)
{
    enum { COMMIT_TEXT = 1000 };
    return json_is_string(value) && json_string_length(value) <= COMMIT_TEXT;
}

// is_commit is true for `{"hash", "author", "subject", "time", "files"}`; it counts the
// files.
static bool is_commit(const json_t *commit, size_t *files)
{
    const json_t *list = json_object_get(commit, "files");
    size_t i;
    json_t *file;
    json_array_foreach(list, i, file)
    {
        if (!is_short_text(file) || json_string_length(file) == 0)
            return false;
    }
    *files += json_array_size(list);
    return json_object_size(commit) == 5 && json_is_array(list) &&
           is_short_text(json_object_get(commit, "hash")) &&
           json_string_length(json_object_get(commit, "hash")) != 0 &&
           is_short_text(json_object_get(commit, "author")) &&
           is_short_text(json_object_get(commit, "subject")) &&
           json_is_integer(json_object_get(commit, "time"));
}

// read_commits reads `{"program", "release", "commits", "owners"}`, without the last
// where it does not change; false: it is something else.
static bool read_commits(const json_t *object, struct release_commits *out)
{
    const json_t *owners = json_object_get(object, "owners");
    size_t files = 0;
    size_t i;
    json_t *commit;
    out->program = json_string_value(json_object_get(object, "program"));
    out->release = json_string_value(json_object_get(object, "release"));
    out->commits = json_object_get(object, "commits");
    out->owners = json_string_value(owners);
    json_array_foreach(out->commits, i, commit)
    {
        if (!is_commit(commit, &files))
            return false;
    }
    return json_object_size(object) == 3 + (owners != NULL) && out->program != NULL &&
           out->program[0] != 0 &&
           is_release_name(json_object_get(object, "release")) &&
           json_is_array(out->commits) && i <= COMMITS_MOST &&
           files <= COMMIT_FILES_MOST &&
           (owners == NULL ||
            (out->owners != NULL && json_string_length(owners) <= OWNERS_BYTES));
}

void api_post_commits(struct http_request *request)
{
    char error[STORE_ERROR_SIZE];
    struct release_commits commits = { .project = request->who.project };
    json_auto_t *object = api_body_json(request);
    if (!read_commits(object, &commits)) {
        http_fail(
            request, 400,
            "the body is no object with program, release, commits (at most %d, of"
            " hash, author, subject, time and files, at most %d in all) and owners",
            COMMITS_MOST, COMMIT_FILES_MOST);
        return;
    }
    enum ch_status status = commits_keep(collector_of(request)->store, &commits, error);
    if (status == CH_OK && api_audit(request, "commits", commits.release))
        api_answer_json(request, 200,
                        json_pack("{s:s, s:s, s:I}", "program", commits.program,
                                  "release", commits.release, "commits",
                                  (json_int_t)json_array_size(commits.commits)));
    else if (status != CH_OK)
        api_fail_store(request, status, "release");
}

static json_t *release_json(const struct release *release)
{
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:b, s:b, s:b}", "program",
        release->program, "release", release->name, "project", release->project,
        "reports", (json_int_t)release->count, "recent", (json_int_t)release->recent,
        "first_seen", api_timestamp_json(release->first_seen_ms), "last_seen",
        api_timestamp_json(release->last_seen_ms), "current", release->current, "new",
        release->fresh, "declared", release->place >= 0);
}

void api_list_releases(struct http_request *request)
{
    static const char *const keys[] = { "program", "environment" };
    const char *values[2] = { "", "" };
    for (size_t i = 0; i < request->parameter_count; i++) {
        const struct http_parameter *parameter = &request->parameters[i];
        size_t k = 0;
        while (k < 2 && strcmp(parameter->key, keys[k]) != 0)
            k++;
        if (k == 2) {
            http_fail(request, 400, "there is no parameter `%.40s`", parameter->key);
            return;
        }
        values[k] = parameter->value;
    }
    const struct releases_of of = { request->who.project, values[0], values[1] };
    CH_CLEANUP(releases_deinit) struct releases releases = { 0 };
    enum ch_status status = releases_find(collector_of(request)->store, &of, &releases);
    json_t *list = json_array();
    for (size_t i = 0; status == CH_OK && i < releases.count; i++)
        json_array_append_new(list, release_json(&releases.list[i]));
    api_answer_store(request, status, "release", json_pack("{s:o}", "releases", list));
}
