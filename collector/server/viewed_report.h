// SPDX-License-Identifier: Apache-2.0
//
// A viewed report is a report taken out of the store to be shown: opened, and
// symbolized again where it has nameless frames in an image whose debug file was
// uploaded since. The store keeps what was sent; these names are made for each view, so
// a debug file that arrives late, or again, is used at once.
#pragma once
#include "base/text.h"
#include "collector/server/collector.h"
#include "collector/server/opened_report.h"
#include "collector/store/entry.h"

struct viewed_report {
    struct opened_report opened;
    char group[ENTRY_GROUP_SIZE];
    char title[256];
    int64_t received_ms;
    bool renamed;        // it got names here
    const char *symbols; // the folder of debug files and sources; NULL: none
};

// viewed_report_open finds report id. If it cannot, it answers request with the reason
// and returns false; then there is nothing to close.
bool viewed_report_open(struct http_request *request, const char *id,
                        struct viewed_report *out);

// viewed_report_open_newest opens the newest report of a group, if it is small enough
// to be shown beside the group; false: there is none, and the request goes on.
bool viewed_report_open_newest(struct http_request *request, const char *group,
                               char out_id[REPORT_ID_SIZE], struct viewed_report *out);

// viewed_report_close releases it.
void viewed_report_close(struct viewed_report *report);

// viewed_report_sent appends report id as it was sent, without its Content-Encoding, to
// out; it fails like viewed_report_open.
bool viewed_report_sent(struct http_request *request, const char *id, struct text *out);
