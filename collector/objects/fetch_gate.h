// SPDX-License-Identifier: Apache-2.0
//
// A gate in front of an object store, so that one that has become slow does not occupy
// every thread that shows pages: few fetch at once, others wait while those are quick,
// and are refused at once while they are not.
// Users: what reads bodies (store_read.c) and debug files (symbol_store.c) for
// requests.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

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
