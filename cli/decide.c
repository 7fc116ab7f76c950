// SPDX-License-Identifier: Apache-2.0
//
// Triage of the groups of a collector: resolve, reopen, ignore, assign,
// comment, merge, split. Each command finds its groups first, so that an id may be
// shortened and the answer can name the crash, and then sends one decision for each.
#include <stdio.h>
#include <string.h>

#include "cli/render/table.h"
#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "report/value/report.h"

enum { DECIDE_NO_GROUP = 3, DECIDE_ID_SHOWN = 12 };

// decider is the collector that decisions go to.
struct decider {
    const struct options *options;
    struct session session;
    struct text base;
};

static void decider_deinit(struct decider *decider)
{
    session_deinit(&decider->session);
    text_deinit(&decider->base);
}

static enum ch_status decider_init(struct decider *decider,
                                   const struct options *options)
{
    *decider = (struct decider){ .options = options };
    session_init(&decider->session, options);
    return collector_base(&decider->session, options_value(options, "url"),
                          &decider->base);
}

// decide_result is the exit status after a failure that was reported.
static int decide_result(enum ch_status status)
{
    return status == CH_OK              ? COMMAND_DONE
           : status == CH_ERR_NOT_FOUND ? DECIDE_NO_GROUP
           : status == CH_ERR_MALFORMED ? COMMAND_USAGE
                                        : COMMAND_FAILED;
}

static enum ch_status find_decided(const struct decider *decider, size_t argument,
                                   json_t **out)
{
    return collector_group(&decider->session, decider->base.bytes,
                           decider->options->arguments[argument], out);
}

// print_decided prints what became of a group: `resolved  fa110006  main.c: boom`.
static void print_decided(const char *done, const json_t *group)
{
    struct text CH_CLEANUP(text_deinit) title = { 0 };
    const char *id = report_string(group, "id");
    const char *said = report_string(group, "title");
    pen_escape(said != NULL ? said : "", &title);
    (void)printf("%s  %.*s  %s\n", done, DECIDE_ID_SHOWN, id != NULL ? id : "",
                 title.size != 0 && text_ok(&title) ? title.bytes : "");
}

// send_decision sends a decision about group and prints what became of it.
static enum ch_status send_decision(const struct decider *decider, const json_t *group,
                                    const json_t *decision, const char *done)
{
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    text_appendf(&path, "/api/v1/groups/%s", report_string(group, "id"));
    if (!text_ok(&path))
        return CH_ERR_NO_MEMORY;
    enum ch_status status = collector_post(&decider->session, decider->base.bytes,
                                           path.bytes, decision, &body);
    if (status != CH_OK)
        return status;
    if (options_given(decider->options, "json")) {
        (void)fwrite(body.bytes, 1, body.size, stdout);
        (void)putchar('\n');
        return CH_OK;
    }
    json_auto_t *answer = json_loadb(body.bytes, body.size, 0, NULL);
    print_decided(done, answer);
    return CH_OK;
}

// decide_all sends one decision for each group of the arguments. It goes on after a
// group that failed, and returns the result of the first one that did.
static int decide_all(const struct options *options, size_t count,
                      const json_t *decision, const char *done)
{
    struct decider CH_CLEANUP(decider_deinit) decider;
    int result = COMMAND_DONE;
    if (decider_init(&decider, options) != CH_OK)
        return COMMAND_FAILED;
    for (size_t i = 0; i < count; i++) {
        json_auto_t *group = NULL;
        enum ch_status status = find_decided(&decider, i, &group);
        if (status == CH_OK)
            status = send_decision(&decider, group, decision, done);
        if (result == COMMAND_DONE)
            result = decide_result(status);
    }
    return result;
}

static int run_resolve(const struct options *options)
{
    json_auto_t *decision = json_pack("{s:s, s:s*, s:s*}", "status", "resolved",
                                      "release", options_value(options, "release"),
                                      "comment", options_value(options, "comment"));
    return decide_all(options, options->argument_count, decision, "resolved");
}

static int run_reopen(const struct options *options)
{
    json_auto_t *decision = json_pack("{s:s, s:s*}", "status", "open", "comment",
                                      options_value(options, "comment"));
    return decide_all(options, options->argument_count, decision, "open");
}

static int run_ignore(const struct options *options)
{
    json_auto_t *decision = json_pack("{s:s, s:s*, s:s*}", "status", "ignored", "until",
                                      options_value(options, "until"), "comment",
                                      options_value(options, "comment"));
    return decide_all(options, options->argument_count, decision, "ignored");
}

static int run_assign(const struct options *options)
{
    const char *to = options_value(options, "to");
    bool nobody = options_given(options, "nobody");
    if ((to != NULL) == nobody)
        return command_misused("assign: it takes either --to NAME or --nobody");
    json_auto_t *decision = json_pack("{s:s, s:s*}", "assignee", nobody ? "" : to,
                                      "comment", options_value(options, "comment"));
    return decide_all(options, options->argument_count, decision,
                      nobody ? "unassigned" : "assigned");
}

static int run_comment(const struct options *options)
{
    struct text CH_CLEANUP(text_deinit) words = { 0 };
    const char *said = options->arguments[1];
    if (strcmp(said, "-") == 0 && command_read_file("-", &words) != CH_OK)
        return COMMAND_FAILED;
    if (strcmp(said, "-") != 0)
        text_append_string(&words, said);
    if (words.size == 0)
        return command_misused("comment: the comment is empty");
    json_auto_t *decision = json_pack("{s:s%}", "comment", words.bytes, words.size);
    if (decision == NULL)
        return command_misused("comment: the comment is not UTF-8");
    return decide_all(options, 1, decision, "commented");
}

