// SPDX-License-Identifier: Apache-2.0
//
// The HTTP server: routes, requests and answers. libmicrohttpd appears in http.c alone.
//
// A route is one row of a table: method, path, who may ask, how much body, and the
// function that answers. A handler fills request->answer and returns; one that must
// wait for the store suspends the connection and is resumed from another thread, so no
// thread waits with it. Slow and silent clients are cut off by deadlines
// (connections.h).
//
// Everything here may run on any of the server's threads; a request is touched by one
// at a time.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

enum { HTTP_PARAMETERS = 32, HTTP_ID_SIZE = 160, HTTP_TARGET_SIZE = 600 };

// HTTP_NO_TOKEN is the token of a request that showed none.
#define HTTP_NO_TOKEN ((size_t)-1)

struct http_request;
struct http_server;

enum http_access {
    HTTP_OPEN,  // anybody
    HTTP_READ,  // a token, as Bearer, or as a browser carries it: Basic, a cookie
    HTTP_WRITE, // a token as Bearer, and no page of another site asking
    HTTP_FORM,  // as HTTP_READ, and from a page of ours
    HTTP_LOGIN, // from a page of ours
};

// An http_handle_fn answers a request whose body has arrived, or suspends it.
typedef void http_handle_fn(struct http_request *request);

// An http_begin_fn runs before the body; filling the answer refuses the request.
typedef void http_begin_fn(struct http_request *request);

// An http_body_fn takes the next piece of the body; filling the answer refuses the
// rest.
typedef void http_body_fn(struct http_request *request, const void *bytes, size_t size);

struct http_route {
    const char *method;
    const char *path; // `/x/*`: the rest of the path is request->id
    enum http_access access;
    bool page;         // failures are shown as a page, not as JSON
    size_t body_limit; // bytes
    http_handle_fn *handle;
    http_begin_fn *begin; // NULL: nothing to do before the body
    http_body_fn *body;   // NULL: it is kept in request->body
};

struct http_parameter {
    const char *key;
    const char *value;
};

struct http_answer {
    unsigned status; // 0: none yet
    const char *content_type;
    struct text body;
    unsigned retry_after_s;
    bool cacheable;
    char location[HTTP_TARGET_SIZE]; // empty: none
    struct text cookie;              // empty: none
    bool is_file;                    // the answer is a file in place of body
    int file;                        // its descriptor, closed when it is sent
    uint64_t file_size;
};

struct http_request {
    void *context; // of the server
    const struct http_route *route;
    const char *path;
    char id[HTTP_ID_SIZE];
    struct http_parameter parameters[HTTP_PARAMETERS];
    size_t parameter_count;
    const char *content_encoding; // NULL: none said
    size_t token;                 // that was shown, by its place in the file
    const char *host; // that it was sent to, as the client calls it, or NULL
    bool secure;      // a proxy in front says it was asked by TLS
    struct text body;
    struct http_answer answer;
    void *state; // the handler's own, released by state_destroy
    void (*state_destroy)(void *state);
};

// What is known of a request once it is answered; strings live until the call returns.
struct http_seen {
    const char *method;
    const char *path;
    const char *forwarded; // what a proxy in front said of where it came from, or NULL
    char from[64];         // the address it came from
    unsigned status;
    size_t received; // bytes of its body
    size_t sent;     // bytes of the answer's
    int64_t duration_ms;
    size_t token;
};

// An http_observe_fn hears of every answer, for metrics and the log.
typedef void http_observe_fn(void *context, const struct http_seen *seen);

struct http_options {
    int listen_fd;
    const struct http_route *routes;
    size_t route_count;
    const char *const *tokens; // NULL-terminated; empty: nobody needs one
    void *context;             // handed to handlers by request->context
    http_observe_fn *observe;
    http_handle_fn *fail_page; // turns an answer without a body into a page
};

// http_start serves options, which must outlive the server.
CH_CHECKED enum ch_status http_start(const struct http_options *options,
                                     struct http_server **out);

// http_tick cuts off the connections whose time is up; call it about once a second.
void http_tick(struct http_server *server);

// http_quiesce takes no more connections and waits, at most timeout_ms, until no
// request is under way.
void http_quiesce(struct http_server *server, int timeout_ms);

// http_stop ends the server; no request may be suspended.
void http_stop(struct http_server *server);

// http_parameter_value is the first value of a parameter in the address, or NULL.
const char *http_parameter_value(const struct http_request *request, const char *key);

// http_fail answers with a status and one sentence of why.
void http_fail(struct http_request *request, unsigned status, const char *format, ...)
    CH_PRINTF(3, 4);

// http_suspend, called by a handler, leaves the answer to whoever calls http_resume.
void http_suspend(struct http_request *request);

// http_resume sends a suspended request's answer; the request is the server's again.
void http_resume(struct http_request *request);
