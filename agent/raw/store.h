// SPDX-License-Identifier: Apache-2.0
//
// Where the raw report of a held process goes: the first of the spool's places
// (report/spool/spool.h) that takes all of it. Why earlier places did not is among the
// report's problems. Where none does, why_not is the message shown to the program's
// user instead of a report. User: main.
#pragma once
#include <limits.h>
#include <stdbool.h>

#include "agent/live/capture.h"
#include "agent/raw/finish.h"
#include "base/settings/settings.h"
#include "shared/request_page.h"

enum { STORE_REFUSED_MAX = 384 };

struct store {
    struct capture *capture;
    const struct settings *settings;
    settings_get_fn *get;
    uint64_t time_ms;                // of the crash, since 1970
    char path[PATH_MAX];             // of the last place tried
    char refused[STORE_REFUSED_MAX]; // why each place so far refused
    char why_not[REQUEST_WHY_MAX];
};

// store_ahead creates the file of the next report before there is one, if the spool is
// there already.
void store_ahead(const struct settings *settings, settings_get_fn *get);

// store_report writes the report and fills in finish: its place, id and lock. False: no
// place took it, and store->why_not says why and what can be done.
bool store_report(struct store *store, struct finish *finish);
