// SPDX-License-Identifier: Apache-2.0
//
// Uploads of a debug file to a collector, PUT BASE/api/v1/symbols/BUILD_ID, and of a
// bundle of its sources, PUT BASE/api/v1/sources/BUILD_ID.
//
// The collector is first queried for its files of that build: a file of the same size
// is taken to be the same file. If the collector does not say, or has it of another
// release, the file is sent; it keeps one file per build. Users: `crashhook symbols
// upload`.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "net/http.h"
#include "upload/target.h"

struct symbols_file {
    const char *build_id; // in hex
    FILE *file;           // its position is at its beginning
    uint64_t size;
    bool sources; // it is a source bundle
};

enum symbols_outcome {
    SYMBOLS_SENT,
    SYMBOLS_KNOWN,   // the collector has it already
    SYMBOLS_REFUSED, // why says why; it may take others
    SYMBOLS_DOWN,    // why says why; any other file would fail as well
};

struct symbols_sending {
    const struct target *target;
    const char *token;          // "" or NULL: none
    const char *release;        // they are of, percent-encoded; "" or NULL: none
    uint64_t timeout_ms;        // that may pass without any progress
    http_progress_fn *progress; // NULL: not reported
    void *context;
};

// symbols_send sends one file; why is written unless the file was sent or known.
enum symbols_outcome symbols_send(const struct symbols_sending *sending,
                                  const struct symbols_file *file, char *why,
                                  size_t why_size);
