// SPDX-License-Identifier: Apache-2.0
//
// A group that was found, as a copy.
//
// A visitor of the store holds one of its few connections, so it must not ask the store
// again: who shows a group and more of it finds a copy first.
#pragma once
#include "collector/store/store.h"

enum { GROUP_COPY_STRINGS = STORE_GROUP_TEXT_COUNT + STORE_RELEASES + STORE_PROGRAMS };

struct group_copy {
    struct store_group group; // its strings are those below
    char *strings[GROUP_COPY_STRINGS];
    size_t count;
    bool failed;
};

// group_copy_find finds a group as store_find_group does, in one project or, where that
// is empty, in any.
CH_CHECKED enum ch_status group_copy_find(struct store *store, const char *project,
                                          const char *id, struct group_copy *out);

// group_copy_deinit frees the copy; all zeros is none.
void group_copy_deinit(struct group_copy *copy);
