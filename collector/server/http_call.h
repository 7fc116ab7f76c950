// SPDX-License-Identifier: Apache-2.0
//
// A request and what only the server's own files know about it: http_server.c, which
// gets it from libmicrohttpd, http_access.c, which judges it, and http_call.c, which is
// what handlers call. No other file includes the library.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "collector/server/connections.h"
#include "collector/server/http.h"
#include "collector/server/work.h"

struct MHD_Connection;

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
    atomic_uint holds; // who must let go before the answer is sent
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

// http_let_go lets go of a request; its connection is resumed when all have.
void http_let_go(struct call *call);
