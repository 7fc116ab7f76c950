// SPDX-License-Identifier: Apache-2.0
//
// A place where reports go, and how it does.
//
// What its kind means is in one table (upload/protocol.h); how it is written is
// protocol.h's.
//
// People and files only see a target's `shown`: its URL without user and password.
#pragma once
#include <stdint.h>

#include "report/spool/spool_wait.h"

enum target_kind {
    TARGET_KIND_COLLECTOR,
    TARGET_KIND_SENTRY,
    TARGET_KIND_OTLP,
    TARGET_KIND_MINIDUMP,
    TARGET_KINDS,
};

struct target {
    enum target_kind kind;
    char *url;     // where to connect: http(s), without a slash at its end
    char *shown;   // as configured, secrets masked; its name in state files
    char *key;     // Sentry's public key; NULL for others
    char *project; // Sentry's; NULL for others

    // While a target rests it gets no report at all; while its attachments rest, events
    // go there without reports attached.
    struct spool_wait rest;
    struct spool_wait attachments_rest;
    struct spool_wait tables_rest; // meanwhile it gets version 1 of reports
    uint32_t failures;             // in a row
    char trouble[256];             // the last one that was reported, while it lasts
};
