// SPDX-License-Identifier: Apache-2.0
//
// The last of what a program wrote on standard error, in memory that `crashhook run
// --stderr-tail` shares: its relay (run_preload.c) writes it, run itself reads it when
// the program exits, and `crashhook finish` when it crashed. finish finds it by a
// variable that the program inherits and passes on.
//
// finish maps what the variable names: the size is checked, and all of it is text of
// strangers. Children of the program share its standard error.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define STDERR_RING_VARIABLE "_CRASHHOOK_STDERR"

enum { STDERR_RING_BYTES = 64 << 10 };

struct stderr_ring {
    uint64_t written; // bytes so far; the last STDERR_RING_BYTES are kept
    uint32_t busy;    // the relay has read what it has not written yet
    char bytes[STDERR_RING_BYTES];
};

// stderr_ring_create makes an empty ring and names it in the variable, for the program
// that is started next. NULL: it cannot.
struct stderr_ring *stderr_ring_create(void);

// stderr_ring_open maps the ring that the variable names; NULL: there is none.
const struct stderr_ring *stderr_ring_open(void);

// stderr_ring_keep adds what was written.
void stderr_ring_keep(struct stderr_ring *ring, const char *bytes, size_t size);

// stderr_ring_append appends up to most of the last bytes.
void stderr_ring_append(const struct stderr_ring *ring, size_t most, struct text *out);
