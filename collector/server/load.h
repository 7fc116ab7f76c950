// SPDX-License-Identifier: Apache-2.0
//
// How much is under way: bytes of bodies, from their first one until the request is
// over, and how fast reports are stored. It says what is too much, and when those who
// are refused should come again.
//
// A body that is never finished takes memory all the same, so bytes are counted as they
// come: for each token, and for all together. The last quarter of either is kept for
// the beginnings of bodies, in which most reports fit: so small ones pass beside large
// ones that wait.
//
// A refused client gets a Retry-After: the time that all waiting and lately refused
// clients need, or up to twice that, at random. So clients return at the rate at which
// they can be served, and not together.
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "collector/server/access.h"

enum { LOAD_SECONDS = 10, LOAD_BYTES = 128 << 20, LOAD_TOKEN_BYTES = 96 << 20 };

struct load {
    pthread_mutex_t lock; // guards everything below
    size_t bytes;
    size_t token_bytes[ACCESS_TOKENS + 1 + ACCESS_MADE]; // by access_grant.index
    int64_t second;                                      // the newest of those below
    unsigned refused[LOAD_SECONDS];                      // in a second each
    unsigned stored[LOAD_SECONDS];
    unsigned best; // most that were stored in a second
};

void load_init(struct load *load);
void load_deinit(struct load *load);

// load_take counts size more bytes of a body of which had are counted. false: there
// are too many.
bool load_take(struct load *load, size_t token, size_t had, size_t size);

// load_give_back takes a body's bytes off again.
void load_give_back(struct load *load, size_t token, size_t size);

// load_held is how many bytes are counted.
size_t load_held(struct load *load);

// load_stored notes that reports were stored.
void load_stored(struct load *load, unsigned count, int64_t now_ms);

// load_refuse notes that a request is refused, and returns in how many seconds it
// should come again.
unsigned load_refuse(struct load *load, int64_t now_ms);

// load_spread is a wait of so many seconds, or up to twice that, at random.
unsigned load_spread(unsigned wait_s);
