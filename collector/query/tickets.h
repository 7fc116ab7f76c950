// SPDX-License-Identifier: Apache-2.0
//
// Issues elsewhere that are about a group, as their tracker last described them.
//
// A tracker sends an event for each change (api_ticket.c). Each is newer than the one
// before, so an event that is not newer was sent again. Users: that request, the page
// of a group.
#pragma once
#include "collector/store/store.h"

enum { TICKET_URL = 400, TICKET_TITLE = 200, TICKETS_SHOWN = 10 };

// ticket is an issue. Strings live until the visitor returns. project and sum are empty
// in a listing.
struct ticket {
    const char *project; // of the tracker's secret: each project has its own issues
    const char *url;
    const char *group;
    const char *title;
    const char *state; // open or closed
    const char *sum;   // of the event
    int64_t changed_ms;
};

typedef void ticket_fn(void *context, const struct ticket *ticket);

// ticket_is_newer returns CH_OK for an event that the store has not had: CH_END for one
// that it has, or that is older than the last one of its issue.
CH_CHECKED enum ch_status ticket_is_newer(struct store *store,
                                          const struct ticket *ticket);

// ticket_note keeps an issue as its tracker describes it now.
CH_CHECKED enum ch_status ticket_note(struct store *store, const struct ticket *ticket,
                                      char error[STORE_ERROR_SIZE]);

// tickets_list visits the issues about a group, and those about groups that were merged
// into it, the one that changed last first.
CH_CHECKED enum ch_status tickets_list(struct store *store, const char *group,
                                       ticket_fn *visit, void *context);
