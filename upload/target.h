// SPDX-License-Identifier: Apache-2.0
//
// Where reports go: the words of CRASHHOOK_URL.
//
// http(s)://HOST[/PATH]                       the base of a collector
// sentry+http(s)://KEY@HOST[/PATH]/PROJECT    a DSN, as Sentry's own pages show it
// otlp+http(s)://HOST:PORT[/PATH]             the base of an OpenTelemetry log intake
//
// People and files only see a target's `shown`: its URL without user and password.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "report/spool_wait.h"

enum target_kind { TARGET_KIND_COLLECTOR, TARGET_KIND_SENTRY, TARGET_KIND_OTLP };

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

struct target_list {
    struct target *targets;
    size_t count;
};

// target_refuse_fn is called for a word that is not a target; the word is masked.
typedef void target_refuse_fn(void *context, const char *shown);

// target_list_parse parses the words of list; NULL is an empty list. A word that is not
// a target is skipped and passed to refuse; a repeated word counts once.
CH_CHECKED enum ch_status target_list_parse(const char *list, target_refuse_fn *refuse,
                                            void *context, struct target_list *out);
void target_list_deinit(struct target_list *list);
