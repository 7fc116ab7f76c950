// SPDX-License-Identifier: Apache-2.0
//
// Where reports go: the words of CRASHHOOK_URL.
//
// http(s)://HOST[/PATH]                       the base of a collector
// sentry+http(s)://KEY@HOST[/PATH]/PROJECT    a DSN, as Sentry's own pages show it
// otlp+http(s)://HOST:PORT[/PATH]             the base of an OpenTelemetry log intake
//
// A list takes a limited number of targets; it owns them and all their strings.
#pragma once
#include <stddef.h>

#include "base/status.h"
#include "upload/target.h"

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
