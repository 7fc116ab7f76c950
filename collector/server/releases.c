// SPDX-License-Identifier: Apache-2.0
#include "collector/server/releases.h"

#include <string.h>

#include "collector/store/moment.h"
#include "collector/store/release_order.h"
#include "collector/store/store_values.h"

// take_one_release puts a release before the first one that is older.
static void take_one_release(void *context, const struct store_value *value)
{
    struct releases *releases = context;
    size_t at = 0;
    int order = 0;
    if (releases->count == RELEASES_KEPT)
        return;
    while (at < releases->count &&
           !(release_order(value->value, releases->list[at].name, &order) && order > 0))
        at++;
    memmove(&releases->list[at + 1], &releases->list[at],
            (releases->count - at) * sizeof(releases->list[0]));
    entry_copy(releases->list[at].name, sizeof(releases->list[at].name), value->value);
    releases->list[at].count = value->count;
    releases->count++;
}

static bool releases_find(struct release_cache *cache, const char *project,
                          struct releases *out)
{
    pthread_mutex_lock(&cache->lock);
    bool found = moment_now() < cache->until_ms && strcmp(cache->project, project) == 0;
    if (found)
        *out = cache->releases;
    pthread_mutex_unlock(&cache->lock);
    return found;
}

// releases_keep keeps sums that took long: those of few reports are always read anew.
static void releases_keep(struct release_cache *cache, const char *project,
                          const struct releases *releases)
{
    enum { MANY_REPORTS = 100000, KEEP_MS = 10000 };
    int64_t reports = 0;
    for (size_t i = 0; i < releases->count; i++)
        reports += releases->list[i].count;
    if (reports < MANY_REPORTS)
        return;
    pthread_mutex_lock(&cache->lock);
    entry_copy(cache->project, sizeof(cache->project), project);
    cache->releases = *releases;
    cache->until_ms = moment_now() + KEEP_MS;
    pthread_mutex_unlock(&cache->lock);
}

enum ch_status releases_read(struct release_cache *cache, struct store *store,
                             const char *project, struct releases *out)
{
    if (releases_find(cache, project, out))
        return CH_OK;
    out->count = 0;
    enum ch_status status = store_list_releases(store, project, take_one_release, out);
    if (status == CH_OK)
        releases_keep(cache, project, out);
    return status;
}

enum ch_status releases_newest(struct release_cache *cache, struct store *store,
                               const char *project,
                               char out[sizeof(((struct entry *)NULL)->release)])
{
    struct releases releases;
    enum ch_status status = releases_read(cache, store, project, &releases);
    entry_copy(out, sizeof(releases.list[0].name),
               status == CH_OK && releases.count != 0 ? releases.list[0].name : "");
    return status;
}
