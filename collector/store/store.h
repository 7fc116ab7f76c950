// SPDX-License-Identifier: Apache-2.0
//
// A store keeps reports, finds them, counts them by group, and keeps what people
// decided about a group. It is a SQLite file, or a PostgreSQL database that several
// collectors may share.
//
// A batch of writes is one transaction and durable on return, so that many uploads
// share one fsync. Reads pass rows to a visitor, so that nothing is collected that is
// not printed. Lists of groups read figures that are kept with the groups and never
// count reports. All functions may be called from any thread. Users: ingest writes, api
// and pages read and decide, retention trims.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "collector/entry/decode.h"
#include "collector/entry/entry.h"
#include "collector/store/store_filter.h"
#include "collector/store/store_group.h"
#include "collector/store/store_retention.h"

enum {
    STORE_PAGE_MAX = 200,   // most rows of one listing
    STORE_RECENT = 1000,    // reports of a group that are looked at one by one
    STORE_CURSOR_SIZE = 48, // size of a cursor, including its NUL
    STORE_ERROR_SIZE = 256, // size of a message, including its NUL
    STORE_NOTE_SIZE = 2000, // size of a note, including its NUL
    STORE_ASSIGNEE_SIZE = 120,
    STORE_COMMENT_SIZE = 1500, // of a comment, including its NUL
    STORE_TRIM_STEP = 256,     // most reports removed in one step of retention
    STORE_BUILD_STEP = 512,    // most reports queued at once when names came
    STORE_MOVE_STEP = 128,     // most reports examined in one step of a merge or split
    STORE_FACETS_STEP = 512,   // most values that a step removes or merges
};

enum store_outcome {
    STORE_ADDED,    // a report that was not in the store
    STORE_KEPT,     // it was in the store already, in this revision or a newer one
    STORE_REPLACED, // it replaced an older revision
};

// store_upload is a report on its way in, with its body as received. The store fills
// outcome and group.
struct store_upload {
    const struct entry *entry;
    const void *body;
    size_t body_size;
    enum decode_encoding encoding;
    int64_t prefix;     // that the body was compressed with (body_prefixes.h); 0: none
    const void *common; // what may become the prefix of later ones; NULL: none
    size_t common_size;
    enum store_outcome outcome;
    char group[ENTRY_GROUP_SIZE]; // that it is in; not its own where groups were merged
};

// store_report is a row of a listing of reports; strings live until the visitor
// returns.
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
    const char *project;     // empty: none
    int64_t signal;
    int64_t revision;
    int64_t time_ms;
    int64_t received_ms;
};

// store_body is the body of a stored report, as it was received.
struct store_body {
    const void *bytes;
    size_t size;
    enum decode_encoding encoding;
};

// store_decision is what people decide about a group; NULL leaves a part unchanged.
struct store_decision {
    const char *status;   // open, resolved or ignored
    const char *release;  // it is resolved in: a later crash in it is a regression;
                          // NULL: in the one after the newest release it was seen in
    const char *note;     // at most STORE_NOTE_SIZE - 1 bytes
    const char *assignee; // at most STORE_ASSIGNEE_SIZE - 1 bytes
    const char *comment;  // at most STORE_COMMENT_SIZE - 1 bytes; changes no version
    int64_t more_reports; // ignored until so many came; 0: whatever comes
    int64_t more_machines;
    int64_t until_ms; // ignored until the first crash after that time; 0: for ever
    const char *who;  // decides, for the history; NULL: it is not known
    bool versioned;   // only if the group's version is that:
    int64_t version;
};

// store_merged is a fingerprint whose reports were moved to another group.
struct store_merged {
    const char *fingerprint;
    int64_t recent; // its reports among the last STORE_RECENT of the group
};

typedef void store_report_fn(void *context, const struct store_report *report);
typedef void store_group_fn(void *context, const struct store_group *group);
typedef void store_merged_fn(void *context, const struct store_merged *merged);
typedef void store_body_fn(void *context, const struct store_report *report,
                           const struct store_body *body);

struct store;

// store_open opens the store that `sqlite:PATH` or `postgresql://...` names, and
// creates the file or the tables where they do not exist. error gets one line on any
// failure. A SQLite file that another process has opened so is refused.
CH_CHECKED enum ch_status store_open(const char *name, char error[STORE_ERROR_SIZE],
                                     struct store **out);

// store_open_reading opens a store only to read it, such as a PostgreSQL standby, or a
// file that another collector uses. What changes it then fails.
CH_CHECKED enum ch_status
store_open_reading(const char *name, char error[STORE_ERROR_SIZE], struct store **out);

// store_close closes the store; no other call may be running.
void store_close(struct store *store);

// store_add stores count uploads in one transaction, all or none, durable on return.
// Only a higher revision replaces a report. error gets one line on failure.
CH_CHECKED enum ch_status store_add(struct store *store, struct store_upload *uploads,
                                    size_t count, char error[STORE_ERROR_SIZE]);

