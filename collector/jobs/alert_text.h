// SPDX-License-Identifier: Apache-2.0
//
// What a message says of one alert, or of all that came in a receiver's window: as JSON
// with a `text` that chat services show, in the forms of some services, and as mail.
//
// Titles come from reports, so from strangers: in mail they are encoded, and can end no
// header, and in chats they are not markup. User: alerts.c. Limit: a digest names ten
// groups under each of its headings, a message ten of its alerts.
#pragma once
#include "base/text.h"
#include "collector/requests/receivers.h"
#include "collector/store/store_alerts.h"

// alert_content is what an alert is written from.
struct alert_content {
    const struct store_alert *alerts;
    size_t count;
    const struct store_group
        *group;       // of the only one; NULL: of none, or it was removed
    const char *site; // where the pages are; NULL: not known
};

// alert_write_body appends the body of a request as its receiver wants it,
// alert_write_mail a whole message to one address (RFC 5322, all of it 7-bit).
void alert_write_body(const struct alert_content *content,
                      const struct receiver *receiver, struct text *out);
void alert_write_mail(const struct alert_content *content,
                      const struct message_server *server, const char *to,
                      struct text *out);

// alert_write_digest appends the text of a digest of the day before now_ms, of one
// project or, NULL, of all.
CH_CHECKED enum ch_status alert_write_digest(struct store *store, int64_t now_ms,
                                             const char *project, const char *site,
                                             struct text *out);