static int run_merge(const struct options *options)
{
    struct decider CH_CLEANUP(decider_deinit) decider;
    json_auto_t *group = NULL;
    json_auto_t *into = NULL;
    if (decider_init(&decider, options) != CH_OK)
        return COMMAND_FAILED;
    enum ch_status status = find_decided(&decider, 0, &group);
    if (status == CH_OK)
        status = find_decided(&decider, 1, &into);
    if (status != CH_OK)
        return decide_result(status);
    json_auto_t *decision = json_pack("{s:s}", "merge_into", report_string(into, "id"));
    return decide_result(send_decision(&decider, group, decision, "merged into"));
}

// merged_key is the key that begins with words among those that were merged into group;
// NULL: there is none, or more than one.
static const char *merged_key(const json_t *group, const char *words)
{
    const char *found = NULL;
    size_t i;
    json_t *value;
    json_array_foreach(json_object_get(group, "merged"), i, value)
    {
        const char *key = json_string_value(value);
        if (key == NULL || strncmp(key, words, strlen(words)) != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = key;
    }
    return found;
}

static int run_split(const struct options *options)
{
    struct decider CH_CLEANUP(decider_deinit) decider;
    json_auto_t *group = NULL;
    const char *words = options->argument_count > 1 ? options->arguments[1] : "";
    if (decider_init(&decider, options) != CH_OK)
        return COMMAND_FAILED;
    enum ch_status status = find_decided(&decider, 0, &group);
    if (status != CH_OK)
        return decide_result(status);
    const char *key = merged_key(group, words);
    if (key == NULL) {
        (void)command_fail("cannot split '%s': %zu were merged into it, and not exactly"
                           " one begins with '%s'",
                           options->arguments[0],
                           json_array_size(json_object_get(group, "merged")), words);
        return DECIDE_NO_GROUP;
    }
    json_auto_t *decision = json_pack("{s:s}", "split", key);
    return decide_result(send_decision(&decider, group, decision, "split from"));
}

#define COLLECTOR_OPTIONS                                                              \
    { "url", "URL", "the collector (the first one in CRASHHOOK_URL)", 0 },             \
        { "token-file", "FILE", "file with the collector's token", 0 },                \
    {                                                                                  \
        "json", NULL, "print the changed group", 0                                     \
    }
#define COMMENT_OPTION                                                                 \
    {                                                                                  \
        "comment", "TEXT", "a comment for its history", 0                              \
    }

static const struct option resolve_options[] = {
    { "release", "RELEASE", "the one that has the fix (the next one)", 0 },
    COMMENT_OPTION,
    COLLECTOR_OPTIONS,
    { 0 },
};

static const struct option reopen_options[] = { COMMENT_OPTION,
                                                COLLECTOR_OPTIONS,
                                                { 0 } };

static const struct option ignore_options[] = {
    { "until", "WHEN", "`20 reports`, `5 machines`, 14d, or a day (for good)", 0 },
    COMMENT_OPTION,
    COLLECTOR_OPTIONS,
    { 0 },
};

static const struct option assign_options[] = {
    { "to", "NAME", "who works on it", 0 },
    { "nobody", NULL, "nobody works on it", 0 },
    COMMENT_OPTION,
    COLLECTOR_OPTIONS,
    { 0 },
};

static const struct option decide_options[] = { COLLECTOR_OPTIONS, { 0 } };

const struct command resolve_command = {
    .name = "resolve",
    .arguments = "GROUP...",
    .summary = "Mark groups as fixed",
    .options = resolve_options,
    .run = run_resolve,
    .arguments_min = 1,
    .arguments_max = SIZE_MAX,
};

const struct command reopen_command = {
    .name = "reopen",
    .arguments = "GROUP...",
    .summary = "Open groups that are resolved or ignored",
    .options = reopen_options,
    .run = run_reopen,
    .arguments_min = 1,
    .arguments_max = SIZE_MAX,
};

const struct command ignore_command = {
    .name = "ignore",
    .arguments = "GROUP...",
    .summary = "Ignore groups, for good or for some time",
    .options = ignore_options,
    .run = run_ignore,
    .arguments_min = 1,
    .arguments_max = SIZE_MAX,
};

const struct command assign_command = {
    .name = "assign",
    .arguments = "GROUP...",
    .summary = "Assign groups to somebody, or to nobody",
    .options = assign_options,
    .run = run_assign,
    .arguments_min = 1,
    .arguments_max = SIZE_MAX,
};

const struct command comment_command = {
    .name = "comment",
    .arguments = "GROUP TEXT|-",
    .summary = "Add a comment to the history of a group",
    .options = decide_options,
    .run = run_comment,
    .arguments_min = 2,
    .arguments_max = 2,
};

const struct command merge_command = {
    .name = "merge",
    .arguments = "GROUP INTO",
    .summary = "Merge two groups of a collector",
    .options = decide_options,
    .run = run_merge,
    .arguments_min = 2,
    .arguments_max = 2,
};

const struct command split_command = {
    .name = "split",
    .arguments = "GROUP [MERGED]",
    .summary = "Undo a merge",
    .options = decide_options,
    .run = run_split,
    .arguments_min = 1,
    .arguments_max = 2,
};
