// SPDX-License-Identifier: Apache-2.0
//
// The threads that work in the background, each with a function that starts it and one
// that ends it after its current step, for which NULL is allowed. What their options
// refer to must outlive them. alerts.h has the one that sends messages.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/server/access.h"
#include "collector/server/background.h"
#include "collector/server/metrics.h"
#include "collector/store/store.h"
#include "collector/symbols/symbol_store.h"

// jobs_complain_fn is called with one line about a step that failed. Most are tried
// again later.
typedef void jobs_complain_fn(const char *error);

// Retention removes reports that are past what is to be kept, and moves the reports of
// large groups that were merged or split, in small steps with a pause after each, so
// that uploads and readers are hardly affected. Several collectors over one database
// may all run it.
struct retention;

// retention_create starts the thread; access says what projects keep.
CH_CHECKED enum ch_status retention_create(struct store *store,
                                           const struct store_retention *limits,
                                           struct access *access,
                                           jobs_complain_fn *complain,
                                           struct retention **out);
void retention_destroy(struct retention *retention);

// The packer of bodies writes them into segments and removes segments
// (store_segments.h). An object store that fails makes it wait, longer each time, and
// stops nothing else: bodies stay in the database meanwhile.
struct body_packer;

struct body_packer_options {
    struct store *store;
    struct metrics *metrics;
    const char *place;    // DIR or s3://...; NULL or `store`: bodies stay in the store
    bool reading;         // the store is only read: nothing is packed
    size_t segment_bytes; // a segment is packed when it is so large,
    int64_t patience_ms;  // or its first body waited so long
    jobs_complain_fn *complain;
};

// body_packer_read parses SIZE/TIME, such as 8M/10m (NULL), into options.
CH_CHECKED enum ch_status body_packer_read(const char *text,
                                           struct body_packer_options *options);

// body_packer_create opens the place and starts the thread, or does neither where
// bodies stay in the store: out is NULL then. error gets one line on failure. The place
// is open until body_packer_destroy.
CH_CHECKED enum ch_status body_packer_create(const struct body_packer_options *options,
                                             struct body_packer **out,
                                             char error[STORE_ERROR_SIZE]);
void body_packer_destroy(struct body_packer *packer);

// The jobs of the symbol cache remove what was not used for long and what the folder of
// debug files has no room for, and ask debuginfod servers upstream for the builds whose
// names reports lack, each once. What they say is remembered; a server that fails is
// asked again later.
struct symbol_cache_jobs;

struct symbol_cache_jobs_options {
    struct store *store;
    struct symbol_store *symbols;
    struct metrics *metrics;
    const char *upstream; // URLs, separated by spaces; NULL: nobody is asked
    jobs_complain_fn *complain;
};

CH_CHECKED enum ch_status
symbol_cache_jobs_create(const struct symbol_cache_jobs_options *options,
                         struct symbol_cache_jobs **out);
void symbol_cache_jobs_destroy(struct symbol_cache_jobs *supervisor);

// Symbolization jobs take the reports that wait in the store's queue, name them with
// the debug files that were uploaded, and have the store move them to the groups that
// the names lead to.
//
// A few threads each hand a batch of reports to a child process with limits on memory
// and time, so that no report and no debug file harms the collector, and no request
// waits. What a child says is checked. A batch that fails is tried again report by
// report; a report that fails three times stays as it is.
enum { SYMBOLIZATION_WORKERS_MAX = BACKGROUND_THREADS_MAX };

struct symbolization_jobs;

// symbolization_jobs_options is copied.
struct symbolization_jobs_options {
    struct store *store;
    struct symbol_store *symbols;
    struct metrics *metrics;
    jobs_complain_fn *complain;
    pthread_mutex_t *large; // held while a large report is named
    unsigned workers;       // how many child processes there are at once
};

CH_CHECKED enum ch_status
symbolization_jobs_create(const struct symbolization_jobs_options *options,
                          struct symbolization_jobs **out);
void symbolization_jobs_destroy(struct symbolization_jobs *jobs);

// Backups copy the store's SQLite file when a request asks for it, into a file that
// whoever runs the collector named (store_backup.h).
struct backups;

enum backups_state { BACKUPS_NONE, BACKUPS_RUNNING, BACKUPS_DONE, BACKUPS_FAILED };

// backups_status is how the last backup goes, or went; times are 0 where there is none.
struct backups_status {
    enum backups_state state;
    int64_t began_ms;
    int64_t ended_ms;
    uint64_t bytes; // of the store's file
    uint64_t copied;
    char error[STORE_ERROR_SIZE]; // of one that failed
};

struct backups_options {
    struct store *store;
    const char *file; // where a backup is to stand
    struct metrics *metrics;
    jobs_complain_fn *complain; // of one that failed
};

CH_CHECKED enum ch_status backups_create(const struct backups_options *options,
                                         struct backups **out);

// backups_destroy gives up a backup that is being made.
void backups_destroy(struct backups *backups);

const char *backups_file(const struct backups *backups);

// backups_begin asks for one. False: one is being made.
bool backups_begin(struct backups *backups);

void backups_status_of(struct backups *backups, struct backups_status *out);
