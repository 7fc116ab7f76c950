// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/group_copy.h"

#include <stdlib.h>
#include <string.h>

static const char *copy_string(struct group_copy *copy, const char *string)
{
    char *copied = strdup(string);
    copy->failed |= copied == NULL;
    if (copied == NULL)
        return "";
    copy->strings[copy->count++] = copied;
    return copied;
}

_Static_assert(
    sizeof(struct store_group) ==
        (STORE_GROUP_TEXT_COUNT + STORE_PROGRAMS + STORE_RELEASES) * sizeof(char *) +
            (STORE_GROUP_NUMBER_COUNT + STORE_RELEASES + STORE_TREND_DAYS + 4) *
                sizeof(int64_t) +
            sizeof(int64_t),
    "each text of a group is in STORE_GROUP_TEXTS");

static void copy_group(void *context, const struct store_group *group)
{
    struct group_copy *copy = context;
    struct store_group *out = &copy->group;
    *out = *group;
#define COPY_TEXT(member, column) out->member = copy_string(copy, group->member);
    STORE_GROUP_TEXTS(COPY_TEXT)
    for (size_t i = 0; i < group->release_count; i++)
        out->releases[i] = copy_string(copy, group->releases[i]);
    for (size_t i = 0; i < group->program_count; i++)
        out->programs[i] = copy_string(copy, group->programs[i]);
}

enum ch_status group_copy_find(struct store *store, const char *project, const char *id,
                               struct group_copy *out)
{
    *out = (struct group_copy){ 0 };
    enum ch_status status = store_find_group(store, id, copy_group, out);
    if (status == CH_OK && out->failed)
        return CH_ERR_NO_MEMORY;
    bool elsewhere =
        status == CH_OK && project[0] != 0 && strcmp(out->group.project, project) != 0;
    return elsewhere ? CH_ERR_NOT_FOUND : status;
}

void group_copy_deinit(struct group_copy *copy)
{
    for (size_t i = 0; i < copy->count; i++)
        free(copy->strings[i]);
    copy->count = 0;
}
