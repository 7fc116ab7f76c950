// SPDX-License-Identifier: Apache-2.0
//
// A store keeps reports, finds them again, and counts them by group.
//
// Two things a backend must be good at shape this interface. Writing comes in batches
// that are one transaction and durable on return, so that many uploads share one fsync.
// Reading hands rows to a visitor, so that nothing is collected that is not printed.
// Functions here dispatch to the backend that store_open chose; all may be called from
// any thread, store_add from one at a time. Users: ingest writes, api and pages read.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "collector/decode.h"
#include "collector/entry.h"

enum {
    STORE_TREND_DAYS = 30,  // how far back a group's trend is handed out
    STORE_FILTER_TAGS = 8,  // how many tags one request may ask for
    STORE_RELEASES = 20,    // how many releases of a group are handed out
    STORE_PAGE_MAX = 200,   // most rows of one listing
    STORE_CURSOR_SIZE = 48, // room of a cursor, NUL included
    STORE_ERROR_SIZE = 256, // room of a message, NUL included
};

enum store_outcome {
    STORE_ADDED,    // a report nobody had
    STORE_KEPT,     // it was there already, in this revision or a newer one
    STORE_REPLACED, // it took the place of an older revision
};

// A report on its way in, its body as it came. The store fills outcome.
struct store_upload {
    const struct entry *entry;
    const void *body;
    size_t body_size;
    enum decode_encoding encoding;
    enum store_outcome outcome;
};

// What a listing is narrowed to; NULL, 0 and empty strings narrow nothing.
struct store_filter {
    const char *release;
    const char *environment;
    const char *group;
    const char *query;       // a part of title, summary, program, release or host
    const char *signal_name; // SIGSEGV
    struct {
        const char *key;
        const char *value;
    } tags[STORE_FILTER_TAGS];
    size_t tag_count;
    int64_t signal;
    int64_t since_ms;   // 0: no bound
    int64_t until_ms;   // 0: no bound; itself excluded
    const char *cursor; // where the listing before this one ended
    size_t limit;       // 1 to STORE_PAGE_MAX
};

// A row of a listing of reports; strings live until the visitor returns.
struct store_report {
    const char *id;
    const char *group;
    const char *title;
    const char *summary;
    const char *signal_name;
    const char *release;
    const char *environment;
    const char *executable;
    const char *hostname;
    int64_t signal;
    int64_t revision;
    int64_t time_ms;
    int64_t received_ms;
};

// A group with what its pages show; strings live until the visitor returns.
struct store_group {
    const char *id;
    const char *title;
    const char *summary; // of its first report
    const char *status;
    int64_t signal;
    int64_t count;
    int64_t first_seen_ms;
    int64_t last_seen_ms;
    const char *releases[STORE_RELEASES]; // latest seen first
    int64_t release_counts[STORE_RELEASES];
    size_t release_count;            // how many of them are filled
    int64_t trend[STORE_TREND_DAYS]; // reports a day, the last is trend_day
    int64_t trend_day;               // in days since 1970
};

// A body as it came, on its way out.
struct store_body {
    const void *bytes;
    size_t size;
    enum decode_encoding encoding;
};

// What a store holds in all.
struct store_totals {
    int64_t reports;
    int64_t groups;
};

typedef void store_report_fn(void *context, const struct store_report *report);
typedef void store_group_fn(void *context, const struct store_group *group);
typedef void store_body_fn(void *context, const struct store_report *report,
                           const struct store_body *body);

struct store;

// store_open opens what `sqlite:PATH` names, and makes it where there is none. error
// gets one line on any failure.
CH_CHECKED enum ch_status store_open(const char *name, char error[STORE_ERROR_SIZE],
                                     struct store **out);

// store_close waits for nothing: no call may be under way.
void store_close(struct store *store);

// store_add keeps count uploads in one transaction, all or none, durable on return. A
// report is replaced by a higher revision alone. error gets one line on failure.
CH_CHECKED enum ch_status store_add(struct store *store, struct store_upload *uploads,
                                    size_t count, char error[STORE_ERROR_SIZE]);

// store_list_reports visits reports, the latest crash first, and writes the cursor of
// the next listing to next: empty at the end. CH_ERR_MALFORMED: not a cursor of ours.
// CH_ERR_LIMIT, here and below: looking took too long.
CH_CHECKED enum ch_status store_list_reports(struct store *store,
                                             const struct store_filter *filter,
                                             store_report_fn *visit, void *context,
                                             char next[STORE_CURSOR_SIZE]);

// store_list_groups visits the groups that hold a report the filter lets through, the
// latest seen first; a group's figures are of all its reports.
CH_CHECKED enum ch_status store_list_groups(struct store *store,
                                            const struct store_filter *filter,
                                            store_group_fn *visit, void *context,
                                            char next[STORE_CURSOR_SIZE]);

// store_find_group visits the group, or returns CH_ERR_NOT_FOUND.
CH_CHECKED enum ch_status store_find_group(struct store *store, const char *id,
                                           store_group_fn *visit, void *context);

// store_find_report visits the report and its body, or returns CH_ERR_NOT_FOUND.
CH_CHECKED enum ch_status store_find_report(struct store *store, const char *id,
                                            store_body_fn *visit, void *context);

// store_count counts what is held.
CH_CHECKED enum ch_status store_count(struct store *store, struct store_totals *out);