// store_compress_body compresses the body of an upload, whose JSON it gets, by what the
// reports of its group have in common, as far as that is known. room has what the
// upload refers to then. It asks no database.
void store_compress_body(struct store *store, const char *json, size_t size,
                         struct store_upload *upload, struct text *room);

// store_list_reports visits reports, the latest crash first, and writes the cursor of
// the next page to next: empty at the end. CH_ERR_MALFORMED: the cursor is not one of
// ours. CH_ERR_LIMIT, here and below: the query took too long.
CH_CHECKED enum ch_status store_list_reports(struct store *store,
                                             const struct store_filter *filter,
                                             store_report_fn *visit, void *context,
                                             char next[STORE_CURSOR_SIZE]);

// store_list_groups visits the groups with a report that the filter accepts, in the
// filter's order, the last or largest first; a group's figures cover all of its
// reports, except for filtered_count.
CH_CHECKED enum ch_status store_list_groups(struct store *store,
                                            const struct store_filter *filter,
                                            store_group_fn *visit, void *context,
                                            char next[STORE_CURSOR_SIZE]);

// store_list_counted_groups does so, and counts all groups that the filter accepts.
CH_CHECKED enum ch_status
store_list_counted_groups(struct store *store, const struct store_filter *filter,
                          store_group_fn *visit, void *context,
                          char next[STORE_CURSOR_SIZE], struct store_found *out);

// store_find_group visits the group with that id, or the group that it was merged into,
// or returns CH_ERR_NOT_FOUND.
CH_CHECKED enum ch_status store_find_group(struct store *store, const char *id,
                                           store_group_fn *visit, void *context);

// store_find_report visits the report and its body, or returns CH_ERR_NOT_FOUND.
CH_CHECKED enum ch_status store_find_report(struct store *store, const char *id,
                                            store_body_fn *visit, void *context);

// store_list_merged visits the fingerprints that were merged into a group.
CH_CHECKED enum ch_status store_list_merged(struct store *store, const char *id,
                                            store_merged_fn *visit, void *context);

// store_decide stores a decision about a group, or returns CH_ERR_NOT_FOUND.
// CH_ERR_MALFORMED: the group has another version. error, here and below, gets one line
// when the store failed.
CH_CHECKED enum ch_status store_decide(struct store *store, const char *id,
                                       const struct store_decision *decision,
                                       char error[STORE_ERROR_SIZE]);

// store_merge moves the reports of one group, present and future, into another, whose
// status stays. Requests for its id find the other group at once; of more than
// STORE_MOVE_STEP reports the rest is moved by store_move. CH_ERR_MALFORMED: both are
// the same group. CH_ERR_LIMIT, here and below: another large group is being moved.
CH_CHECKED enum ch_status store_merge(struct store *store, const char *from,
                                      const char *into, const char *who,
                                      char error[STORE_ERROR_SIZE]);

// store_split gives a merged fingerprint a group of its own again, with its reports.
// CH_ERR_NOT_FOUND: it is not merged into another group.
CH_CHECKED enum ch_status store_split(struct store *store, const char *fingerprint,
                                      const char *who, char error[STORE_ERROR_SIZE]);

// store_move takes one step of the current merge or split, and returns whether there
// was one. Any collector may take it.
CH_CHECKED enum ch_status store_move(struct store *store, bool *out_more,
                                     char error[STORE_ERROR_SIZE]);

// store_move_for takes steps until nothing is left to move, for at most patience_ms:
// then it returns CH_ERR_LIMIT.
CH_CHECKED enum ch_status store_move_for(struct store *store, int64_t patience_ms,
                                         char error[STORE_ERROR_SIZE]);

// store_drop_prefixes removes what bodies that are gone had in common.
CH_CHECKED enum ch_status store_drop_prefixes(struct store *store,
                                              char error[STORE_ERROR_SIZE]);

// store_thin_members keeps fewer machines and users of groups that have very many.
CH_CHECKED enum ch_status store_thin_members(struct store *store,
                                             char error[STORE_ERROR_SIZE]);

// store_trim removes at most STORE_TRIM_STEP reports that retention does not keep, and
// says how many: 0 when nothing is left to remove. Counts and trends of groups do not
// change.
CH_CHECKED enum ch_status store_trim(struct store *store,
                                     const struct store_retention *retention,
                                     size_t *out_removed, char error[STORE_ERROR_SIZE]);

// store_drop_weeks frees the disk space of weeks whose reports are all removed, where
// the store keeps weeks apart (PostgreSQL), and returns how many: 0 also when another
// transaction was in the way. The current week and the one before it stay.
CH_CHECKED enum ch_status store_drop_weeks(struct store *store, int64_t now_ms,
                                           size_t *out_dropped,
                                           char error[STORE_ERROR_SIZE]);
