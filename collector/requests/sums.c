// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/sums.h"

#include <string.h>

#include "collector/database/moment.h"
#include "collector/store/store_rising.h"

enum { LOOK_MS = 1000 };

void sums_init(struct sums *sums, struct store *store)
{
    sums->store = store;
    sums->many = STORE_MANY_REPORTS;
    memset(sums->kept, 0, sizeof(sums->kept));
    memset(sums->list, 0, sizeof(sums->list));
    pthread_mutex_init(&sums->lock, NULL);
    background_init(&sums->background);
}

void sums_deinit(struct sums *sums)
{
    background_deinit(&sums->background);
    pthread_mutex_destroy(&sums->lock);
}

// sums_take copies what is kept of a project, if that may be shown.
static bool sums_take(struct sums *sums, const char *project, struct project_sums *out)
{
    bool found = false;
    pthread_mutex_lock(&sums->lock);
    for (size_t i = 0; i < SUMS_KEPT && !found; i++) {
        found = strcmp(sums->list[i].project, project) == 0 &&
                kept_take(&sums->kept[i], moment_now());
        if (found)
            *out = sums->list[i];
    }
    pthread_mutex_unlock(&sums->lock);
    return found;
}

// sums_want has the sums of a project kept from now on, in place of those that nobody
// asked for longest.
static void sums_want(struct sums *sums, const char *project, int64_t now_ms)
{
    size_t at = 1;
    pthread_mutex_lock(&sums->lock);
    for (size_t i = 0; i < SUMS_KEPT; i++) {
        bool same = strcmp(sums->list[i].project, project) == 0;
        if (same || (i != 0 && sums->kept[i].asked_ms < sums->kept[at].asked_ms))
            at = i;
        if (same)
            break;
    }
    if (strcmp(sums->list[at].project, project) != 0) {
        entry_copy(sums->list[at].project, sizeof(sums->list[at].project), project);
        sums->kept[at] = (struct kept){ 0 };
    }
    sums->kept[at].asked_ms = now_ms;
    pthread_mutex_unlock(&sums->lock);
}

enum ch_status sums_count(struct sums *sums, const char *project,
                          struct store_totals *out)
{
    struct project_sums kept;
    if (sums_take(sums, project, &kept)) {
        *out = kept.totals;
        return CH_OK;
    }
    enum ch_status status = store_count(sums->store, project, out);
    if (status == CH_OK && out->reports >= sums->many)
        sums_want(sums, project, moment_now());
    return status;
}

static void take_host(void *context, const struct store_value *value)
{
    struct sums_hosts *hosts = context;
    if (hosts->count == SUMS_HOSTS)
        return;
    struct sums_host *host = &hosts->list[hosts->count++];
    entry_copy(host->name, sizeof(host->name), value->value);
    host->groups = value->count;
    host->reports = value->elsewhere;
}

static enum ch_status sum_hosts(struct store *store, const char *project,
                                struct sums_hosts *out)
{
    out->count = 0;
    return store_list_lone_hosts(store, project, take_host, out);
}

enum ch_status sums_lone_hosts(struct sums *sums, const char *project,
                               struct sums_hosts *out)
{
    struct project_sums kept;
    if (!sums_take(sums, project, &kept))
        return sum_hosts(sums->store, project, out);
    *out = kept.hosts;
    return CH_OK;
}

// sum_project sums what the project in out has; out_many: it is worth being kept.
static enum ch_status sum_project(const struct sums *sums, struct project_sums *out,
                                  bool *out_many)
{
    enum ch_status status = store_count(sums->store, out->project, &out->totals);
    *out_many = status == CH_OK && out->totals.reports >= sums->many;
    if (!*out_many)
        return status;
    return sum_hosts(sums->store, out->project, &out->hosts);
}

// renew_project sums one place of the list again, if it still is of that project.
static enum ch_status renew_project(struct sums *sums, size_t i, int64_t now_ms)
{
    struct project_sums new = { .totals = { 0 } };
    bool many = false;
    pthread_mutex_lock(&sums->lock);
    bool due = (i == 0 || sums->list[i].project[0] != 0) &&
               kept_is_due(&sums->kept[i], i == 0, now_ms);
    memcpy(new.project, sums->list[i].project, sizeof(new.project));
    pthread_mutex_unlock(&sums->lock);
    enum ch_status status = due ? sum_project(sums, &new, &many) : CH_OK;
    if (status != CH_OK || !due)
        return status;
    pthread_mutex_lock(&sums->lock);
    if (strcmp(sums->list[i].project, new.project) == 0) {
        sums->list[i] = new;
        kept_renew(&sums->kept[i], many, now_ms);
    }
    pthread_mutex_unlock(&sums->lock);
    return CH_OK;
}

void sums_renew(struct sums *sums, int64_t now_ms)
{
    enum ch_status status = store_renew_rising(sums->store, now_ms);
    for (size_t i = 0; i < SUMS_KEPT && status == CH_OK; i++)
        status = renew_project(sums, i, now_ms);
}

static void *sums_main(void *context)
{
    struct sums *sums = context;
    do
        sums_renew(sums, moment_now());
    while (background_pause(&sums->background, LOOK_MS));
    return NULL;
}

enum ch_status sums_start(struct sums *sums)
{
    return background_start(&sums->background, sums_main, sums);
}
