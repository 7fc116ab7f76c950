// SPDX-License-Identifier: Apache-2.0
#include "upload/protocol.h"

#include "upload/collector.h"
#include "upload/otlp.h"
#include "upload/sentry.h"

static const struct protocol protocols[TARGET_KINDS] = {
    [TARGET_KIND_COLLECTOR] = { .prefix = "",
                                .name = "collector",
                                .words = "error",
                                .send = collector_send,
                                .ask = collector_ask,
                                .refuses_questions = true,
                                .refusal = "id is not a UUID" },
    // Old servers do not know the item that is sent, but say so only after they checked
    // the key.
    [TARGET_KIND_SENTRY] = { .prefix = "sentry+",
                             .name = "Sentry",
                             .words = "detail",
                             .send = sentry_send,
                             .ask = sentry_ask,
                             .takes_questions = true,
                             .refuses_questions = true },
    [TARGET_KIND_OTLP] = { .prefix = "otlp+",
                           .name = "log intake",
                           .words = "message",
                           .send = otlp_send,
                           .ask = otlp_ask,
                           .takes_questions = true },
};

const struct protocol *protocol_of(enum target_kind kind)
{
    return &protocols[kind];
}
