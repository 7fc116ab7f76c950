// SPDX-License-Identifier: Apache-2.0
//
// Groups of reports as a collector would make them, with the keys and why.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/render/pen.h"
#include "cli/session/command.h"
#include "report/grouping/group_key.h"
#include "report/grouping/report_in_app.h"
#include "report/grouping/title.h"
#include "report/value/report.h"

// offline_report is one report of the command line.
struct offline_report {
    const char *path;
    char *id;
    struct group_key key;
    char old_key[FINGERPRINT_SIZE];
    struct text title;
    json_t *frames; // those of the key
};

struct offline_groups {
    struct offline_report *reports;
    size_t count;
};

static void groups_deinit(struct offline_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        struct offline_report *report = &groups->reports[i];
        group_key_deinit(&report->key);
        text_deinit(&report->title);
        json_decref(report->frames);
        free(report->id);
    }
    free(groups->reports);
}

// copy_key_frames copies what the key was made of, without values, which may be large.
static json_t *copy_key_frames(const json_t *report, const struct group_key *key)
{
    static const char *const members[] = { "kind",     "address",  "image_offset",
                                           "function", "raw_name", "file",
                                           "line",     "inline",   "system",
                                           "rule" };
    json_t *frames = json_array();
    for (size_t i = 0; i < key->frame_count; i++) {
        json_t *copy = json_object();
        for (size_t m = 0; m < sizeof(members) / sizeof(members[0]); m++) {
            json_t *value = json_object_get(key->frames[i], members[m]);
            if (value != NULL)
                (void)json_object_set(copy, members[m], value);
        }
        const char *image = report_string(report_image(report, key->frames[i]), "name");
        if (image != NULL)
            (void)json_object_set_new(copy, "image", json_string(image));
        (void)json_array_append_new(frames, copy);
    }
    return frames;
}

static int parse_offline(const char *path, const struct text *bytes, json_t **out)
{
    struct report_error error;
    if (report_parse(bytes->size != 0 ? bytes->bytes : "", bytes->size, out, &error) !=
        CH_OK)
        return command_fail("cannot read report '%s': %s", path, error.text);
    return COMMAND_DONE;
}

static int key_offline(const char *path, json_t *report, struct offline_report *out)
{
    report_in_app_mark(report);
    if (!report_fingerprint(report, out->old_key) || !group_key_make(report, &out->key))
        return command_fail("cannot group '%s': nothing crashed in it", path);
    title_write(report, &out->key, &out->title);
    out->path = path;
    out->id = strdup(report_string(report, "id"));
    out->frames = copy_key_frames(report, &out->key);
    out->key.frame_count = 0; // these frames end with the report
    return COMMAND_DONE;
}

static int read_offline(const char *path, struct offline_report *out)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    json_t *report = NULL;
    if (command_read_file(path, &bytes) != CH_OK)
        return COMMAND_FAILED;
    int result = parse_offline(path, &bytes, &report);
    if (result == COMMAND_DONE)
        result = key_offline(path, report, out);
    json_decref(report);
    return result;
}

static int by_offline_key(const void *a, const void *b)
{
    const struct offline_report *x = a;
    const struct offline_report *y = b;
    int order = strcmp(x->key.fingerprint, y->key.fingerprint);
    return order != 0 ? order : strcmp(x->path, y->path);
}

// group_end is the index after the group that begins at start.
static size_t group_end(const struct offline_groups *groups, size_t start)
{
    size_t end = start;
    while (end < groups->count && strcmp(groups->reports[end].key.fingerprint,
                                         groups->reports[start].key.fingerprint) == 0)
        end++;
    return end;
}

// group_near_json lists the other groups that are near the one that begins at start.
static json_t *group_near_json(const struct offline_groups *groups, size_t start)
{
    json_t *list = json_array();
    for (size_t i = 0; i < groups->count; i = group_end(groups, i)) {
        int percent =
            i == start ? 0
                       : similar_percent(groups->reports[start].key.stack.bytes != NULL
                                             ? groups->reports[start].key.stack.bytes
                                             : "",
                                         groups->reports[i].key.stack.bytes != NULL
                                             ? groups->reports[i].key.stack.bytes
                                             : "");
        if (percent >= NEAR_LEAST)
            (void)json_array_append_new(
                list, json_pack("{s:s, s:s?, s:i}", "fingerprint2",
                                groups->reports[i].key.fingerprint, "title",
                                groups->reports[i].title.bytes, "percent", percent));
    }
    return list;
}

static json_t *lines_json(const struct text *lines)
{
    json_t *list = json_array();
    const char *at = lines->size != 0 ? lines->bytes : "";
    while (*at != 0) {
        size_t length = strcspn(at, "\n");
        (void)json_array_append_new(list, json_stringn(at, length));
        at += length + (at[length] != 0);
    }
    return list;
}

