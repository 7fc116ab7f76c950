// SPDX-License-Identifier: Apache-2.0
//
// A queue as the commands use it: targets and token from the settings, a log intake's
// headers from OpenTelemetry's variables, raw reports symbolized before they are sent,
// messages to a say function. Users: finish, upload.
#pragma once
#include <stdbool.h>

#include "base/status.h"
#include "base/text.h"
#include "cli/session/session.h"
#include "upload/queue.h"

struct delivery {
    struct session *session;
    struct queue queue;
    struct text token;
    struct text otlp_headers;
    queue_say_fn *say;
    queue_progress_fn *progress; // NULL: none; may be set after delivery_init
    void *context;
};

// delivery_init fills queue from the session, whose spool is open. Problems with
// targets, token or headers are reported; only a token that cannot be read makes it
// fail.
CH_CHECKED enum ch_status delivery_init(struct delivery *delivery,
                                        struct session *session, queue_say_fn *say,
                                        void *context);
void delivery_deinit(struct delivery *delivery);

// delivery_prune keeps the spool within its limits and removes what dead writers left;
// keep_id may be NULL. false: it exceeds them because reports are still being worked
// on.
bool delivery_prune(struct delivery *delivery, const char *keep_id);
