// SPDX-License-Identifier: Apache-2.0
//
// What an alert says: as JSON with a `text` that chat services show, and as mail.
//
// Titles come from reports, so from strangers: in mail they are encoded, and can end no
// header. User: alerts.c. Limit: a digest names ten groups under each of its headings.
#pragma once
#include "base/text.h"
#include "collector/requests/receivers.h"
#include "collector/store/store_alerts.h"

// alert_content is what an alert is written from.
struct alert_content {
    const struct store_alert *alert;
    const struct store_group *group; // NULL: it is about none, or that was removed
    const char *site;                // where the pages are; NULL: not known
};

// alert_write_json appends the body of a request, alert_write_mail a whole message to
// one address (RFC 5322, all of it 7-bit).
void alert_write_json(const struct alert_content *content, struct text *out);
void alert_write_mail(const struct alert_content *content,
                      const struct message_server *server, const char *to,
                      struct text *out);

// alert_write_digest appends the text of a digest of the day before now_ms, of one
// project or, NULL, of all.
CH_CHECKED enum ch_status alert_write_digest(struct store *store, int64_t now_ms,
                                             const char *project, const char *site,
                                             struct text *out);
