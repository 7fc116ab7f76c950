// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/releases.h"

#include <string.h>

#include "collector/entry/release_order.h"
#include "collector/query/store_values.h"

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

enum ch_status releases_read(struct store *store, const char *project,
                             struct releases *out)
{
    out->count = 0;
    return store_list_releases(store, project, take_one_release, out);
}
