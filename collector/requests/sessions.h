// SPDX-License-Identifier: Apache-2.0
//
// Sessions of browsers: signing in exchanges a token for a cookie that is not the
// token. A session may do what its token may do at that time, and ends with it, after
// STORE_LOGIN_DAYS, or when somebody revokes it. The store has the cookie's sum alone.
#pragma once
#include "collector/requests/collector.h"

// sessions_find is a http_session_fn; its context is the collector.
bool sessions_find(void *collector, const char *cookie, struct access_grant *out);

// sessions_begin makes a session for what a token grants, and writes its cookie.
CH_CHECKED enum ch_status sessions_begin(struct http_request *request,
                                         const struct access_grant *grant,
                                         char out[SHA256_HEX_SIZE]);

// sessions_end ends the session that the request's cookie carries, if there is one.
void sessions_end(struct http_request *request);
