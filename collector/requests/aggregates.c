// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/aggregates.h"

#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/store/store_rising.h"

enum { LOOK_MS = 1000 };

void aggregates_init(struct aggregates *aggregates, struct store *store)
{
    aggregates->store = store;
    aggregates->many = STORE_MANY_REPORTS;
    memset(aggregates->ages, 0, sizeof(aggregates->ages));
    memset(aggregates->list, 0, sizeof(aggregates->list));
    pthread_mutex_init(&aggregates->lock, NULL);
    background_init(&aggregates->background);
}

void aggregates_deinit(struct aggregates *aggregates)
{
    background_deinit(&aggregates->background);
    pthread_mutex_destroy(&aggregates->lock);
}

// aggregates_take copies the cached aggregates of a project, unless they are stale.
static bool aggregates_take(struct aggregates *aggregates, const char *project,
                            struct project_aggregates *out)
{
    bool found = false;
    pthread_mutex_lock(&aggregates->lock);
    for (size_t i = 0; i < AGGREGATES_CACHED && !found; i++) {
        found = strcmp(aggregates->list[i].project, project) == 0 &&
                cache_age_take(&aggregates->ages[i], timestamp_now());
        if (found)
            *out = aggregates->list[i];
    }
    pthread_mutex_unlock(&aggregates->lock);
    return found;
}

// aggregates_want caches the aggregates of a project from now on, in place of those
// that were read least recently.
static void aggregates_want(struct aggregates *aggregates, const char *project,
                            int64_t now_ms)
{
    size_t at = 1;
    pthread_mutex_lock(&aggregates->lock);
    for (size_t i = 0; i < AGGREGATES_CACHED; i++) {
        bool same = strcmp(aggregates->list[i].project, project) == 0;
        if (same ||
            (i != 0 && aggregates->ages[i].read_ms < aggregates->ages[at].read_ms))
            at = i;
        if (same)
            break;
    }
    if (strcmp(aggregates->list[at].project, project) != 0) {
        entry_copy(aggregates->list[at].project, sizeof(aggregates->list[at].project),
                   project);
        aggregates->ages[at] = (struct cache_age){ 0 };
    }
    aggregates->ages[at].read_ms = now_ms;
    pthread_mutex_unlock(&aggregates->lock);
}

enum ch_status aggregates_count(struct aggregates *aggregates, const char *project,
                                struct store_totals *out)
{
    struct project_aggregates cached;
    if (aggregates_take(aggregates, project, &cached)) {
        *out = cached.totals;
        return CH_OK;
    }
    enum ch_status status = store_count(aggregates->store, project, out);
    if (status == CH_OK && out->reports >= aggregates->many)
        aggregates_want(aggregates, project, timestamp_now());
    return status;
}

static void take_host(void *context, const struct store_value *value)
{
    struct aggregate_hosts *hosts = context;
    if (hosts->count == AGGREGATES_HOSTS)
        return;
    struct aggregate_host *host = &hosts->list[hosts->count++];
    entry_copy(host->name, sizeof(host->name), value->value);
    host->groups = value->count;
    host->reports = value->elsewhere;
}

static enum ch_status sum_hosts(struct store *store, const char *project,
                                struct aggregate_hosts *out)
{
    out->count = 0;
    return store_list_lone_hosts(store, project, take_host, out);
}

enum ch_status aggregates_lone_hosts(struct aggregates *aggregates, const char *project,
                                     struct aggregate_hosts *out)
{
    struct project_aggregates cached;
    if (!aggregates_take(aggregates, project, &cached))
        return sum_hosts(aggregates->store, project, out);
    *out = cached.hosts;
    return CH_OK;
}

// sum_project computes the aggregates of the project in out; out_many: they are worth
// being cached.
static enum ch_status sum_project(const struct aggregates *aggregates,
                                  struct project_aggregates *out, bool *out_many)
{
    enum ch_status status = store_count(aggregates->store, out->project, &out->totals);
    *out_many = status == CH_OK && out->totals.reports >= aggregates->many;
    if (!*out_many)
        return status;
    return sum_hosts(aggregates->store, out->project, &out->hosts);
}

// renew_project recomputes one entry of the list, if it still is of that project.
static enum ch_status renew_project(struct aggregates *aggregates, size_t i,
                                    int64_t now_ms)
{
    struct project_aggregates new = { .totals = { 0 } };
    bool many = false;
    pthread_mutex_lock(&aggregates->lock);
    bool due = (i == 0 || aggregates->list[i].project[0] != 0) &&
               cache_age_is_due(&aggregates->ages[i], i == 0, now_ms);
    memcpy(new.project, aggregates->list[i].project, sizeof(new.project));
    pthread_mutex_unlock(&aggregates->lock);
    enum ch_status status = due ? sum_project(aggregates, &new, &many) : CH_OK;
    if (status != CH_OK || !due)
        return status;
    pthread_mutex_lock(&aggregates->lock);
    if (strcmp(aggregates->list[i].project, new.project) == 0) {
        aggregates->list[i] = new;
        cache_age_renew(&aggregates->ages[i], many, now_ms);
    }
    pthread_mutex_unlock(&aggregates->lock);
    return CH_OK;
}

void aggregates_renew(struct aggregates *aggregates, int64_t now_ms)
{
    enum ch_status status = store_renew_rising(aggregates->store, now_ms);
    for (size_t i = 0; i < AGGREGATES_CACHED && status == CH_OK; i++)
        status = renew_project(aggregates, i, now_ms);
}

static void *aggregates_main(void *context)
{
    struct aggregates *aggregates = context;
    do
        aggregates_renew(aggregates, timestamp_now());
    while (background_pause(&aggregates->background, LOOK_MS));
    return NULL;
}

enum ch_status aggregates_start(struct aggregates *aggregates)
{
    return background_start(&aggregates->background, aggregates_main, aggregates);
}
