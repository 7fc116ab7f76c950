// SPDX-License-Identifier: Apache-2.0
//
// A request and what only the server's own files know about it: http_server.c, which
// gets it from libmicrohttpd, http_access.c, which judges it, and http_call.c, which is
// what handlers call. No other file includes the library.
#pragma once
#include <stdbool.h>

#include "collector/server/connections.h"
#include "collector/server/http.h"

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
    size_t kept;   // of these, counted in the load
    size_t sender; // for whom: signing in changes who it is
    bool handled;
    bool suspended;
    bool closing; // nothing else is read from this connection
};

// http_header is a header of the request, or NULL.
const char *http_header(struct call *call, const char *name);

// http_peer_address writes the address that is connected.
void http_peer_address(struct call *call, char *out, size_t size);

// http_access_check fails the request of who has no access.
void http_access_check(struct call *call);
