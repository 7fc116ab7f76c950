// SPDX-License-Identifier: Apache-2.0
#include "upload/probe.h"

#include <stdio.h>

#include "upload/http.h"

enum { PROBE_TIMEOUT_MS = 5000 };

enum ch_status probe_target(const struct target *target, char *why, size_t size)
{
    char url[4096];
    struct http_reply reply;
    bool collector = target->kind == TARGET_KIND_COLLECTOR;
    int length =
        snprintf(url, sizeof(url), "%s%s", target->url, collector ? "/healthz" : "/");
    if (length < 0 || (size_t)length >= sizeof(url)) {
        snprintf(why, size, "has too long a URL");
        return CH_ERR_IO;
    }
    struct http_request request = { .url = url, .timeout_ms = PROBE_TIMEOUT_MS };
    enum ch_status status = http_send(&request, &reply);
    if (status != CH_OK) {
        snprintf(why, size, "does not answer: %s", reply.error);
    } else if (collector && reply.status != 200) {
        snprintf(why, size, "is no collector: it answers %d", reply.status);
        status = CH_ERR_IO;
    } else {
        snprintf(why, size, "answers");
    }
    http_reply_deinit(&reply);
    http_close();
    return status;
}
