// SPDX-License-Identifier: Apache-2.0
//
// Names in the store: the queue of reports that are to be named, what changes when they
// were, and what is near a group or was its past.
//
// The queue is a table: nothing in it is lost when a collector is killed, and several
// collectors may work on it. Users: jobs/symbolization_jobs.c, the pages.
#pragma once
#include "collector/store/store.h"

enum {
    STORE_KIN = 20000, // groups that others are compared with
    STORE_KNOWN_PLACES = 4096,
    STORE_BUILD_KEY_SIZE = ENTRY_PROJECT_SIZE + ENTRY_BUILD_SIZE + 16,
};

// store_build_key writes whose something of a build is: `PROJECT/BUILD`, or without a
// project the build ID alone, which is everybody's. In the place of the build ID may be
// what symbol_store_key writes of its sources. store_build_of gives what follows the
// project.
void store_build_key(const char *project, const char *build,
                     char out[STORE_BUILD_KEY_SIZE]);
const char *store_build_of(const char *key);

// store_named is a report that was named, or could not be.
struct store_named {
    int64_t report;      // of its store_job
    int64_t turn;        // of its store_job
    struct entry *entry; // what is known of it now; NULL: it is given up. Its project
                         // is set by the store
};

// store_symbolization is a report that is to be named, as a claim gives it to a
// visitor.
struct store_symbolization {
    int64_t report;
    int64_t turn;
    int64_t tries; // how often it was claimed, this time included
    int64_t received_ms;
    const char *project;    // like the body
    struct store_body body; // lives until the visitor returns
};

// store_backlog is what waits to be named.
struct store_backlog {
    int64_t waiting;
    int64_t oldest_ms; // when the oldest was queued; 0: there is none
};

// store_build is a build whose debug file came, and who sent it first.
struct store_build {
    const char *id;      // its build key
    const char *project; // empty: for all
    const char *sender;
};

// store_past is a line of a group's history.
struct store_past {
    const char *kind;   // moved, decision
    const char *other;  // the group it is about
    const char *detail; // that group's title, or the decision
    int64_t count;      // of reports that moved
    int64_t time_ms;
};

// store_kin is a group with what tells how near it is to another one.
struct store_kin {
    const char *id;
    const char *title;
    const char *stack;
    int64_t count;
};

// store_place is a place of a build that was looked up (server/place_names.h): frames
// is a JSON array.
struct store_place {
    const char *build; // a build key
    const char *place;
    const char *frames;
};

// store_place_of and store_reports_of say whose names are asked for: those that reports
// of the project may have.
struct store_place_of {
    const char *project;
    const char *build;
};
struct store_reports_of {
    const char *project;
    const int64_t *numbers;
    size_t count;
};

// store_names holds whether a report will get names.
enum store_names {
    STORE_NAMES_DONE, // nothing is under way
    STORE_NAMES_PENDING,
    STORE_NAMES_FAILED, // the jobs gave up
};

typedef void store_build_fn(void *context, const struct store_build *build);
typedef void store_place_fn(void *context, const struct store_place *place);
typedef void store_symbolization_fn(void *context,
                                    const struct store_symbolization *symbolization);
typedef void store_past_fn(void *context, const struct store_past *past);
typedef void store_kin_fn(void *context, const struct store_kin *kin);

// store_claiming is how many reports are claimed and for how long, and who visits
// them.
struct store_claiming {
    size_t count;
    int64_t lease_ms;
    store_symbolization_fn *visit;
    void *context;
};

// store_claim claims reports that are to be named: nobody else gets them until the
// lease ends, and who claimed them ends the claim by store_rename. It visits each and
// says how many there were.
CH_CHECKED enum ch_status store_claim(struct store *store,
                                      const struct store_claiming *claiming,
                                      size_t *out_count, char error[STORE_ERROR_SIZE]);

// store_key_again takes a step of having reports keyed that a collector of an older
// layout stored in the same database; out_more is true if there was one.
CH_CHECKED enum ch_status store_key_again(struct store *store, bool *out_more,
                                          char error[STORE_ERROR_SIZE]);

// store_rename gives reports that were named their titles and keys and moves them to
// their groups, in one transaction. The decision about a group goes with its reports;
// what moved is in the history of the group that they are in then.
CH_CHECKED enum ch_status store_rename(struct store *store,
                                       const struct store_named *named, size_t count,
                                       char error[STORE_ERROR_SIZE]);

// store_symbols_came queues the reports that lack the names of a build and may have
// those of the file that came.
CH_CHECKED enum ch_status store_symbols_came(struct store *store,
                                             const struct store_build *build,
                                             char error[STORE_ERROR_SIZE]);

// store_find_build visits what is known of a build ID or of what is kept beside it, or
// returns CH_ERR_NOT_FOUND; store_build_own notes who sent that first.
CH_CHECKED enum ch_status store_find_build(struct store *store, const char *id,
                                           store_build_fn *visit, void *context);
CH_CHECKED enum ch_status store_build_own(struct store *store,
                                          const struct store_build *build,
                                          char error[STORE_ERROR_SIZE]);

// store_name_later queues report id unless it is queued or was given up; out says which
// of these it is then.
CH_CHECKED enum ch_status store_name_later(struct store *store, const char *id,
                                           enum store_names *out,
                                           char error[STORE_ERROR_SIZE]);

// store_list_places visits those places of a build, a JSON array of texts, that were
// looked up.
CH_CHECKED enum ch_status store_list_places(struct store *store,
                                            const struct store_place_of *of,
                                            const char *places, store_place_fn *visit,
                                            void *context);

// store_list_known_places visits places of the builds that reports lack the names of,
// at most STORE_KNOWN_PLACES. out_time is for store_add_places.
CH_CHECKED enum ch_status store_list_known_places(struct store *store,
                                                  const struct store_reports_of *of,
                                                  store_place_fn *visit, void *context,
                                                  int64_t *out_time);

// store_add_places keeps places that were looked up after moment, except where another
// debug file of their build came since.
CH_CHECKED enum ch_status store_add_places(struct store *store,
                                           const struct store_place *places,
                                           size_t count, int64_t moment,
                                           char error[STORE_ERROR_SIZE]);

// store_backlog_of finds out what waits to be named.
CH_CHECKED enum ch_status store_backlog_of(struct store *store,
                                           struct store_backlog *out);

// store_list_history visits what is known of a group's past, the latest first.
CH_CHECKED enum ch_status store_list_history(struct store *store, const char *id,
                                             store_past_fn *visit, void *context);

// store_list_kin visits the STORE_KIN groups that were seen last.
CH_CHECKED enum ch_status store_list_kin(struct store *store, const char *project,
                                         store_kin_fn *visit, void *context);
