// SPDX-License-Identifier: Apache-2.0
//
// What the handlers of all requests share: the store and the queue in front of it, the
// folder of debug files, the counters. main makes it once, and each handler gets it as
// request->context; every part is safe to use from many threads.
#pragma once
#include <pthread.h>
#include <string.h>

#include "collector/entry/user_name.h"
#include "collector/requests/aggregates.h"
#include "collector/requests/ingest.h"
#include "collector/requests/receivers.h"
#include "collector/server/access.h"
#include "collector/server/background.h"
#include "collector/server/http.h"
#include "collector/server/load.h"
#include "collector/server/metrics.h"
#include "collector/server/rate.h"
#include "collector/store/store.h"

enum {
    COLLECTOR_BODY_MAX = 16 << 20,    // bytes of a report as sent
    COLLECTOR_DECODED_MAX = 64 << 20, // bytes of a report once decoded
    COLLECTOR_LARGE = 1 << 20, // decoded bytes above which reports open one at a time
};

// page_templates are addresses elsewhere, with holes for what a report has; NULL: none.
struct page_templates {
    const char *source; // of a line of the program's sources
    const char *root;   // folder that the sources were built in; NULL: any
    const char *issue;  // of a new issue
};

struct backups;
struct time_zone;
struct symbol_store;

struct collector {
    struct store *store;
    struct ingest *ingest;
    bool packs; // bodies into segments
    struct symbol_store *symbols;
    struct backups *backups; // NULL: none are made
    struct metrics metrics;
    struct load load;          // what is under way
    struct rate rate;          // limit of reports per token
    struct rate project_rates; // and per project, by access_project.index
    struct access *access;
    struct background made_tokens;  // the thread that reads those of the store again
    struct rate sign_ins;           // limit of attempts per address
    struct receiver_list receivers; // of alerts
    struct page_templates templates;
    const struct time_zone *zone; // of times on pages; NULL: UTC
    const char *ticket_file;      // secrets of issue trackers; NULL: none
    struct aggregates aggregates;
    char user_salt[USER_SALT_SIZE]; // user_name.h; empty: no name was ever hidden
    bool plain_users;               // names of users are stored
    int64_t keep_ms;                // how long reports are kept; 0: for ever
    bool log_requests;
    bool reading;          // the store is only read
    unsigned workers;      // processes that name reports at the same time
    pthread_mutex_t large; // held while a large report is open, or is being named
};

_Static_assert((int)RATE_SENDERS > (int)ACCESS_TOKENS + (int)ACCESS_MADE &&
                   (int)RATE_SENDERS > (int)ACCESS_PROJECTS,
               "each token and each project has a bucket");

// collector_of is the collector that received a request.
static inline struct collector *collector_of(const struct http_request *request)
{
    return request->context;
}

// collector_large is the lock for a large report, where the request may open one; NULL:
// it is in a pool that others wait for.
static inline pthread_mutex_t *collector_large(const struct http_request *request)
{
    return request->large ? &collector_of(request)->large : NULL;
}

// collector_shows returns true if what belongs to a project may be shown to the client.
static inline bool collector_shows(const struct http_request *request,
                                   const char *project)
{
    return request->who.project[0] == 0 || strcmp(request->who.project, project) == 0;
}
