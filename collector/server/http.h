// SPDX-License-Identifier: Apache-2.0
//
// The HTTP server: routes, requests and answers. http_server.c and http_call.c include
// libmicrohttpd.
//
// A route is one row of a table: method, path, who has access, the limit of the body,
// the pool of work that it takes (http_call.h), and the function that answers. The
// server's event threads read heads and move bytes; they call no handler but those that
// answer at once. What is slow in one pool delays no other pool, and no connection. A
// handler fills request->answer and returns; one that must wait for the store suspends
// the request, which another thread resumes, so no thread waits with it. Slow and
// silent clients are cut off by deadlines (connections.h).
//
// Everything here may run on any of the server's threads; only one at a time uses a
// request.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "collector/server/access.h"
#include "collector/server/load.h"

enum { HTTP_PARAMETERS = 32, HTTP_ID_SIZE = 160, HTTP_TARGET_SIZE = 600 };

struct http_request;
struct http_server;

enum http_access {
    HTTP_OPEN,  // anybody
    HTTP_READ,  // a token: as Bearer, or as a browser sends it, by Basic, by a session,
                // or by the header of a proxy that is trusted
    HTTP_WRITE, // a token as Bearer, and not from a page of another site
    HTTP_KEY,   // as HTTP_WRITE, or the token as clients of Sentry send its key
    HTTP_FORM,  // as HTTP_READ, and from a page of ours
    HTTP_LOGIN, // no token, but from a page of ours
};

// http_pool is where a request is handled.
enum http_pool {
    HTTP_READING, // pages and lists: reads the store
    HTTP_WRITING, // changes the store or writes files
    HTTP_TAKING,  // opens reports that arrive
    HTTP_LARGE,   // what others of these would be held up by, one at a time
    HTTP_POOLS,
    HTTP_AT_ONCE = HTTP_POOLS, // by the event thread: waits for nothing
};

// http_handle_fn answers a request whose body has arrived, or suspends it.
typedef void http_handle_fn(struct http_request *request);

// http_begin_fn runs before the body; if it fills the answer, the request is refused.
typedef void http_begin_fn(struct http_request *request);

// http_body_fn takes the next piece of the body; if it fills the answer, the rest is
// refused.
typedef void http_body_fn(struct http_request *request, const void *bytes, size_t size);

struct http_route {
    const char *method;
    const char *path; // `/x/*`, `/x/*/y`: request->id is what the star stands for, in
                      // which no slash is; `/x/**`: anything may follow
    enum http_access access;
    unsigned scopes; // any of them gives access
    enum http_pool pool;
    bool page;         // failures are shown as a page, not as JSON
    size_t body_limit; // bytes
    http_handle_fn *handle;
    http_begin_fn *begin; // NULL: nothing to do before the body
    http_body_fn *body;   // NULL: the body is kept in request->body
    const char *about;    // what it does, for the description of the API
    const char *takes;    // names of its parameters, with a space between them
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
    const char *file_name;           // under which browsers keep the body, or NULL
    char location[HTTP_TARGET_SIZE]; // empty: none
    struct text cookie;              // empty: none
    struct text next;                // where the rest of a list is; empty: nowhere
    bool is_file;                    // the body of the answer is a file
    int file;                        // its descriptor, closed after it was sent
    uint64_t file_offset;            // where the body begins in it
    uint64_t file_size;
};

struct http_request {
    void *context; // of the server
    const struct http_route *route;
    const char *path;
    char id[HTTP_ID_SIZE];
    struct http_parameter parameters[HTTP_PARAMETERS];
    size_t parameter_count;
    const char *content_encoding; // NULL: the request named none
    struct access_grant who;      // what its token or session may do
    const char *host;             // the Host header, or NULL
    bool secure;                  // a proxy in front received the request over TLS
    bool large;                   // it is in the pool of what is large
    bool wants_large;             // a handler asks for that: http_move_large
    struct text body;
    struct http_answer answer;
    void *state; // the handler's own, released by state_destroy
    void (*state_destroy)(void *state);
};

// http_seen describes a request that was answered; strings live until the call returns.
struct http_seen {
    const char *method;
    const char *path;
    const char *forwarded; // X-Forwarded-For, as a proxy in front sets it, or NULL
    char from[64];         // the address it came from
    unsigned status;
    size_t received; // bytes of its body
    size_t sent;     // bytes of the answer's body
    int64_t duration_ms;
    enum http_pool pool;
    const struct access_grant *who;
};

// http_observe_fn is called for every answer, for metrics and the log.
typedef void http_observe_fn(void *context, const struct http_seen *seen);

// http_session_fn looks for the session that a cookie carries.
typedef bool http_session_fn(void *context, const char *cookie,
                             struct access_grant *out);

struct http_options {
    int listen_fd;
    const struct http_route *routes;
    size_t route_count;
    struct access *access;
    struct load *load;
    bool reading;  // what changes anything is refused
    void *context; // handed to handlers by request->context
    http_session_fn *session;
    http_observe_fn *observe;
    http_handle_fn
        *begin_page;           // is called on the thread of a page's handler, before it
    http_handle_fn *fail_page; // turns an answer without a body into a page
};

// http_start starts to serve; options must outlive the server.
CH_CHECKED enum ch_status http_start(const struct http_options *options,
                                     struct http_server **out);

// http_tick cuts off connections past their deadlines; call it about once a second.
void http_tick(struct http_server *server);

// http_quiesce accepts no more connections and waits, at most timeout_ms, until no
// request is being served.
void http_quiesce(struct http_server *server, int timeout_ms);

// http_stop ends the server; what waits for a pool is refused, and no request may be
// suspended by a handler.
void http_stop(struct http_server *server);

// http_peer writes the address that a request came from: the client that a proxy names
// which is trusted, else the one that is connected.
void http_peer(struct http_request *request, char *out, size_t size);

// http_cookie is what the cookie of a session carries, or NULL.
const char *http_cookie(struct http_request *request);

// http_cookie_value is the value of a cookie of that name, or NULL.
const char *http_cookie_value(struct http_request *request, const char *name);

// http_header_value is a header of the request, or NULL.
const char *http_header_value(struct http_request *request, const char *name);

// http_parameter_value is the first value of a parameter in the address, or NULL.
const char *http_parameter_value(const struct http_request *request, const char *key);

// http_fail answers with a status and one sentence that says why.
void http_fail(struct http_request *request, unsigned status, const char *format, ...)
    CH_PRINTF(3, 4);

// http_see_other leads a browser to another page after a form.
void http_see_other(struct http_request *request, const char *format, ...)
    CH_PRINTF(2, 3);

// http_later answers so too, and says when to come again: after wait_s seconds, or, for
// 0, when the load permits; in either case spread at random. All answers 429 are its.
void http_later(struct http_request *request, unsigned status, unsigned wait_s,
                const char *format, ...) CH_PRINTF(4, 5);

// http_move_large is called by a handler that is not in the pool of what is large, and
// needs to be: it returns, what it answered is dropped, and it is called again there.
void http_move_large(struct http_request *request);

// http_suspend is called by a handler; the answer is sent after http_resume, and not
// before the handler has returned.
void http_suspend(struct http_request *request);

// http_resume sends a suspended request's answer; the request is the server's again.
void http_resume(struct http_request *request);
