// SPDX-License-Identifier: Apache-2.0
#include "upload/shipment.h"

#include <stdarg.h>
#include <stdio.h>

void verdict_begin(struct verdict *out)
{
    *out = (struct verdict){ .state = TARGET_PENDING,
                             .wait_s = -1,
                             .attachments_wait_s = -1 };
}

void verdict_down(struct verdict *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(out->why, sizeof(out->why), format, arguments);
    va_end(arguments);
    out->state = TARGET_PENDING;
    out->target_down = true;
}

static bool temporary(int status)
{
    // Request Timeout, Too Early and Too Many Requests ask the client to try again
    // later.
    return status >= 500 || status == 408 || status == 425 || status == 429;
}

// refused_access is true where the token is wrong, which the user can correct: the
// report waits.
static bool refused_access(int status)
{
    return status == 401 || status == 403 || status == 407;
}

// plain_body copies a server's message, which is not to be trusted, as one printable
// line.
static void plain_body(const char *words, char *to, size_t size)
{
    size_t length = 0;
    for (; words != NULL && *words != 0 && length + 1 < size; words++)
        to[length++] = *words >= ' ' && *words <= '~' ? *words : '?';
    to[length] = 0;
}

void verdict_refused(const struct http_reply *reply, const char *what,
                     const char *words, struct verdict *out)
{
    char said[128];
    plain_body(words, said, sizeof(said));
    const char *colon = said[0] != 0 ? ": " : "";
    if (temporary(reply->status) || refused_access(reply->status)) {
        verdict_down(out, "it answered %d%s%s", reply->status, colon, said);
    } else if (reply->status >= 400) {
        out->state = TARGET_FAILED;
        (void)snprintf(out->why, sizeof(out->why), "it refused %s with %d%s%s", what,
                       reply->status, colon, said);
    } else {
        verdict_down(out, "it answered %d; redirects are not followed", reply->status);
    }
}

void verdict_rejected(struct verdict *out, const char *words)
{
    char said[128];
    plain_body(words, said, sizeof(said));
    out->state = TARGET_FAILED;
    (void)snprintf(out->why, sizeof(out->why), "it rejected the report%s%s",
                   said[0] != 0 ? ": " : "", said);
}

json_t *verdict_answer(const struct http_reply *reply)
{
    return reply->body.size != 0
               ? json_loadb(reply->body.bytes, reply->body.size, 0, NULL)
               : NULL;
}
