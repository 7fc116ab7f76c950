// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_places.h"

#include <stdio.h>

#include "base/system/own_user.h"

void spool_place_of_user(uid_t user, char path[static PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s%u", SETTINGS_OWN_FOLDER, user);
}

enum ch_status spool_place_path(enum spool_place place, const struct settings *settings,
                                settings_get_fn *get, void *context,
                                char path[static PATH_MAX])
{
    if (place == SPOOL_PLACE_CONFIGURED)
        return settings_spool_path(settings, get, context, path, PATH_MAX);
    if (place == SPOOL_PLACE_DROP)
        (void)snprintf(path, PATH_MAX, "%s", SETTINGS_DROP_FOLDER);
    else
        spool_place_of_user(own_user(), path);
    return CH_OK;
}

enum ch_status spool_place_open(enum spool_place place, const char *path,
                                struct spool *out)
{
    // A drop folder that we created would be ours, and nobody would collect from it.
    struct spool spool;
    bool is_drop_place = place == SPOOL_PLACE_DROP;
    enum ch_status status =
        spool_open(path, is_drop_place ? SPOOL_WRITE : SPOOL_CREATE, &spool);
    if (status == CH_OK && is_drop_place && !spool.drop) {
        spool_close(&spool);
        return CH_ERR_UNSUPPORTED;
    }
    if (status == CH_OK)
        *out = spool;
    return status;
}
