// SPDX-License-Identifier: Apache-2.0
//
// One HTTP request with everything bounded: the time it takes, the size of the answer
// and of its headers. An answer is taken as it is sent: none is decompressed here. TLS
// certificates are verified, redirects are not followed (a report goes to the host that
// was configured and to no other), and only http and https are allowed. Proxies and
// certificate bundles come from the variables that the curl command reads. Only http.c,
// message.c and libcurl.c use libcurl.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "base/text.h"

// HTTP_FILE_MAX_BYTES is the longest answer that is written to a file, HTTP_LONG_MAX_S
// the longest that a request takes which may go on while bytes arrive.
enum { HTTP_FILE_MAX_BYTES = 1 << 30, HTTP_LONG_MAX_S = 2 * 3600 };

// http_progress_fn is called now and then with how much of the body was sent.
typedef void http_progress_fn(void *context, uint64_t sent, uint64_t size);

// http_signature signs a request for the S3 protocol; the header x-amz-content-sha256
// is the caller's.
struct http_signature {
    const char *region;
    const char *key;
    const char *secret;
};

struct http_request {
    const char *method; // NULL: POST with a body, otherwise GET
    const char *url;
    const char *token;        // "" or NULL: none
    const char *content_type; // of the body
    const char *encoding;     // of the body; NULL: it is not encoded
    const char *headers;      // more lines, as in "X-A: b\nX-C: d"; NULL: none
    size_t reply_max_bytes;   // the longest answer that is taken; 0: 64 KiB
    const char *keep;         // a header of the answer to keep: "x-b"; NULL: none
    const void *body;         // NULL: none
    FILE *file;               // the body, read from its position, instead; NULL: none
    size_t size;              // of body or file, in bytes
    FILE *to; // where the body of a 2xx goes, HTTP_FILE_MAX_BYTES at most; NULL: reply
    const struct http_signature *signature; // NULL: it is not signed
    uint64_t timeout_ms;
    uint32_t least_rate; // bytes a second: HTTP_LONG_MAX_S for all, and timeout_ms at
                         // less than that; 0: timeout_ms is for all
    const atomic_bool *abandon; // once it is true the request fails; NULL: never
    http_progress_fn *progress; // NULL: not reported
    void *context;
};

struct http_reply {
    int status;            // 0: there was no answer
    int64_t retry_after_s; // -1: the header is missing
    struct text kept;      // values of the header keep, joined by commas
    struct text body;
    char error[256]; // why there was no answer
};

// http_send sends the request over a connection that is reused for the next one, from
// any thread. CH_ERR_IO: there was no usable answer, and error in the reply says why.
CH_CHECKED enum ch_status http_send(const struct http_request *request,
                                    struct http_reply *out);
void http_reply_deinit(struct http_reply *reply);

// http_close closes the connections that http_send keeps.
void http_close(void);

// How long to wait before the next request to a server, whether it named a time
// (Retry-After) or not. Every sender of requests waits by these rules: reports, objects
// in buckets, alerts.

// backoff_wait_s is how long to wait: as long as the server requested (asked_s), or
// (-1: it did not) a second, doubled with each failure up to an hour, from three
// quarters to five quarters of that. A time that a server requested is lengthened by up
// to half, so that what failed together is not tried again together. At least a second,
// less than SPOOL_WAIT_MAX_S.
int64_t backoff_wait_s(int64_t asked_s, uint32_t failures);

// backoff_fraction_ms is a random part of a second. Waits end at whole seconds, so
// whoever wakes at the end of one lets this pass first.
int backoff_fraction_ms(void);

// The bearer token of a collector, from CRASHHOOK_TOKEN_FILE or CRASHHOOK_TOKEN. A file
// that others could have written is refused: whoever writes it chooses the account that
// reports are sent to.

// token_read appends the token without white space around it: file takes precedence
// over value; both may be NULL, and then the token is empty. On failure why says what
// is wrong.
CH_CHECKED enum ch_status token_read(const char *file, const char *value,
                                     struct text *out, const char **out_why);
