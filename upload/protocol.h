// SPDX-License-Identifier: Apache-2.0
//
// What is known of each kind of target, in one table: how its URLs begin, how a report
// is sent to it, and how it is queried for whether it would take one. To add a kind is
// to add a file like sentry.c and a row here.
//
// Users: target (URLs), queue (sending), probe (asking). CRASHHOOK_URL is parsed here,
// too.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "upload/shipment.h"
#include "upload/target.h"

// A protocol_send_fn sends the report and judges the answer.
typedef void protocol_send_fn(const struct target *target,
                              const struct shipment *shipment, struct verdict *out);

// A protocol_ask_fn fills the question; of shipment it takes token and otlp_headers.
typedef void protocol_ask_fn(const struct target *target,
                             const struct shipment *shipment,
                             struct shipment_question *out);

// The functions of the kinds; those of Sentry are in sentry.h.
protocol_send_fn collector_send;
protocol_ask_fn collector_ask; // by an empty object, refused only after the token
protocol_send_fn otlp_send;
protocol_ask_fn otlp_ask; // by a request without a record
protocol_send_fn minidump_send;
protocol_ask_fn minidump_ask;

// collector_judge judges a collector's answer to the report called id.
void collector_judge(const struct http_reply *reply, const char *id,
                     struct verdict *out);

struct protocol {
    const char *prefix; // of its URLs: "sentry+"
    const char *name;   // as messages say it: "Sentry"
    const char *words;  // the member of an answer that says why: "detail"; NULL: all
                        // of the answer does
    protocol_send_fn *send;
    protocol_ask_fn *ask;
    bool takes_questions;   // a question is answered with 2xx
    bool refuses_questions; // ... or with 400 and words, once the sender is let in
    const char *refusal;    // that are in those words; NULL: any
};

// protocol_of is the row of that kind.
const struct protocol *protocol_of(enum target_kind kind);

// Where reports go: the words of CRASHHOOK_URL.
//
// http(s)://HOST[/PATH]                       the base of a collector
// sentry+http(s)://KEY@HOST[/PATH]/PROJECT    a DSN, as Sentry's own pages show it
// otlp+http(s)://HOST:PORT[/PATH]             the base of an OpenTelemetry log intake
// minidump+http(s)://HOST/PATH                where minidumps are posted to
//
// A list takes a limited number of targets; it owns them and all their strings.

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
