// SPDX-License-Identifier: Apache-2.0
//
// A store keeps reports, finds them again, counts them by group, and keeps what people
// decided about a group. It is a SQLite file or a PostgreSQL database that several
// collectors may share.
//
// Writing comes in batches that are one transaction and durable on return, so that many
// uploads share one fsync. Reading hands rows to a visitor, so that nothing is
// collected that is not printed. Lists of groups look at what is kept with the groups
// and never count reports. All functions may be called from any thread. Users: ingest
// writes, api and pages read and decide, retention trims.
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
    STORE_NOTE_SIZE = 2000, // room of a note, NUL included
    STORE_ASSIGNEE_SIZE = 120,
    STORE_TRIM_STEP = 500,  // most reports that one step of retention removes
    STORE_MOVE_STEP = 1000, // most reports that one step of a merge or split looks at
};

enum store_outcome {
    STORE_ADDED,    // a report nobody had
    STORE_KEPT,     // it was there already, in this revision or a newer one
    STORE_REPLACED, // it took the place of an older revision
};

// A report on its way in, its body as it came. The store fills outcome
// and group.
struct store_upload {
    const struct entry *entry;
    const void *body;
    size_t body_size;
    enum decode_encoding encoding;
    enum store_outcome outcome;
    char group[ENTRY_GROUP_SIZE]; // that it is in; not its own where groups were merged
};

// What a listing is narrowed to; NULL, 0 and empty strings narrow nothing.
struct store_filter {
    const char *release;
    const char *environment;
    const char *group;
    const char *query;       // a part of title, summary, program, release or host;
                             // of groups, under three characters: of the first two
    const char *signal_name; // SIGSEGV
    const char *status;      // of the group
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
    const char *fingerprint; // its own; the group's, unless groups were merged
    int64_t signal;
    int64_t revision;
    int64_t time_ms;
    int64_t received_ms;
};

// A group with what its pages show; strings live until the visitor returns.
struct store_group {
    const char *id;
    const char *title;
    const char *summary;        // of its first report
    const char *status;         // open, resolved, ignored or regressed
    const char *status_release; // resolved in it, or seen again in it; may be empty
    const char *note;
    const char *assignee;
    int64_t status_time_ms; // 0: it was never changed
    int64_t signal;
    int64_t count;     // of all reports that came
    int64_t kept;      // of those that retention has left
    int64_t held_back; // more crashes that senders counted and did not send
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

// What people decide about a group; NULL leaves a part as it is.
struct store_decision {
    const char *status;   // open, resolved or ignored
    const char *release;  // resolved in it; NULL: the newest release it was seen in
    const char *note;     // at most STORE_NOTE_SIZE - 1 bytes
    const char *assignee; // at most STORE_ASSIGNEE_SIZE - 1 bytes
};

// A fingerprint whose reports were moved to another group.
struct store_merged {
    const char *fingerprint;
    int64_t kept;
};

// What retention leaves; 0 leaves everything.
struct store_retention {
    int64_t age_ms;    // since a report was received
    int64_t per_group; // the latest crashes
};

// What a store holds in all.
struct store_totals {
    int64_t reports;
    int64_t groups;
};

typedef void store_report_fn(void *context, const struct store_report *report);
typedef void store_group_fn(void *context, const struct store_group *group);
typedef void store_merged_fn(void *context, const struct store_merged *merged);
typedef void store_body_fn(void *context, const struct store_report *report,
                           const struct store_body *body);

struct store;

// store_open opens what `sqlite:PATH` or `postgresql://...` names, and makes the file
// or the tables where there are none. error gets one line on any failure.
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

// store_find_group visits the group, by its id or by one that was merged into it, or
// returns CH_ERR_NOT_FOUND.
CH_CHECKED enum ch_status store_find_group(struct store *store, const char *id,
                                           store_group_fn *visit, void *context);

// store_find_report visits the report and its body, or returns CH_ERR_NOT_FOUND.
CH_CHECKED enum ch_status store_find_report(struct store *store, const char *id,
                                            store_body_fn *visit, void *context);

// store_list_merged visits the fingerprints that were merged into a group.
CH_CHECKED enum ch_status store_list_merged(struct store *store, const char *id,
                                            store_merged_fn *visit, void *context);

// store_decide keeps a decision about a group, or returns CH_ERR_NOT_FOUND. error, here
// and below, gets one line when the store failed.
CH_CHECKED enum ch_status store_decide(struct store *store, const char *id,
                                       const struct store_decision *decision,
                                       char error[STORE_ERROR_SIZE]);

// store_merge moves the reports of one group, and those to come, into another, whose
// status stays. Its address leads to the other at once; of more than STORE_MOVE_STEP
// reports the rest follows by store_move. CH_ERR_MALFORMED: both are the same group.
// CH_ERR_LIMIT, here and below: another large group is being moved.
CH_CHECKED enum ch_status store_merge(struct store *store, const char *from,
                                      const char *into, char error[STORE_ERROR_SIZE]);

// store_split gives a fingerprint that was merged its own group again, with its
// reports. CH_ERR_NOT_FOUND: it is not merged into another.
CH_CHECKED enum ch_status store_split(struct store *store, const char *fingerprint,
                                      char error[STORE_ERROR_SIZE]);

// store_move takes one step of the merge or split under way, and says whether there was
// one. Any collector may take it.
CH_CHECKED enum ch_status store_move(struct store *store, bool *out_more,
                                     char error[STORE_ERROR_SIZE]);

// store_move_for takes steps until nothing is left to move, for so long at most:
// CH_ERR_LIMIT.
CH_CHECKED enum ch_status store_move_for(struct store *store, int64_t patience_ms,
                                         char error[STORE_ERROR_SIZE]);

// store_trim removes at most STORE_TRIM_STEP reports that retention does not leave, and
// says how many: 0 when nothing is left to remove. Counts and trends of groups stay
// what they were.
CH_CHECKED enum ch_status store_trim(struct store *store,
                                     const struct store_retention *retention,
                                     size_t *out_removed, char error[STORE_ERROR_SIZE]);

// store_drop_weeks gives the space of weeks back whose reports are all removed, where
// the store keeps weeks apart (PostgreSQL), and says how many: 0 also where somebody
// was in the way. This week and the last stay.
CH_CHECKED enum ch_status store_drop_weeks(struct store *store, int64_t now_ms,
                                           size_t *out_dropped,
                                           char error[STORE_ERROR_SIZE]);

// store_count counts what is held.
CH_CHECKED enum ch_status store_count(struct store *store, struct store_totals *out);
