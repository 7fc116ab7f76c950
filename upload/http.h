// SPDX-License-Identifier: Apache-2.0
//
// One HTTP request with everything bounded: the time it takes, the size of the answer
// and of its headers. TLS is verified, redirects are not followed (a report goes to the
// host it was meant for and to no other), nothing but http and https is spoken. Proxies
// and certificate bundles come from the variables that curl knows. Only it and
// libcurl.c know libcurl.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "base/text.h"

// An http_progress_fn hears now and then how much of the body has been sent.
typedef void http_progress_fn(void *context, uint64_t sent, uint64_t size);

struct http_request {
    const char *method; // NULL: POST with a body, else GET
    const char *url;
    const char *token;        // "" or NULL: none
    const char *content_type; // of the body
    const char *encoding;     // of the body; NULL: as it is
    const char *headers;      // more lines, as in "X-A: b\nX-C: d"; NULL: none
    const char *keep;         // a header of the answer to keep: "x-b"; NULL: none
    const void *body;         // NULL: none
    FILE *file;               // instead, read from where it is; NULL: none
    size_t size;              // of either
    uint64_t timeout_ms;
    bool stall_only; // it may take longer, as long as some of it moves in timeout_ms
    http_progress_fn *progress; // NULL: nobody wants to know
    void *context;
};

struct http_reply {
    int status;            // 0: there was no answer
    int64_t retry_after_s; // -1: not said
    struct text kept;      // values of the header asked for, with commas between
    struct text body;
    char error[256]; // why there was no answer
};

// http_send sends the request over a client that is kept for the next one. CH_ERR_IO:
// there was no usable answer, and error in the reply says why.
CH_CHECKED enum ch_status http_send(const struct http_request *request,
                                    struct http_reply *out);
void http_reply_deinit(struct http_reply *reply);

// http_close drops the connection that http_send keeps.
void http_close(void);