static json_t *local_group_json(const struct offline_groups *groups, size_t start)
{
    const struct offline_report *first = &groups->reports[start];
    json_t *reports = json_array();
    json_t *old = json_object();
    for (size_t i = start; i < group_end(groups, start); i++) {
        const struct offline_report *report = &groups->reports[i];
        (void)json_array_append_new(reports, json_string(report->path));
        (void)json_object_set_new(old, report->old_key, json_true());
    }
    json_t *keys = json_array();
    const char *key;
    json_t *value;
    json_object_foreach(old, key, value)
    {
        (void)json_array_append_new(keys, json_string(key));
    }
    json_decref(old);
    return json_pack(
        "{s:s, s:o, s:s?, s:s?, s:s, s:o, s:O, s:o, s:o, s:o}", "fingerprint2",
        first->key.fingerprint, "fingerprints", keys, "title", first->title.bytes,
        "place", first->key.place.bytes, "why", first->key.why, "reports", reports,
        "frames", first->frames, "material", lines_json(&first->key.material), "stack",
        lines_json(&first->key.stack), "near", group_near_json(groups, start));
}

static json_t *groups_json(const struct offline_groups *groups)
{
    json_t *list = json_array();
    for (size_t i = 0; i < groups->count; i = group_end(groups, i))
        (void)json_array_append_new(list, local_group_json(groups, i));
    return json_pack("{s:o}", "groups", list);
}

static void print_line_list(const char *name, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct text CH_CLEANUP(text_deinit) line = { 0 };
        pen_escape(json_string_value(json_array_get(list, i)), &line);
        printf("  %-9s %s\n", i == 0 ? name : "", line.size != 0 ? line.bytes : "");
    }
}

static void print_local_group(const json_t *group)
{
    struct text CH_CLEANUP(text_deinit) title = { 0 };
    const json_t *near = json_object_get(group, "near");
    pen_escape(report_string(group, "title"), &title);
    printf("%s\n", title.size != 0 ? title.bytes : "");
    printf("  %-9s %s\n", "key", report_string(group, "fingerprint2"));
    print_line_list("version 1", json_object_get(group, "fingerprints"));
    printf("  %-9s %s\n", "why", report_string(group, "why"));
    print_line_list("of", json_object_get(group, "material"));
    print_line_list("stack", json_object_get(group, "stack"));
    print_line_list("reports", json_object_get(group, "reports"));
    for (size_t i = 0; i < json_array_size(near); i++) {
        const json_t *other = json_array_get(near, i);
        struct text CH_CLEANUP(text_deinit) line = { 0 };
        pen_escape(report_string(other, "title"), &line);
        printf("  %-9s %.12s %3" PRId64 " %% %s\n", i == 0 ? "near" : "",
               report_string(other, "fingerprint2"),
               report_integer(other, "percent", 0), line.size != 0 ? line.bytes : "");
    }
    putchar('\n');
}

static int print_local_groups(const struct offline_groups *groups, bool as_json)
{
    json_auto_t *all = groups_json(groups);
    const json_t *list = json_object_get(all, "groups");
    if (all == NULL)
        return command_fail("cannot print the groups: out of memory");
    if (as_json) {
        (void)json_dumpf(all, stdout, JSON_INDENT(1));
        putchar('\n');
        return COMMAND_DONE;
    }
    for (size_t i = 0; i < json_array_size(list); i++)
        print_local_group(json_array_get(list, i));
    printf("%zu report%s, %zu group%s\n", groups->count, groups->count == 1 ? "" : "s",
           json_array_size(list), json_array_size(list) == 1 ? "" : "s");
    return COMMAND_DONE;
}

static int run_group(const struct options *options)
{
    CH_CLEANUP(groups_deinit)
    struct offline_groups groups = {
        .reports = calloc(options->argument_count, sizeof(struct offline_report)),
    };
    int result = COMMAND_DONE;
    if (groups.reports == NULL)
        return command_fail("cannot group reports: out of memory");
    for (size_t i = 0; i < options->argument_count; i++) {
        if (read_offline(options->arguments[i], &groups.reports[groups.count]) ==
            COMMAND_DONE)
            groups.count++;
        else
            result = COMMAND_FAILED; // the others are still grouped
    }
    qsort(groups.reports, groups.count, sizeof(struct offline_report), by_offline_key);
    int printed = print_local_groups(&groups, options_given(options, "json"));
    return printed != COMMAND_DONE ? printed : result;
}

static const struct option group_options[] = {
    { "json", NULL, "print JSON", 0 },
    { 0 },
};

const struct command group_command = {
    .name = "group",
    .arguments = "REPORT...",
    .summary = "Group reports as a collector would, with keys and why",
    .options = group_options,
    .run = run_group,
    .arguments_min = 1,
    .arguments_max = SIZE_MAX,
};
