// SPDX-License-Identifier: Apache-2.0
//
// A debug file's way to a collector, PUT BASE/api/v1/symbols/BUILD_ID, and that of a
// bundle of its sources, PUT BASE/api/v1/sources/BUILD_ID.
//
// The collector is asked first what it has of that build: a file of the same size is
// taken for the same file. A collector that cannot say is sent it; it keeps one file a
// build. Users: `crashhook symbols upload`.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "upload/http.h"
#include "upload/target.h"

struct symbols_file {
    const char *build_id; // in hex
    FILE *file;           // at its beginning
    uint64_t size;
    bool sources; // it is a source bundle
};

enum symbols_outcome {
    SYMBOLS_SENT,
    SYMBOLS_KNOWN,   // the collector has it already
    SYMBOLS_REFUSED, // why says why; others may be taken
    SYMBOLS_DOWN,    // why says why; so it would be with any other file
};

struct symbols_sending {
    const struct target *target;
    const char *token;          // "" or NULL: none
    uint64_t timeout_ms;        // that nothing may move for
    http_progress_fn *progress; // NULL: nobody wants to know
    void *context;
};

// symbols_send sends one file; why is written unless it was sent or known.
enum symbols_outcome symbols_send(const struct symbols_sending *sending,
                                  const struct symbols_file *file, char *why,
                                  size_t why_size);
