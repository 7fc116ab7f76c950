// SPDX-License-Identifier: Apache-2.0
//
// A viewed report is a report taken out of the store to be shown: opened, and with the
// names that jobs found out for its nameless frames. The store keeps what was sent.
//
// A view looks nothing up. Where it has nameless frames of a build whose debug file is
// here, it shows what is stored, says that names are pending, and queues the report.
#pragma once
#include "base/text.h"
#include "collector/entry/entry.h"
#include "collector/query/store_values.h"
#include "collector/requests/collector.h"
#include "collector/requests/opened_report.h"
#include "collector/store/store_symbolization.h"

struct viewed_report {
    struct opened_report opened;
    char group[ENTRY_GROUP_SIZE];
    char title[256];
    char project[ENTRY_PROJECT_SIZE]; // whose names and sources it may have
    struct store_around around; // empty where nobody looked for others of its group
    int64_t received_ms;
    bool renamed; // it got names here
    enum store_names names;
    struct symbol_store *symbols; // debug files and sources; NULL: none
    struct page_templates templates;
};

// viewed_report_open finds report id. If it cannot, it answers request with the reason
// and returns false; then there is nothing to close. A large report moves the request
// into the pool of what is large, and it returns false too.
bool viewed_report_open(struct http_request *request, const char *id,
                        struct viewed_report *out);

// viewed_report_open_newest opens the newest report of a group, if it is small enough
// to be shown beside the group; false: there is none, or it is large, and the request
// goes on.
bool viewed_report_open_newest(struct http_request *request, const char *group,
                               char out_id[REPORT_ID_SIZE], struct viewed_report *out);

// viewed_report_names is "pending" or "failed" where names are not all there; NULL:
// they are, or nothing here has them.
const char *viewed_report_names(const struct viewed_report *report);

// viewed_report_close releases it.
void viewed_report_close(struct viewed_report *report);

// viewed_report_sent appends report id as it was sent, without its Content-Encoding, to
// out; it fails like viewed_report_open.
bool viewed_report_sent(struct http_request *request, const char *id, struct text *out);
