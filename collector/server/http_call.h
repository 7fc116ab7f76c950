// SPDX-License-Identifier: Apache-2.0
//
// A request and what only the server's own files know about it: http_server.c, which
// gets it from libmicrohttpd, http_access.c, which judges it, and http_call.c, which is
// what handlers call. No other file includes the library.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "collector/server/connections.h"
#include "collector/server/http.h"

struct MHD_Connection;

// A pool of work: a queue, and the threads that empty it in the order of arrival. What
// takes long is queued in a pool of its own, so that it only delays its like.

struct work;

// work_item is a member of whatever is to be done.
struct work_item {
    struct work_item *next;
};

// work_run_fn does an item, on one of the pool's threads.
typedef void work_run_fn(struct work_item *item);

enum { WORK_THREADS_MAX = 8 };

struct work_options {
    unsigned threads; // 1 to WORK_THREADS_MAX
    int niceness;     // of these threads
    work_run_fn *run;
};

// work_create starts a pool's threads.
CH_CHECKED enum ch_status work_create(const struct work_options *options,
                                      struct work **out);

// work_destroy does what is queued, ends the threads and frees the pool.
void work_destroy(struct work *work);

// work_end is the first half of work_destroy: after it nothing is queued, and work_add
// refuses.
void work_end(struct work *work);

// work_add queues an item, which stays the caller's. CH_END: the pool has ended.
CH_CHECKED enum ch_status work_add(struct work *work, struct work_item *item);

// call is a request; its first member is what handlers see.
struct call {
    struct http_request request;
    struct http_server *server;
    const struct http_options *options;
    struct MHD_Connection *connection;
    struct connection *watched;
    const char *method;
    int64_t begun_ms;
    size_t received;
    size_t kept;   // bytes that are counted in the load
    size_t sender; // for whom: signing in changes who it is
    struct work_item work;
    atomic_uint holds; // references to release before the answer is sent
    bool handled;
    bool suspended;  // by its handler
    bool finished;   // the answer is as it will be sent
    bool compressed; // its body is
    bool by_session; // whether its cookie is a session is still to be found out
    bool closing;    // nothing else is read from this connection
};

// http_header is a header of the request, or NULL.
const char *http_header(struct call *call, const char *name);

// http_peer_address writes the address that is connected.
void http_peer_address(struct call *call, char *out, size_t size);

// http_access_check fails a request without access. Where that depends on a session,
// which is in the store, http_access_check_session does it later.
void http_access_check(struct call *call);
void http_access_check_session(struct call *call);

// http_release drops one reference to a request; with the last one, its connection is
// resumed.
void http_release(struct call *call);

// Whether the head of a request leaves no doubt where its body ends and to which host
// it goes. A proxy in front may have read a head that is in doubt in another way, and
// passed on what a stranger hid in a body as a request of its own.

// http_head is what is counted of a head; begin with all zero.
struct http_head {
    unsigned lengths;   // Content-Length
    unsigned encodings; // Transfer-Encoding
    unsigned hosts;
    bool strange; // a name or a value that RFC 9110 does not allow
};

// http_head_add counts one field; neither text need be terminated.
void http_head_add(struct http_head *head, const char *key, size_t key_size,
                   const char *value, size_t value_size);

// http_head_doubt returns what is in doubt, in a request of that version; NULL:
// nothing.
const char *http_head_doubt(const struct http_head *head, const char *version);
