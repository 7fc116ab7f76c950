// SPDX-License-Identifier: Apache-2.0
//
// A viewed report is one taken out of the store to be looked at: opened, and named anew
// where it has nameless frames of an image whose debug file has come in since. The
// store keeps what was sent; the names are made for each view, so a debug file that
// arrives late or again is used at once.
#pragma once
#include "base/text.h"
#include "collector/collector.h"
#include "collector/entry.h"
#include "collector/opened_report.h"

struct viewed_report {
    struct opened_report opened;
    char group[ENTRY_GROUP_SIZE];
    char title[256];
    int64_t received_ms;
    bool renamed;        // names were made here
    const char *symbols; // the folder of debug files and sources; NULL: none
};

struct viewed_report_error {
    char text[320];
};

// viewed_report_open finds report id. It returns 0, or an HTTP status and why at error.
unsigned viewed_report_open(struct viewed_report *out, struct collector *collector,
                            const char *id, struct viewed_report_error *error);

// viewed_report_close releases it.
void viewed_report_close(struct viewed_report *report);

// viewed_report_sent appends report id as it was sent, without its Content-Encoding, to
// out; it returns as viewed_report_open.
unsigned viewed_report_sent(struct collector *collector, const char *id,
                            struct text *out, struct viewed_report_error *error);
