// SPDX-License-Identifier: Apache-2.0
//
// `crashhook erase` removes what a collector has of a user, of a host or with a tag.
// The collector works at one request for some seconds, so it is asked until nothing is
// left.
#include <stdio.h>

#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "cli/session/session.h"

// erased_keys are the options that say whose reports are removed: keys of searches.
static const char *const erased_keys[] = { "user", "host", "tag" };
enum { ERASED_KEYS = sizeof(erased_keys) / sizeof(erased_keys[0]) };

static void append_parameter(const struct options *options, const char *key,
                             struct text *path)
{
    if (options_value(options, key) == NULL)
        return;
    text_appendf(path, "&%s=", key);
    collector_encode(path, options_value(options, key));
}

// erase_some sends one request, and adds what it has removed to removed.
static enum ch_status erase_some(const struct session *session, const char *base,
                                 const char *path, json_int_t *removed, bool *out_more)
{
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    enum ch_status status = collector_delete(session, base, path, &body);
    if (status != CH_OK)
        return status;
    json_auto_t *answer = json_loadb(body.bytes, body.size, 0, NULL);
    *removed += json_integer_value(json_object_get(answer, "removed"));
    *out_more = json_is_true(json_object_get(answer, "more"));
    return CH_OK;
}

static int run_erase(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    struct text CH_CLEANUP(text_deinit) base = { 0 };
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    size_t given = 0;
    text_append_string(&path, "/api/v1/reports?limit=1");
    for (size_t i = 0; i < ERASED_KEYS; i++) {
        given += options_value(options, erased_keys[i]) != NULL;
        append_parameter(options, erased_keys[i], &path);
    }
    append_parameter(options, "project", &path);
    if (given != 1)
        return command_misused("erase: it takes one of --user, --host and --tag");
    session_init(&session, options);
    enum ch_status status =
        collector_base(&session, options_value(options, "url"), &base);
    json_int_t removed = 0;
    bool more = true;
    if (status == CH_OK && !text_ok(&path))
        status = CH_ERR_NO_MEMORY;
    while (status == CH_OK && more)
        status = erase_some(&session, base.bytes, path.bytes, &removed, &more);
    if (status != CH_OK)
        return COMMAND_FAILED;
    (void)printf("removed %lld report%s\n", (long long)removed,
                 removed == 1 ? "" : "s");
    return COMMAND_DONE;
}

static const struct option erase_options[] = {
    { "user", "ID", "reports of this user", 0 },
    { "host", "NAME", "reports of this host", 0 },
    { "tag", "KEY:VALUE", "reports with this tag", 0 },
    { "project", "NAME", "of this project alone, for a token of all projects", 0 },
    { "url", "URL", "the collector (the first one in CRASHHOOK_URL)", 0 },
    { "token-file", "FILE", "file with the collector's token", 0 },
    { 0 },
};

const struct command erase_command = {
    .name = "erase",
    .summary = "Remove a collector's reports of a user, of a host or with a tag",
    .options = erase_options,
    .run = run_erase,
};
