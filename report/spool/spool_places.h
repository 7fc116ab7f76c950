// SPDX-License-Identifier: Apache-2.0
//
// The folders that a report may be written to, in the order in which they are tried.
//
// A program that gave up its user after its start can seldom write to the spool it was
// started with. What it leaves in the drop folder is collected by root (collect.h); the
// folder in /tmp belongs to the user, and is refused if it does not. The handler's
// record takes the same path (handler/crash/crash_spool.c). Users: agent, cli.
#pragma once
#include <limits.h>
#include <sys/types.h>

#include "base/settings/settings.h"
#include "base/status.h"
#include "report/spool/spool.h"

enum spool_place {
    SPOOL_PLACE_CONFIGURED, // the one that settings and variables name
    SPOOL_PLACE_DROP,       // SETTINGS_DROP_FOLDER
    SPOOL_PLACE_TEMPORARY,  // SETTINGS_OWN_FOLDER and the user's number
    SPOOL_PLACES
};

// spool_place_path writes the path of a place. CH_ERR_NOT_FOUND: no variable names a
// configured one.
CH_CHECKED enum ch_status spool_place_path(enum spool_place place,
                                           const struct settings *settings,
                                           settings_get_fn *get, void *context,
                                           char path[static PATH_MAX]);

// spool_place_of_user writes the path of a user's SPOOL_PLACE_TEMPORARY.
void spool_place_of_user(uid_t user, char path[static PATH_MAX]);

// spool_place_open opens a place for writing; it never creates the drop folder.
CH_CHECKED enum ch_status spool_place_open(enum spool_place place, const char *path,
                                           struct spool *out);
