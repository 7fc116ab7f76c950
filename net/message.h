// SPDX-License-Identifier: Apache-2.0
//
// A message to people: as a signed request to a web hook, or as mail to a server. Both
// have limits on time, follow nothing, and say why they failed. User: the collector's
// alerts, one at a time.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// MESSAGE_TIMEOUT_MS is how long a receiver may take.
enum { MESSAGE_TIMEOUT_MS = 10000, MESSAGE_WHY_SIZE = 160 };

// message_fate is what became of a message that did not arrive.
struct message_fate {
    int64_t wait_s; // how long the receiver requested to wait; -1: it did not
    char why[MESSAGE_WHY_SIZE];
};

// message_hook is where and how a request goes.
struct message_hook {
    const char *url;
    const char *secret; // signs the body; NULL: not signed
    const char *id;     // of the alert, for receivers that received it twice
};

// message_post sends JSON; X-Crashhook-Signature is `sha256=` and the body's HMAC.
// CH_ERR_IO: it was not taken, that is answered in full with a status from 200 to 299.
CH_CHECKED enum ch_status message_post(const struct message_hook *hook,
                                       const char *body, size_t size,
                                       struct message_fate *out);

// message_server is where mail is handed in.
struct message_server {
    const char *url;  // smtp:// or smtps://
    const char *user; // NULL: no login; with one the connection is encrypted
    const char *password;
    const char *from;
};

// message_mail hands in a whole message (RFC 5322) for one address. CH_ERR_IO: the
// server did not take it.
CH_CHECKED enum ch_status message_mail(const struct message_server *server,
                                       const char *to, const char *message, size_t size,
                                       struct message_fate *out);
