// SPDX-License-Identifier: Apache-2.0
//
// Objects by name: in the database, in a folder, or in a store of the S3 protocol. They
// are written once, under a name that nobody had, read and removed.
//
// Names are ours: letters, digits, `-`, `.` and `/`. All functions may be called from
// any thread. After a failure reads fail at once for a moment, so that pages do not
// wait for a store that is gone one by one. Users: segments of bodies
// (store_segments.c), debug files.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "base/text.h"
#include "report/file/digest.h"

enum { OBJECT_NAME_SIZE = 200, OBJECT_WHY_SIZE = 256 };

struct object_store;
struct store;

// object_seen is an object of a listing.
struct object_seen {
    const char *name;
    uint64_t size;
    int64_t changed_ms;
};

typedef void object_seen_fn(void *context, const struct object_seen *object);

// object_source is what is stored: size bytes of file, from its position.
struct object_source {
    FILE *file;
    size_t size;
    char sum[SHA256_HEX_SIZE]; // their SHA-256
};

// object_store_open opens what place names: `store` (the database), a folder, or
// s3://BUCKET/PREFIX?endpoint=URL&region=R. On failure, here and below, why says what
// failed.
CH_CHECKED enum ch_status object_store_open(const char *place, struct store *store,
                                            char why[OBJECT_WHY_SIZE],
                                            struct object_store **out);
void object_store_close(struct object_store *objects);

// object_store_give_up ends the waits of all calls, on whichever thread; NULL is
// allowed, here and above.
void object_store_give_up(struct object_store *objects);

// object_store_rest_ms is for how long the object store has asked not to be asked
// again, at most a minute; 0: it has not.
int object_store_rest_ms(struct object_store *objects);

// object_store_put stores an object durably.
CH_CHECKED enum ch_status object_store_put(struct object_store *objects,
                                           const char *name,
                                           const struct object_source *source,
                                           char why[OBJECT_WHY_SIZE]);

// object_store_get writes an object to a file. CH_ERR_NOT_FOUND, here and below: there
// is none.
CH_CHECKED enum ch_status object_store_get(struct object_store *objects,
                                           const char *name, FILE *to,
                                           char why[OBJECT_WHY_SIZE]);

// object_store_read appends size bytes of an object, from offset on, to a text.
CH_CHECKED enum ch_status object_store_read(struct object_store *objects,
                                            const char *name, uint64_t offset,
                                            size_t size, struct text *out,
                                            char why[OBJECT_WHY_SIZE]);

// object_store_remove removes an object; that there was none is no failure.
CH_CHECKED enum ch_status object_store_remove(struct object_store *objects,
                                              const char *name,
                                              char why[OBJECT_WHY_SIZE]);

// object_store_list visits the objects in the folder of that name, and below.
CH_CHECKED enum ch_status object_store_list(struct object_store *objects,
                                            const char *folder, object_seen_fn *visit,
                                            void *context, char why[OBJECT_WHY_SIZE]);

// object_store_sum writes the SHA-256 of size bytes of a file, from its beginning, and
// sets its position there.
CH_CHECKED enum ch_status object_store_sum(FILE *file, size_t size,
                                           char out[SHA256_HEX_SIZE]);

// A gate in front of an object store, so that one that has become slow does not occupy
// every thread that shows pages: few fetch at once, others wait while those are quick,
// and are refused at once while they are not.
// Users: what reads bodies (store_read.c) and debug files (symbol_store.c) for
// requests.

enum {
    FETCH_GATE_WIDTH = 2,         // threads that fetch at once, of four that show pages
    FETCH_GATE_PATIENCE_MS = 1000 // after it a fetch is no quick one
};

struct fetch_gate {
    pthread_mutex_t lock; // guards what follows
    pthread_cond_t left;
    unsigned inside;
    int64_t newest_ms; // when one entered last, by CLOCK_MONOTONIC
    int patience_ms;
};

void fetch_gate_init(struct fetch_gate *gate, int patience_ms);
void fetch_gate_deinit(struct fetch_gate *gate);

// fetch_gate_enter waits for a place; false: all have been taken for too long.
bool fetch_gate_enter(struct fetch_gate *gate);

// fetch_gate_leave frees the place that fetch_gate_enter gave.
void fetch_gate_leave(struct fetch_gate *gate);
