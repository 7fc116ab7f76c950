// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the store share: one connection that writes, a pool of connections
// that read, and the table of statements that the writer prepares.
//
// store.c opens and lends connections, store_add.c stores reports, store_read.c and
// store_query.c find them, store_triage.c applies what people decide, store_move.c does
// the part of that which takes long, store_trim.c, store_words.c and store_weeks.c
// remove what is old.
// The table is made of sql/*.sql as the collector is built. The SQL is the same for
// every database except where a statement has two texts there.
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "base/text.h"
#include "collector/database/cache_age.h"
#include "collector/database/sql.h"
#include "collector/objects/object_store.h"
#include "collector/store/store.h"
#include "collector/store/store_statement.h"

enum {
    STORE_READERS = 4,
    STORE_QUERY_MS = 10000,       // a longer query is aborted
    STORE_LIST_MS = 2000,         // and one for a list that somebody waits for
    STORE_ATTEMPTS = 5,           // at a transaction that others were in the way of
    STORE_WEEK_MS = 7 * 86400000, // the time that a partition of bodies covers
    STORE_KEPT_WEEKS = 1,         // partitions before this week's that stay
};

struct body_prefixes;
struct object_store;

struct store {
    struct object_store *objects; // that bodies are packed into; NULL: they are not
    char objects_owner[40];       // this collector, where several pack
    char objects_id[40];          // the folder of this store among them
    atomic_bool given_up;         // the collector stops: nothing waits any more
    bool reading;                 // writer only reads, too
    int64_t list_ms;              // STORE_LIST_MS, but for tests
    int64_t many_reports;         // STORE_MANY_REPORTS, but for tests
    int file_lock;           // descriptor of the file that keeps others off; -1: none
    pthread_mutex_t writing; // held while writer is used
    struct sql *writer;
    int64_t ready_week;             // the partition of this week and the next exist
    _Atomic int64_t stored_ms;      // when reports were stored last
    struct fetch_gate fetches;      // of bodies that are elsewhere
    struct body_prefixes *prefixes; // NULL: bodies are stored as they came
    pthread_mutex_t lock;           // guards what follows
    pthread_cond_t returned;
    struct sql *idle[STORE_READERS];
    size_t idle_count;
    struct text rising; // the groups that were found to rise
    struct cache_age rising_age;
};

// store_job is what one transaction does. work queues statements and returns its first
// failure; prepare, which may be NULL, runs before the transaction. Both may be called
// again, from the start, when another writer was in the way.
struct store_job {
    const char *what; // for messages: `store reports`
    bool alone;       // excludes all other writers, of any collector
    enum ch_status (*prepare)(struct store *store, void *context);
    enum ch_status (*work)(struct sql *sql, void *context);
    void *context;
};

// store_transact runs a job. error gets `cannot WHAT: why` on failure, except for
// statuses of work's own: CH_ERR_NOT_FOUND and CH_ERR_MALFORMED.
CH_CHECKED enum ch_status store_transact(struct store *store,
                                         const struct store_job *job,
                                         char error[STORE_ERROR_SIZE]);

// store_step is a statement of store_change; done, which may be NULL, gets the number
// in the first column of its last row, 0 if it has none.
struct store_step {
    enum store_statement statement;
    const struct sql_value *values;
    size_t count;
    int64_t *done;
};

// store_change runs steps as one transaction, and store_change_alone does so excluding
// all other writers. what and error are as in store_transact.
CH_CHECKED enum ch_status store_change(struct store *store, const char *what,
                                       const struct store_step *steps, size_t count,
                                       char error[STORE_ERROR_SIZE]);
CH_CHECKED enum ch_status store_change_alone(struct store *store, const char *what,
                                             const struct store_step *steps,
                                             size_t count,
                                             char error[STORE_ERROR_SIZE]);

// store_make_week makes the partition for bodies received at that time. It is called
// while no transaction is open.
CH_CHECKED enum ch_status store_make_week(struct store *store, int64_t received_ms);

// store_borrow waits for a connection to read with; store_borrow_to_list is for what
// people search, which is refused sooner. store_return returns it to the pool.
struct sql *store_borrow(struct store *store);
struct sql *store_borrow_to_list(struct store *store);
void store_return(struct store *store, struct sql *reader);

// store_ask runs a statement of the table with a connection to read with, and visits
// its rows; visitors must not ask the store.
CH_CHECKED enum ch_status store_ask(struct store *store, enum store_statement statement,
                                    const struct sql_value *values, size_t count,
                                    sql_row_fn *visit, void *context);

// store_list_append adds a number to a list, which store_list_end turns into a value
// for statements. An empty text is an empty list.
void store_list_append(struct text *list, int64_t number);
struct sql_value store_list_end(const struct sql *sql, struct text *list);

// store_queue_marks queues a report's marks as a JSON array, for a statement.
void store_queue_marks(struct sql *sql, int64_t report, const struct entry *entry);

// STORE_RESOLVED_IN begins the release of a decision that names one: then a later crash
// in that release is a regression too. Otherwise the newest release seen is meant, and
// what is newer is one.
#define STORE_RESOLVED_IN '='

// store_resolved is a resolved group: its number, status_release and status_time.
struct store_resolved {
    int64_t group;
    const char *release;
    int64_t time_ms;
};

// store_ask_regression queues the question whether a crash of a release shows that the
// group is back: the release is newer, by its declared place, its number or when it was
// first seen, or, where there is no release, the crash is later.
void store_ask_regression(struct sql *sql, const struct store_resolved *resolved,
                          const char *release, int64_t time_ms, bool *out);

// store_queue_alert queues an alert about a group, of kind `new` or `regressed`, that a
// report gave rise to; detail is a release or empty.
void store_queue_alert(struct sql *sql, const char *kind, const char *group_id,
                       int64_t report, const struct entry *entry, const char *detail);

// store_gain is what a group gains: count reports like entry, which came first_ms to
// last_ms. If it is created, it takes the decision of the group `decided`.
struct store_gain {
    const struct entry *entry;
    const char *decided;
    int64_t count;
    int64_t first_ms;
    int64_t last_ms;
};

// store_gain_group queues STORE_GAIN_GROUP.
void store_gain_group(struct sql *sql, const struct store_gain *gain, sql_row_fn *visit,
                      void *context);

// store_lose_facets queues taking the values of listed reports off the counts of their
// groups. It appends the facets that nobody has any more to lost, of which those that
// are still so are deleted by STORE_DROP_FACETS.
void store_lose_facets(struct sql *sql, const struct sql_value *reports,
                       struct text *lost);

// store_remove_empty queues the removal of those groups in a list that are empty.
void store_remove_empty(struct sql *sql, const struct sql_value *groups);
