// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_state.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system/file.h"
#include "report/json/json_tree.h"
#include "report/value/report.h"

enum { TARGETS_MAX = 64, STATE_MAX_BYTES = 1 << 20, STATE_NAME_SIZE = 48 };

static const char *const state_names[] = {
    [TARGET_PENDING] = "pending",
    [TARGET_SENT] = "sent",
    [TARGET_FAILED] = "failed",
    [TARGET_SKIPPED] = "skipped",
};

enum { STATE_NAMES = sizeof(state_names) / sizeof(state_names[0]) };

const char *spool_state_name(enum spool_target_state state)
{
    return state_names[state];
}

static bool state_by_name(const char *name, enum spool_target_state *out)
{
    for (unsigned i = 0; name != NULL && i < STATE_NAMES; i++) {
        if (strcmp(state_names[i], name) == 0) {
            *out = (enum spool_target_state)i;
            return true;
        }
    }
    return false;
}

struct spool_target *spool_state_target(struct spool_state *state, const char *url)
{
    for (size_t i = 0; i < state->count; i++) {
        if (strcmp(state->targets[i].url, url) == 0)
            return &state->targets[i];
    }
    if (state->count == TARGETS_MAX)
        return NULL;
    char *copy = strdup(url);
    if (copy == NULL || !array_reserve(&state->targets, &state->capacity, state->count,
                                       sizeof(*state->targets))) {
        free(copy);
        return NULL;
    }
    state->targets[state->count] = (struct spool_target){ .url = copy };
    return &state->targets[state->count++];
}

void spool_target_fail(struct spool_target *target, enum spool_target_state state,
                       const char *error)
{
    char *copy = error != NULL ? strdup(error) : NULL;
    free(target->error);
    target->error = copy;
    target->state = state;
}

static enum ch_status read_target_state(const json_t *from, struct spool_state *state)
{
    enum spool_target_state value;
    const char *url = report_string(from, "url");
    int64_t attempts = report_integer(from, "attempts", 0);
    if (url == NULL || !state_by_name(report_string(from, "state"), &value) ||
        attempts < 0 || attempts > UINT32_MAX)
        return CH_ERR_MALFORMED;
    struct spool_target *target = spool_state_target(state, url);
    if (target == NULL)
        return CH_ERR_NO_MEMORY;
    target->attempts = (uint32_t)attempts;
    target->wait.noted = report_integer(from, "last_time", 0);
    target->wait.until = report_integer(from, "next_time", 0);
    spool_target_fail(target, value, report_string(from, "error"));
    return CH_OK;
}

static enum ch_status parse_state(const struct text *bytes, struct spool_state *out)
{
    json_auto_t *root =
        json_loadb(bytes->bytes != NULL ? bytes->bytes : "", bytes->size, 0, NULL);
    const json_t *targets = json_object_get(root, "targets");
    struct spool_state state = { 0 };
    enum ch_status status = json_is_array(targets) ? CH_OK : CH_ERR_MALFORMED;

    for (size_t i = 0; i < json_array_size(targets) && status == CH_OK; i++)
        status = read_target_state(json_array_get(targets, i), &state);
    if (status != CH_OK)
        spool_state_deinit(&state);
    *out = state;
    return status;
}

enum ch_status spool_state_read_fd(int fd, struct spool_state *out)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    *out = (struct spool_state){ 0 };
    enum ch_status status = text_read(&bytes, fd, STATE_MAX_BYTES);
    if (status == CH_ERR_LIMIT)
        return CH_ERR_MALFORMED;
    return status == CH_OK ? parse_state(&bytes, out) : status;
}

enum ch_status spool_state_read(const struct spool *spool, const char *id,
                                struct spool_state *out)
{
    char name[STATE_NAME_SIZE];
    int CH_CLEANUP(file_close) fd = -1;
    *out = (struct spool_state){ 0 };
    if (!report_id_ok(id))
        return CH_ERR_NOT_FOUND;
    (void)snprintf(name, sizeof(name), "%s.state", id);
    enum ch_status status = spool_open_file(spool, name, &fd);
    if (status == CH_ERR_NOT_FOUND)
        return CH_OK;
    return status == CH_OK ? spool_state_read_fd(fd, out) : status;
}

void spool_state_deinit(struct spool_state *state)
{
    for (size_t i = 0; i < state->count; i++) {
        free(state->targets[i].url);
        free(state->targets[i].error);
    }
    free(state->targets);
    *state = (struct spool_state){ 0 };
}

static json_t *print_target_state(const struct spool_target *target)
{
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:s*}", "url", target->url, "state",
                     spool_state_name(target->state), "attempts",
                     (json_int_t)target->attempts, "last_time",
                     (json_int_t)target->wait.noted, "next_time",
                     (json_int_t)target->wait.until, "error", target->error);
}

enum ch_status spool_state_print(const struct spool_state *state, struct text *out)
{
    json_t *targets = json_array();
    json_auto_t *root = json_pack("{s:o}", "targets", targets);
    for (size_t i = 0; i < state->count; i++) {
        if (json_array_append_new(targets, print_target_state(&state->targets[i])) != 0)
            return CH_ERR_NO_MEMORY;
    }
    return json_tree_print(root, out);
}

enum ch_status spool_state_write(const struct spool *spool, const char *id,
                                 const struct spool_state *state)
{
    char name[STATE_NAME_SIZE];
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    if (!report_id_ok(id))
        return CH_ERR_NOT_FOUND;
    enum ch_status status = spool_state_print(state, &bytes);
    if (status != CH_OK)
        return status;
    (void)snprintf(name, sizeof(name), "%s.state", id);
    return spool_write_file(spool, name, bytes.bytes, bytes.size);
}

bool spool_state_settled(const struct spool_state *state)
{
    for (size_t i = 0; i < state->count; i++) {
        if (state->targets[i].state != TARGET_SENT &&
            state->targets[i].state != TARGET_SKIPPED)
            return false;
    }
    return state->count != 0;
}
